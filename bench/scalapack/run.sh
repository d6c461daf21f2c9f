#!/bin/sh
# bench/scalapack/run.sh BUILD [ORDER [REPETITIONS]]: pdgemr2d of libtaquin_scalapack beside ScaLAPACK's own on 2, 4 and 8
# ranks, as a table. Nothing else should run.
set -eu
for ranks in 2 4 8; do
  "${MPIRUN:-mpirun}" -n "$ranks" "$1/bin/taquin_bench_gemr2d" "${2:-4096}" "${3:-5}"
done | awk '
  BEGIN { print "| ranks | block | from | to | taquin ms | ScaLAPACK ms | ratio | taquin MiB | ScaLAPACK MiB | local MiB |"
          print "|---|---|---|---|---|---|---|---|---|---|" }
  $1 == "ranks" { next }
  { printf "| %d | %d | %s | %s | %s | %s | %s | %.1f | %.1f | %.1f |\n", $1, $3, $4, $5, $6, $7, $8, $9 / 1024, $10 / 1024, $11 / 1024 }'
