"""paths.py ROOT: files and folders of the tree, CMake presets, Debian packages and names with TAQUIN_ that documents name are there."""

import json
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
folders = ("src", "interpose", "include", "simulation", "harness", "cli", "workloads", "testbed", "scripts", "tests", "bench",
           "fortran", "python", "scalapack", "report", "examples", "packaging", "docs", "results", "cmake")
listed = json.loads((root / "CMakePresets.json").read_text(encoding="utf-8"))
presets = {p["name"] for kind in ("configurePresets", "buildPresets", "testPresets") for p in listed[kind]}
folders_of_code = ("src", "interpose", "include", "cli", "scalapack", "cmake", "fortran", "python", "report", "tests", "docs/site")
endings = (".cpp", ".hpp", ".h", ".def", ".c", ".inc", ".F90", ".py", ".cmake", ".txt", ".in", ".js", ".mjs", ".sh")
files = [f for folder in folders_of_code for f in sorted((root / folder).rglob("*")) if f.suffix in endings]
code = "".join(f.read_text(encoding="utf-8", errors="replace") for f in [*files, root / "CMakeLists.txt", root / "Makefile"])
variables = set(re.findall(r"TAQUIN_[A-Za-z_0-9]+", code))
named = 0
missing = []
for page in [*root.glob("*.md"), *sorted((root / "docs").rglob("*.md"))]:
    if page.name == "CHANGELOG.md":  # it names what there was
        continue
    text = page.read_text(encoding="utf-8")
    where = page.relative_to(root)
    missing += [f"{where}: there is no preset {p}" for pair in re.findall(r"--preset ([\w-]+)|presets? `([\w-]+)`", text)
                for p in pair if p and p not in presets]
    missing += [f"{where}: there is no {v}" for v in sorted(set(re.findall(r"\bTAQUIN_\w*[A-Za-z0-9]\b", text)) - variables)
                if not any(known.startswith(v + "_") for known in variables)]
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    for path in re.findall(r"`([\w./-]+)`", text):
        if "/" not in path or path.split("/")[0] not in folders or "NAME" in path or "FAMILY" in path:
            continue
        named += 1
        if not (root / path).exists() and not (root / f"{path}.cpp").exists():
            missing.append(f"{page.relative_to(root)}: there is no {path}")
packages = set(re.findall(r"^Package: (\S+)", (root / "packaging/debian/control").read_text(encoding="utf-8"), re.M))
table = (root / "docs/guide/6-install.md").read_text(encoding="utf-8").split("| package | contents |")[1].split("\n\n")[0]
listed = {name for row in table.splitlines() for name in re.findall(r"`([^`]+)`", row.split("|")[1] if "|" in row else "")}
missing += [f"docs/guide/6-install.md does not list the package {p}" for p in sorted(packages - listed - {"libtaquin-dev"})]
missing += [f"docs/guide/6-install.md: there is no package {p}" for p in sorted(listed - packages)]
print(*missing, sep="\n", end="\n" if missing else "")
print(named, "paths")
sys.exit(1 if missing or named < 50 else 0)
