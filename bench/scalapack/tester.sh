#!/bin/sh
# ScaLAPACK's own tester of its redistributions, with libtaquin_scalapack preloaded:
#   bench/scalapack/tester.sh SCALAPACK build/release [openmpi|mpich]
# SCALAPACK: its public sources, of which REDIST/TESTING is built against Debian's library. Prints for each type how many of
# its tests pass; the exit status is 1 if one does not. RANKS: 4.
set -eu
sources=$(realpath "$1")/REDIST/TESTING build=$(realpath "$2") mpi=${3:-openmpi}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$sources"/*.dat .
status=0
for program in "$sources"/p?gemrdrv.c "$sources"/p?trmrdrv.c; do
  name=$(basename "$program" drv.c)
  "mpicc.$mpi" -w -O1 -DAdd_ "$program" -o "$name" "-lscalapack-$mpi" -lm
  "mpirun.$mpi" -n "${RANKS:-4}" env LD_PRELOAD="$build/lib/libtaquin_scalapack.so" "./$name" > out 2>&1 || status=1
  passed=$(grep -c 'TEST PASSED OK' out) || true
  all=$(sed -n 's/.*[/] *\([0-9]*\) tests.*/\1/p' out)
  echo "$name $passed of $all"
  [ "$passed" = "$all" ] || status=1
done
exit $status
