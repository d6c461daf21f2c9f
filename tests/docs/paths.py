"""paths.py ROOT: the files and folders of the tree that documents name are there."""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
folders = ("src", "interpose", "include", "simulation", "harness", "cli", "workloads", "testbed", "scripts", "tests", "bench",
           "fortran", "python", "scalapack", "report", "examples", "packaging", "docs", "results", "cmake")
named = 0
missing = []
for page in [*root.glob("*.md"), *sorted((root / "docs").rglob("*.md"))]:
    if page.name == "CHANGELOG.md":  # it names what there was
        continue
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for path in re.findall(r"`([\w./-]+)`", text):
        if "/" not in path or path.split("/")[0] not in folders or "NAME" in path or "FAMILY" in path:
            continue
        named += 1
        if not (root / path).exists() and not (root / f"{path}.cpp").exists():
            missing.append(f"{page.relative_to(root)}: there is no {path}")
print(*missing, sep="\n", end="\n" if missing else "")
print(named, "paths")
sys.exit(1 if missing or named < 50 else 0)
