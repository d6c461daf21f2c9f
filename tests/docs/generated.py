"""generated.py ROOT PROGRAM: each table between "<!-- made by: taquin ARGUMENTS -->" and "<!-- end -->" in README.md and the
guide is what the command prints. With UPDATE=1 it is put there."""

import os
import pathlib
import re
import subprocess
import sys

root, program = pathlib.Path(sys.argv[1]), sys.argv[2]
made = re.compile(r"(<!-- made by: taquin ([^>]*?) -->\n)(.*?)(<!-- end -->\n)", re.S)
found = 0
stale = []
for page in [root / "README.md", *sorted((root / "docs/guide").glob("*.md"))]:
    text = page.read_text(encoding="utf-8")

    def printed(match: re.Match) -> str:
        global found
        found += 1
        command = [program, *match.group(2).split()]
        table = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return match.group(1) + table + match.group(4)

    fresh = made.sub(printed, text)
    if fresh == text:
        continue
    stale.append(page.name)
    if os.environ.get("UPDATE") == "1":
        page.write_text(fresh, encoding="utf-8")
if found == 0:
    sys.exit("no generated table was found")
if stale and os.environ.get("UPDATE") != "1":
    sys.exit(f"UPDATE=1 makes again what differs from what the command prints: {', '.join(stale)}")
