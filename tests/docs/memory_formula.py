"""memory_formula.py ROOT PROGRAM: headers, guide, docstring and internals state the memory of a redistribution by the formulas
that `taquin list --redistribution` prints, and by no others."""

import pathlib
import re
import subprocess
import sys

root, program = pathlib.Path(sys.argv[1]), sys.argv[2]
formula = re.compile(r"\d+ \+ \d+·p \+ \d+·m(?:·n \+ \d+·l/n)?")
printed = formula.findall(subprocess.run([program, "list", "--redistribution"], check=True, capture_output=True, text=True).stdout)
if len(set(printed)) != 2:
    sys.exit(f"the command prints {printed}")
for page in ("include/taquin/redistribute.hpp", "include/taquin/taquin.h", "fortran/module.inc",
             "python/taquin/_redistribution.py", "docs/guide/1-out-of-memory.md",
             "docs/internals/redistribution.md"):
    text = re.sub(r"\n *(?:///|\*|!>)? *", " ", (root / page).read_text(encoding="utf-8")).replace("m_i", "m")
    text = re.sub(r"(?<=\w)\*(?=\w)", "·", text)
    stated = formula.findall(text)
    if set(stated) != set(printed):
        sys.exit(f"{page} states {stated}, the command {printed}")
