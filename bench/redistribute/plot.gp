# gnuplot -e "dir='DIR'" plot.gp: one SVG per experiment from DIR/*.json. Needs jq.
set terminal svg size 720,480 font "sans,12" background "white"
set key outside below noenhanced
set style data linespoints
set logscale y
set ylabel "time (ms), median and 95% interval"
there(e) = int(system("test -s ".dir."/".e.".json && echo 1 || echo 0"))
# x, median and 95% interval in milliseconds
rows(e, a) = "< jq -r '.[] | select(.algorithm == \"".a."\") ".\
  "| \"\\(.x) \\(.median_s*1e3) \\(.ci95_s[0]*1e3) \\(.ci95_s[1]*1e3)\"' ".dir."/".e.".json"
array experiment[5] = ["full_shift", "shift_with_space", "vanishing_space", "one_empty", "transpose"]
array title[5] = ["1: full shift, no free block", "2: shift, 20% free", "3: shift of 8 ranks, free space vanishes", \
  "4: one empty rank, the others full", "5: transpose, 20% free"]
do for [i=1:5] {
  if (there(experiment[i])) {
    set output dir."/".experiment[i].".svg"
    set title title[i]
    if (i == 3) {
      unset logscale x
      set xrange [50:0]
      set xlabel "free blocks, percent"
    } else {
      set xrange [*:*]
      set logscale x 2
      set xlabel "ranks"
    }
    plot for [a in "native slots cyclic parking basic_phases"] rows(experiment[i], a) \
      with yerrorlines title a
  }
}
