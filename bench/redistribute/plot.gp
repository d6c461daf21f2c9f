# One experiment's times, all algorithms: gnuplot -e "name='…'; dir='…'" plot.gp
set terminal svg size 640,420
set output dir.'/'.name.'.svg'
set title name noenhanced
set logscale y
set ylabel 'seconds (median of the slowest rank)'
set xlabel (name eq 'vanishing_space' ? 'free blocks, percent' : 'ranks')
set key outside noenhanced
data = dir.'/'.name.'.dat'
plot for [a in 'native slots local_copy_efficient cyclic parking basic_phases'] \
  '< awk ''$2 == "'.a.'"'' '.data using 1:3 with linespoints title a
