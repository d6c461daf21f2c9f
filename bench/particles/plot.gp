# gnuplot -e "out='OUT'; theme='light'" plot.gp: OUT/particles-light.svg from OUT/particles.txt.
ink = theme eq "dark" ? "#d0d0d0" : "#303030"
set terminal svg noenhanced size 640,380 font "sans,13" background (theme eq "dark" ? "#0d1117" : "#ffffff")
set output out."/particles-".theme.".svg"
set border 3 lc rgb ink
set tics nomirror textcolor rgb ink
set key left top textcolor rgb ink
set title "Peak memory of a rank: particles that move between 4 ranks" textcolor rgb ink
set xlabel "MiB of particles per rank" textcolor rgb ink
set ylabel "MiB resident at most" textcolor rgb ink
set yrange [0:*]
plot out."/particles.txt" using 2:6 with linespoints lw 2 pt 7 lc rgb "#d95f02" title "MPI_Alltoallv, a second buffer", \
  out."/particles.txt" using 2:4 with linespoints lw 2 pt 7 lc rgb "#1b9e77" title "taquin, in place", \
  x with lines dt 2 lc rgb ink title "the particles alone"
