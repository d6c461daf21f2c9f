#!/bin/sh
# Programs on ScaLAPACK as they are, and with libtaquin_scalapack preloaded:
#   bench/scalapack/programs/run.sh build/release > results/layouts/programs.txt
# on Debian's packages cp2k, gpaw and petsc-dev. Each line: program, ranks, by (plain or taquin), its result, and the most
# resident memory of a process in KiB. A further run allows one byte of scratch memory: "refused" shows that the program
# calls p?gemr2d.
set -eu
build=$(realpath "$1")
inputs=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1 GPAW_SETUP_PATH="${GPAW_SETUP_PATH:-/usr/share/gpaw-setups}"
PKG_CONFIG_PATH=$(echo /usr/lib/petscdir/petsc*/*/lib/pkgconfig | tr ' ' ':')
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
mpicc.openmpi -O2 "$inputs/petsc.c" -o petsc $(pkg-config --cflags --libs PETSc)
run() {
  name=$1 ranks=$2 result=$3
  shift 3
  for by in plain taquin refused; do
    case $by in
      plain) library='' memory='' ;;
      taquin) library=$build/lib/libtaquin_scalapack.so memory='' ;;
      refused) library=$build/lib/libtaquin_scalapack.so memory=1 ;;
    esac
    mpirun.openmpi -n "$ranks" /usr/bin/time -f "peak=%M" env LD_PRELOAD="$library" ${memory:+TAQUIN_MEMORY=$memory} "$@" > out 2>&1 || true
    if [ $by = refused ]; then
      echo "$name $ranks refused $(grep -c 'needs at least .* bytes of scratch memory, 1 are allowed' out)"
    else
      peak=$(sed -n 's/^peak=//p' out | sort -n | tail -1)
      echo "$name $ranks $by $(sed -n "$result" out | tail -1) $peak"
    fi
  done
}
echo "# program ranks by result peak_KiB"
run cp2k 6 's/^ ENERGY|.*: *//p' cp2k.psmp -i "$inputs/cp2k.inp"
run gpaw 4 's/^energy \([-0-9.]*\).*/\1/p' /usr/bin/python3 "$inputs/hydrogen.py"
run petsc 4 's/^norm .* difference \(.*\), of the product \(.*\)/\1,\2/p' ./petsc -n 4000
