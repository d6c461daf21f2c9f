"""variables.py ROOT: the environment variables that sources read are those of cli/variables.def, each of which is read."""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
# Set by one part of taquin for another, not by users.
internal = {"TAQUIN_RECORD_PROCESS"}
table = set(re.findall(r"^TAQUIN_VARIABLE\((TAQUIN_[A-Z_]+)", (root / "cli/variables.def").read_text(), re.M))
found = set()
for folder in ("src", "interpose", "cli", "harness", "python", "fortran"):
    for file in (root / folder).rglob("*"):
        if file.suffix in (".cpp", ".hpp", ".c", ".h", ".py", ".f90", ".inc"):
            found |= set(re.findall(r"[\"'](TAQUIN_[A-Z_]+[A-Z])[\"']", file.read_text()))
names = found - internal
# Names in quotes that are no variables: macros of CMake and of the C API would show up here.
missing = sorted(n for n in names - table)
unread = sorted(table - found)
for name in missing:
    print(f"{name} is read by the sources and not in cli/variables.def")
for name in unread:
    print(f"{name} is in cli/variables.def and read by no source")
if not table or not found:
    print("found no variables: the pattern is wrong")
    sys.exit(1)
sys.exit(1 if missing or unread else 0)
