"""memory_formula.py ROOT PROGRAM: header, guide, docstring and internals state the memory of a redistribution by the formula
that `taquin list --redistribution` prints, and by no other."""

import pathlib
import re
import subprocess
import sys

root, program = pathlib.Path(sys.argv[1]), sys.argv[2]
formula = re.compile(r"\d+ \+ \d+·p \+ \d+·m\b")
printed = formula.findall(subprocess.run([program, "list", "--redistribution"], check=True, capture_output=True, text=True).stdout)
if len(printed) != 1:
    sys.exit(f"the command prints {len(printed)} formulas")
for page in ("include/taquin/redistribute.hpp", "python/taquin/_redistribution.py", "docs/guide/1-out-of-memory.md",
             "docs/internals/redistribution.md"):
    stated = formula.findall((root / page).read_text(encoding="utf-8"))
    if stated != printed:
        sys.exit(f"{page} states {stated}, the command {printed}")
