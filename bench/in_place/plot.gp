# gnuplot -e "dir='DIR'" plot.gp: one SVG per experiment from DIR/*.json. Needs jq.
set terminal svg size 720,520 font "sans,12" background "white"
set key outside below noenhanced
set style data linespoints
there(e) = int(system("test -s ".dir."/".e.".json && echo 1 || echo 0"))
# x, median and 95% interval in milliseconds
rows(e, v, w) = "< jq -r '.[] | select(.variant == \"".v."\" and (.workload | test(\"".w."\"))) ".\
  "| \"\\(.x) \\(.median_s*1e3) \\(.ci95_s[0]*1e3) \\(.ci95_s[1]*1e3)\"' ".dir."/".e.".json"
ratios(e, v, w) = "< jq -r '.[] | select(.variant == \"".v."\" and (.workload | test(\"".w."\"))) ".\
  "| \"\\(.x) \\(.ratio_to_native)\"' ".dir."/".e.".json"
array ours[4] = ["native", "in_place", "in_place_phases", "in_place_phases, heap"]

set ylabel "time (ms), median and 95% interval"
set yrange [0:*]
if (there("parts")) {
  set output dir."/parts.svg"
  set title "Random, 8 ranks, 1% of scratch memory"
  set logscale x 2
  set xlabel "static parts of the scratch memory (b)"
  plot rows("parts", "static parts", "") with yerrorlines title "in_place_phases, static parts", \
    rows("parts", "in_place_phases, heap", "") with yerrorbars title "in_place_phases, heap", \
    rows("parts", "native", "") with yerrorbars title "native, out of place"
}
if (there("memory")) {
  set output dir."/memory.svg"
  set title "Random, 8 ranks"
  set logscale x 10
  set xlabel "scratch memory, percent of the data"
  plot for [i=1:4] rows("memory", ours[i], "") with yerrorlines title ours[i]
}
if (there("size")) {
  set output dir."/size.svg"
  set title "Random, 8 ranks, 1% of scratch memory, at least 64 KiB"
  set logscale xy
  set yrange [*:*]
  set xlabel "bytes per rank"
  plot for [i=1:3] rows("size", ours[i], "") with yerrorlines title ours[i]
}
unset logscale
set yrange [0:*]
if (there("sparse")) {
  set output dir."/sparse.svg"
  set title "Sparse, 8 ranks, 1% of scratch memory"
  set xlabel "ranks that each rank sends to"
  plot for [i=1:3] rows("sparse", ours[i], "") with yerrorlines title ours[i], \
    rows("sparse", "in_place_phases, sparse requests", "") with yerrorlines title "in_place_phases, sparse requests"
}
if (there("shares")) {
  set output dir."/shares.svg"
  set title "Parts of in_place_phases, 1% of scratch memory" noenhanced
  set xlabel "ranks"
  set style data histograms
  set style histogram rowstacked title offset 0,-1
  set style fill solid 0.7
  set bmargin 5
  shares(w) = "< jq -r '.[] | select(.variant == \"in_place_phases\" and .workload == \"".w."\") ".\
    "| \"\\(.x) \\(.requests_s*1e3) \\(.data_s*1e3) \\(.update_s*1e3)\"' ".dir."/shares.json"
  set ylabel "time (ms), mean of the slowest rank"
  plot newhistogram "random", shares("random") using 2:xtic(1) title "requests" lc 1, \
    "" using 3 title "data" lc 2, "" using 4 title "update" lc 3, \
    newhistogram "uniform", shares("uniform") using 2:xtic(1) notitle lc 1, \
    "" using 3 notitle lc 2, "" using 4 notitle lc 3
  unset bmargin
  set style data linespoints
}
if (there("shares") && there("blocks")) {
  set output dir."/comparison.svg"
  set title "Random, against the MPI library out of place; block algorithms: blocks of 16 KiB"
  set xlabel "ranks"
  set ylabel "median ratio to native"
  set logscale x 2
  set logscale y
  set yrange [*:*]
  plot for [v in "in_place in_place_phases"] ratios("shares", v, "random") title v, \
    for [v in "slots basic_phases"] ratios("blocks", v, "") title v
}
if (there("scale")) {
  set logscale x 2
  set logscale y 10
  set xlabel "ranks"
  set yrange [*:*]
  counts(v, t, q) = "< jq -r '.[] | select(.variant == \"".v."\" and .traffic == \"".t."\") | \"\\(.ranks) \\(.".q.")\"' ".\
    dir."/scale.json"
  array quantity[4] = ["rounds", "messages", "bytes_copied", "memory"]
  array label[4] = ["rounds", "messages of a rank", "bytes copied by a rank", "bytes of bookkeeping of a rank"]
  do for [i=1:4] {
    set output dir."/scale-".quantity[i].".svg"
    set title label[i].", 1 MiB per rank, 1% of scratch memory" noenhanced
    set ylabel label[i] noenhanced
    plot counts("in_place", "8 peers", quantity[i]) title "in_place, 8 peers", \
      counts("in_place", "all", quantity[i]) title "in_place, all ranks", \
      counts("in_place_phases", "8 peers", quantity[i]) title "in_place_phases, 8 peers, dense requests", \
      counts("in_place_phases, sparse requests", "8 peers", quantity[i]) title "in_place_phases, 8 peers, sparse requests", \
      counts("in_place_phases", "all", quantity[i]) title "in_place_phases, all ranks"
  }
}
