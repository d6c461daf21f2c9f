# gnuplot -e "data='bruck.txt'; out='DIR'" plot.gp: one SVG per experiment and number of ranks.
set terminal svg size 800,560 font "sans,13" background "white"
set key outside right
set logscale xy
set xlabel "bytes per block"
set ylabel "time (µs), median and 95% confidence interval"
rows(e, v, p) = sprintf("< awk '$1==\"%s\" && $2==\"%s\" && $3==%d' %s", e, v, p, data)
variants = "native basic-ix basic mod-ix mod zero zero-blocks zero-packed lean"
persistent = "native nativev zero bruck_v zero-persistent zero-packed-persistent bruck_v-persistent"
present(e, p) = int(system(sprintf("awk '$1==\"%s\" && $3==%d' %s | wc -l", e, p, data)))
do for [p in "36 80"] {
  if (present("variants", int(p)) > 0) {
    set output sprintf("%s/variants-%s.svg", out, p)
    set title sprintf("Regular Bruck, radix 2, %s ranks", p)
    plot for [v in variants] rows("variants", v, int(p)) using 4:5:6:7 with yerrorlines title v
  }
  if (present("persistent", int(p)) > 0) {
    set output sprintf("%s/persistent-%s.svg", out, p)
    set title sprintf("Persistent and irregular, %s ranks", p)
    plot for [v in persistent] rows("persistent", v, int(p)) using 4:5:6:7 with yerrorlines title v
  }
}
set output out."/packing.svg"
set title "Packing 4096 ints of a bounded vector"
set xlabel "bytes per block of the vector"
plot for [v in "taquin mpi"] rows("packing", v, 1) using 4:5:6:7 with yerrorlines title v
unset logscale x
set output out."/creation.svg"
set title "Making and freeing a plan's types, nothing sent (blocks of 4 bytes)"
set xlabel ""
set style data histograms
set style histogram errorbars gap 1 lw 1
set style fill solid 0.6
set xtics rotate by -30
plot for [p in "36 80"] sprintf("< awk '$1==\"creation\" && $3==%s && $4==4' %s", p, data) \
  using 5:6:7:xtic(2) title p." ranks"
