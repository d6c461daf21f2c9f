#!/bin/sh
# Two builds of the taquin command, run in turn:
#   bench/builds/run.sh BEFORE/bin/taquin AFTER/bin/taquin REPETITIONS > results.txt
# Each line: what is exchanged, the first build's median time in ms, the second's, their ratio, and both as multiples of
# the MPI library's alltoallv of the same bytes; all are medians over the repetitions. Blocks lie in the ranks' own buffers.
set -eu
before=$1 after=$2 repetitions=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# compare NAME ARGUMENTS…: of the command's own, on 8 ranks.
compare() {
  name=$1
  shift
  for turn in $(seq "$repetitions"); do
    mpirun.openmpi -n 8 "$before" "$@" --json "$work/before.$turn" > /dev/null
    mpirun.openmpi -n 8 "$after" "$@" --json "$work/after.$turn" > /dev/null
  done
  /usr/bin/python3 - "$name" "$work" "$repetitions" << 'END'
import json, pathlib, statistics, sys

name, work, repetitions = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
records = {build: [json.loads((work / f"{build}.{turn + 1}").read_text())[-1] for turn in range(repetitions)]
           for build in ("before", "after")}
time = {build: 1e3 * statistics.median(r["median_s"] for r in all) for build, all in records.items()}
ratio = {build: statistics.median(r["ratio_to_native"] for r in all) for build, all in records.items()}
print(f"{name}: {time['before']:.3f} {time['after']:.3f} ms, {time['after'] / time['before']:.2f}; "
      f"{ratio['before']:.2f} {ratio['after']:.2f} x native", flush=True)
END
}

for workload in random uniform shift; do
  compare "in_place $workload, 50 MB, 1%" run -a in_place --in-place -w $workload -b 50M -m 1% --reps 5
done
for workload in shift transpose; do
  compare "slots $workload, 50 MB" redistribute -a slots -w $workload -b 50M --reps 5
done
for algorithm in spread_out bruck_v; do
  compare "$algorithm, plan, 8 B" run -a $algorithm --persistent -b 8 --per-pair --reps 100
done
