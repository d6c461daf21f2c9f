#!/bin/sh
# summary.sh RESULTS [SHARE]: medians of what run.sh has written, as a table. Runs from which other processes took more than
# SHARE of the processors' time, a tenth, are left out.
set -eu
grep -v '^#' "$1" | awk -v most="${2:-0.1}" '
  function median(list, n,   a, i, j, t) {
    n = split(list, a, " ")
    for (i = 2; i <= n; ++i) for (j = i; j > 1 && a[j - 1] + 0 > a[j] + 0; --j) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
    return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
  }
  $5 > most { next }
  { peak = "" }
  $6 ~ /^peak=/ { peak = substr($6, 6) / 1024; sub(/ peak=[0-9]+/, "") }  # older results have none
  { key = $1 " | " $2 " | " $3; if (!(key in wall)) order[++keys] = key
    wall[key] = wall[key] " " $4; runs[key]++
    peaks[key] = peaks[key] " " peak
    run[key] = run[key] " " $6; calls[key] = calls[key] " " $7; waits[key] = waits[key] " " $8 }
  END {
    print "| program | ranks | by | runs | peak memory of a process | mpirun | MPI_Init to MPI_Finalize | in all-to-all calls | of these waiting |"
    print "|---|---|---|---|---|---|---|---|---|"
    for (i = 1; i <= keys; ++i) { k = order[i]
      most_memory = peaks[k] ~ /[0-9]/ ? sprintf("%.1f MiB", median(peaks[k])) : ""
      if (run[k] ~ /[0-9]/) printf "| %s | %d | %s | %.2f s | %.2f s | %.3f s | %.3f s |\n", k, runs[k], most_memory, median(wall[k]), median(run[k]), median(calls[k]), median(waits[k])
      else printf "| %s | %d | %s | %.2f s | | | |\n", k, runs[k], most_memory, median(wall[k]) } }'
