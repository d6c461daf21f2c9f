"""generated.py ROOT PROGRAM: each table between "<!-- made by: taquin ARGUMENTS -->" and "<!-- end -->" in README.md and docs/
is what the command prints; where it is made by "results NAME ARGUMENTS", what docs/results/tables.py makes of the committed
records. Each record is described in results/records.json. Sentences
that quote a record have its numbers. With UPDATE=1 the tables are put there."""

import json
import os
import pathlib
import re
import subprocess
import sys

root, program = pathlib.Path(sys.argv[1]), sys.argv[2]
made = re.compile(r"(<!-- made by: (taquin|results) ([^>]*?) -->\n)(.*?)(<!-- end -->\n)", re.S)
tables = root / "docs/results/tables.py"
if subprocess.run([sys.executable, "-B", str(tables), "--check"], check=False).returncode != 0:
    sys.exit(1)
found = 0
stale = []
for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
    text = page.read_text(encoding="utf-8")

    def printed(match: re.Match) -> str:
        global found
        found += 1
        maker = [program] if match.group(2) == "taquin" else [sys.executable, "-B", str(tables)]
        command = [*maker, *match.group(3).split()]
        table = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return match.group(1) + table + match.group(5)

    fresh = made.sub(printed, text)
    if fresh == text:
        continue
    stale.append(page.name)
    if os.environ.get("UPDATE") == "1":
        page.write_text(fresh, encoding="utf-8")
# Measured numbers come from records. A table that is written by hand has none.
by_hand = []
for page in sorted([*(root / "docs/internals").glob("*.md"), *(root / "docs/results").glob("*.md")]):
    for line in made.sub("", page.read_text(encoding="utf-8")).splitlines():
        if line.startswith("|") and re.search(r"\d\.\d", re.sub(r"`[^`]*`", "", line)):
            by_hand.append(f"{page.name}: {line}")
# Sentences that quote a record have its numbers.
in_place = {r["x"]: r for r in json.loads((root / "results/in-place/memory.json").read_text()) if r["variant"] == "in_place"}
ratios = [r["ratio_to_native"] for r in in_place.values()]
calls = [r["ratio_to_native"] for r in json.loads((root / "results/node/node.json").read_text())
         if r["bytes_per_pair"] == 8 and r["kind"] in ("equal", "random", "sparse", "zipf")]
quotes = {
    "README.md": (f"with {in_place[1]['peak_memory'] // 1024} KiB of scratch memory. It takes {in_place[1]['ratio_to_native']:.2f} of the time",
                  f"take {min(calls):.2f} to {max(calls):.2f} of the MPI library's time"),
    "docs/guide/1-out-of-memory.md": (f"(../results/in-place.md#scratch-memory) are {min(ratios):.2f} to {max(ratios):.2f}.",),
}
for page, sentences in quotes.items():
    text = " ".join((root / page).read_text(encoding="utf-8").split())
    for sentence in sentences:
        if sentence not in text:
            sys.exit(f"{page} does not say '{sentence}', as the records do")
if by_hand:
    sys.exit("tables with measured numbers that no record gives:\n" + "\n".join(by_hand))
if found == 0:
    sys.exit("no generated table was found")
if stale and os.environ.get("UPDATE") != "1":
    sys.exit(f"UPDATE=1 makes again what differs from what the command prints or the records say: {', '.join(stale)}")
