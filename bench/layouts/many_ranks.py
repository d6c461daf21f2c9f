#!/usr/bin/env python3
"""many_ranks.py BIN OUT: layouts on 100000 ranks, on paper: predictions and the bytes that relabelling saves, each with the
time and the memory that the command needs; writes OUT/many_ranks.json. Without MPI ranks."""
import json
import os
import sys
import tempfile
import time

RANKS = "-n 100000"
COMMANDS = [
    f"simulate {RANKS} --per-node 100 --shape 1000000x800000 --from 250x400 --to 400x250/64x64:f",
    f"simulate {RANKS} --per-node 100 --shape 4096x4096x4096 --from 250x400x1 --to 250x1x400",
    f"explain {RANKS} --shape 200000x200000 --from 100000x1 --to 1x100000",
    f"explain {RANKS} --shape 1000000x800000 --from 250x400 --to 250x400:f",
]
KEPT = ("formula_s", "schedule_s", "bytes_per_rank", "bytes", "bytes_moved", "bytes_moved_relabelled")


def run(taquin, command):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        start = time.monotonic()
        child = os.spawnv(os.P_NOWAIT, taquin, [taquin, *command.split(), "--json", out.name])
        _, status, used = os.wait4(child, 0)
        seconds = time.monotonic() - start
        if status != 0:
            sys.exit(f"taquin {command}: status {status}")
        with open(out.name, encoding="utf-8") as written:
            record = json.load(written)[0]
    return {"command": f"taquin {command}", "ranks": record["ranks"], **{k: record[k] for k in KEPT if k in record},
            "seconds": round(seconds, 2), "resident_bytes": used.ru_maxrss * 1024}


if __name__ == "__main__":
    bin, out = sys.argv[1:]
    rows = [run(os.path.join(bin, "taquin"), command) for command in COMMANDS]
    with open(os.path.join(out, "many_ranks.json"), "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)
        file.write("\n")
