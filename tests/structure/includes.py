"""includes.py SOURCE_DIRECTORY: files of src/ include only files of their own layer or of lower ones, in the order in which
CONTRIBUTING.md lists the layers, and no file includes itself by way of others. Nothing that users link includes the
simulation. What interpose/ serves and what it observes know of each other by its event.hpp alone. Beside src/, the harness includes neither the command nor tests, nor do benchmarks, and only tests of the command, from within or with any bytes, include it."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
floors = re.findall(r"^\| `src/(\w+)/` \|", (root / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.M)
sources = sorted(f for f in (root / "src").rglob("*") if f.suffix in {".hpp", ".cpp", ".def"})
wrong = [f"CONTRIBUTING.md does not list src/{f}" for f in sorted({s.relative_to(root / "src").parts[0] for s in sources
                                                            if s.parent != root / "src"} - set(floors))]
includes = {}
for source in sources:
    name = str(source.relative_to(root / "src"))
    includes[name] = []
    for other in re.findall(r'^#include "([^"]+)"', source.read_text(encoding="utf-8"), re.M):
        if not (root / "src" / other).is_file():
            continue
        includes[name].append(other)
        above, below = name.split("/")[0], other.split("/")[0]
        if above in floors and below in floors and floors.index(below) > floors.index(above):
            wrong.append(f"upwards: {name} includes {other}")

apart = {"harness": {"cli", "tests", "bench"}, "bench": {"cli", "tests"}, "workloads": {"harness", "cli", "tests"},
         "simulation": {"harness", "workloads", "cli", "tests", "bench"}, "src": {"simulation"}, "interpose": {"simulation"},
         "tests": {"cli"}}
folders_of_tests = {path.name for path in (root / "tests").iterdir() if path.is_dir()} - {"harness", "workloads", "cli"}
for folder, others in apart.items():
    found = [f for f in (root / folder).rglob("*") if f.suffix in {".hpp", ".cpp"}]
    if not found:
        wrong.append(f"{folder} is empty")
    for source in found:
        if source.relative_to(root).parts[:2] in {("tests", "cli"), ("tests", "fuzz")}:
            continue
        for other in re.findall(r'^#include "([^"]+)"', source.read_text(encoding="utf-8"), re.M):
            first = other.split("/")[0]
            of_tests = "tests" in others and first in folders_of_tests and not (root / "src" / other).is_file() and (
                root / "tests" / other).is_file()
            if first in others or of_tests:
                wrong.append(f"{source.relative_to(root)} includes {other}")

# Serving and observing meet in the interface of events alone.
for folder, other in (("serve", "observe"), ("observe", "serve")):
    found = [f for f in (root / "interpose" / folder).rglob("*") if f.suffix in {".hpp", ".cpp"}]
    if not found:
        wrong.append(f"interpose/{folder} is empty")
    wrong += [f"{f.relative_to(root)} includes interpose/{other}" for f in found
              if f'#include "interpose/{other}/' in f.read_text(encoding="utf-8")]
shared = [f for f in (root / "interpose").glob("*.?pp")]
wrong += [f"{f.relative_to(root)} includes what serves or observes" for f in shared
          if re.search(r'^#include "interpose/(serve|observe)/', f.read_text(encoding="utf-8"), re.M)]

state = {}


def visit(name, path):
    if state.get(name) == "done":
        return
    if state.get(name) == "open":
        wrong.append("circle: " + " -> ".join(path[path.index(name):] + [name]))
        return
    state[name] = "open"
    for other in includes.get(name, []):
        if not name.endswith(".cpp") or other != name:
            visit(other, path + [name])
    state[name] = "done"


for name in includes:
    visit(name, [])
if not floors or not includes:
    wrong.append("nothing was looked at")
print("\n".join(wrong) or f"{len(includes)} files on {len(floors)} floors")
sys.exit(1 if wrong else 0)
