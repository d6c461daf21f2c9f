#!/bin/sh
# run.sh BIN OUT: transposes and Fourier transforms beside FFTW's over MPI, and ScaLAPACK's redistribution of matrices; writes
# OUT/fftw.json and OUT/scalapack.txt. Nothing else should run. EXTENTS, ORDERS: other sizes.
set -eu
bin=$1
beside_fftw() {
  mpirun -n "$1" "$bin/bench_beside_fftw" --work "$2" --extents $3 --seconds "${SECONDS_EACH:-1}" --json
}
{
  for extents in ${EXTENTS:-128,128,128 130,127,131 256,256,256}; do
    for p in 2 4 8; do
      for work in in-place out-of-place transform; do
        beside_fftw $p $work "$(echo "$extents" | tr , ' ')"
      done
    done
  done
  for p in 2 4 8; do beside_fftw $p in-place "384 384 384"; done
} | sed -n '/^{/p' | sed '$!s/$/,/; 1s/^/[\n/; $s/$/\n]/' >"$2/fftw.json"
{
  echo "# ranks order block from to ours_ms theirs_ms ratio ours_KiB theirs_KiB local_KiB"
  for order in ${ORDERS:-2048 4096 8192}; do
    for p in 2 4 8; do
      [ "$order" -gt 4096 ] && repetitions=3 || repetitions=9
      mpirun -n $p "$bin/taquin_bench_gemr2d" "$order" "${REPETITIONS:-$repetitions}" | grep -v ranks
    done
  done
} >"$2/scalapack.txt"
