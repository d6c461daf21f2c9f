# gnuplot -e "dir='DIR'" plot.gp: DIR/distributions.svg and DIR/ports.svg from DIR/*.json. Needs jq.
there(e) = int(system("test -s ".dir."/".e.".json && echo 1 || echo 0"))
array ours[5] = ["spread_out", "node_aggregated", "bruck_v", "hierarchical_factor", "multilevel"]
array shown[4] = ["regular", "organ pipe", "alternating", "random"]
array sizes[4] = ["2,2,2,2,2,2", "1,2,4,4,2,1", "4,1,4,1,4,1", "1,3,2,4,1,2"]
if (there("distributions")) {
  set terminal svg size 900,760 font "sans,12" background "white"
  set output dir."/distributions.svg"
  set style data linespoints
  set logscale x 2
  set xrange [6:400000]
  set yrange [0:2.5]
  set grid y
  set xtics ("8" 8, "64" 64, "1K" 1024, "4K" 4096, "16K" 16384, "64K" 65536, "256K" 262144)
  set xlabel "bytes per pair"
  set ylabel "time / native"
  set key bottom right noenhanced
  rows(n, a) = "< jq -r '.[] | select(.name == \"".n."\" and .algorithm == \"".a."\") ".\
    "| \"\\(.bytes_per_pair) \\(.ratio_to_native)\"' ".dir."/distributions.json"
  set multiplot layout 2,2 title "Prepared alltoall, six hosts at 1 Gbit/s"
  do for [d=1:4] {
    set title shown[d].": ".sizes[d]
    plot 1 with lines lc "gray" notitle, for [i=1:5] rows(shown[d], ours[i]) title ours[i]
  }
  unset multiplot
  reset
}
if (there("ports")) {
  set terminal svg size 640,420 font "sans,12" background "white"
  set output dir."/ports.svg"
  set title "hierarchical_factor, hosts 1,4,2,8 at 1 Gbit/s, 256 KiB per pair" noenhanced
  set logscale x 2
  set yrange [0:*]
  set grid y
  set xlabel "ports (k)"
  set ylabel "time / native"
  plot 1 with lines lc "gray" notitle, "< jq -r '.[] | select(.ports != null and .algorithm == \"hierarchical_factor\") ".\
    "| \"\\(.ports) \\(.ratio_to_native)\"' ".dir."/ports.json" with linespoints pt 7 notitle
}
