#!/bin/sh
# Makes the recordings in this folder again: sh make.sh PATH/TO/taquin
# Needs Debian's packages ptscotch, hpcc, quantum-espresso, quantum-espresso-data and lammps, whose programs are linked
# with Open MPI; taquin must be too.
set -eu
taquin=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1

awk -v n=20000 -f "$here/graph.awk" > graph.grf
mpirun.openmpi -n 4 "$taquin" record -o "$here/dgpart_np4.json" dgpart -Cd 8 graph.grf graph.map

# Debian's example with a smaller matrix.
sed 's/^1000         Ns/400          Ns/; s/^80           NBs/32           NBs/' \
  /usr/share/doc/hpcc/examples/_hpccinf.txt > hpccinf.txt
mpirun.openmpi -n 4 "$taquin" record -o "$here/hpcc_np4.json" hpcc

cp "$here/silicon.in" "$here/charges.in" .
mpirun.openmpi -n 4 "$taquin" record -o "$here/pwscf_np4.json" pw.x -in silicon.in
mpirun.openmpi -n 4 "$taquin" record -o "$here/lammps_np4.json" lmp -in charges.in -log none
