#!/usr/bin/env python3
"""predicted.py TAQUIN [WORKLOAD]: sparse exchanges measured here, on one node, beside what `taquin simulate` predicts.

For each number of ranks and size the measured and the predicted microseconds of every algorithm; then how many pairs
are predicted in the measured order, of all pairs and of those whose measured times are 25% apart."""

import itertools
import json
import os
import subprocess
import sys
import tempfile

RANKS = (2, 4, 8, 16, 32)
SIZES = ("8", "1K", "16K")
APART = 1.25


def records(command):
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([*command, "--json", file.name], check=True, **quiet)
        return json.load(file)


def main(taquin, workload="sparse:4"):
    told = {"all pairs": [0, 0], "25% apart": [0, 0], "fastest": [0, 0]}
    for ranks, size in itertools.product(RANKS, SIZES):
        what = ["--collective", "sparse", "-w", workload, "-b", size, "--per-pair"]
        run = ["mpirun", "-n", str(ranks), taquin, "run", *what, "-a", "all", "--reps", "30"]
        measured = {r["algorithm"]: r["median_s"] for r in records(run) if r.get("median_s")}
        simulate = [taquin, "simulate", *what, "-n", str(ranks), "--cores", str(os.cpu_count()), "--json"]
        printed = subprocess.run(simulate, check=True, capture_output=True).stdout
        predicted = {r["algorithm"]: r["schedule_s"] for r in json.loads(printed)}
        both = [name for name in predicted if name in measured]
        times = (f"{name} {1e6 * measured[name]:.3g} {1e6 * predicted[name]:.3g}" for name in both)
        print(f"{ranks} ranks, {size}: " + ", ".join(times))
        for a, b in itertools.combinations(both, 2):
            ratio = measured[a] / measured[b]
            right = (ratio > 1) == (predicted[a] > predicted[b])
            for kind in ("all pairs", "25% apart") if max(ratio, 1 / ratio) > APART else ("all pairs",):
                told[kind][0] += right
                told[kind][1] += 1
        told["fastest"][0] += min(both, key=measured.get) == min(both, key=predicted.get)
        told["fastest"][1] += 1
    for kind, (right, of) in told.items():
        print(f"{kind}: {right} of {of} as measured")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])
