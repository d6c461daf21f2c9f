"""intercepted.py ROOT LIBRARY: the table of intercepted functions in the guide is what the preload library exports. With
UPDATE=1 it is written there. Names are without _c, and MPIX_ names without the X."""

import os
import pathlib
import re
import subprocess
import sys

page = pathlib.Path(sys.argv[1]) / "docs/guide/3-cannot-rebuild.md"
GROUPS = (
    ("exchanges", r"lltoall"),
    ("start, completion and release of requests", r"_(Start|Test|Wait|Request)"),
    ("messages, counted for the report", r"(send|Send)"),
    ("memory that ranks of a node can map", r"_mem$|_Win_"),
    ("set-up and communicators", r""),
)
symbols = subprocess.run(["nm", "-D", "--defined-only", sys.argv[2]], check=True, capture_output=True, text=True).stdout
names = {f"MPI_{re.sub('_c$', '', n)}" for n in re.findall(r" MPIX?_([A-Z]\w+)$", symbols, re.M)}
rows = ["| purpose | functions |", "|---|---|"]
for purpose, pattern in GROUPS:
    found = sorted(n for n in names if re.search(pattern, n))
    names -= set(found)
    rows.append(f"| {purpose} | {', '.join(f'`{n}`' for n in found)} |")
text = page.read_text(encoding="utf-8")
made = re.compile(r"(<!-- made by: tests/docs/intercepted.py -->\n).*?(<!-- end -->\n)", re.S)
fresh, found = made.subn(lambda m: m[1] + "\n".join(rows) + "\n" + m[2], text)
if found != 1 or len(rows[2]) < 100:
    sys.exit("the table or the functions were not found")
if os.environ.get("UPDATE") == "1":
    page.write_text(fresh, encoding="utf-8")
elif fresh != text:
    sys.exit(f"{page} lists other functions than the library exports: UPDATE=1 writes the table")
