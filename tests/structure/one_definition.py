"""one_definition.py SOURCE_DIRECTORY: no two files of the library define classes of one name in one namespace. Templates that
are made of them, such as std::vector, would be one function for both, and which one is up to the compiler."""
import collections
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
files = [f for folder in ("src", "include", "interpose") for f in (root / folder).rglob("*") if f.suffix in {".hpp", ".cpp"}]
found = collections.defaultdict(set)
for file in files:
    inside = []  # the namespaces; None: one without a name, whose classes are the file's own
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("namespace {"):
            inside.append(None)
        elif begins := re.match(r"namespace ([\w:]+) \{", line):
            inside.append(begins.group(1))
        elif line.startswith("}  // namespace") and inside:
            inside.pop()
        defined = re.match(r"(?:struct|class) (\w+)(?: final)?(?: : [^{]*)? \{", line)
        if defined and None not in inside:
            found["::".join(inside), defined.group(1)].add(str(file.relative_to(root)))
wrong = [f"{'::'.join(name)} in {', '.join(sorted(where))}" for name, where in sorted(found.items()) if len(where) > 1]
if not found:
    wrong.append("nothing was looked at")
print("\n".join(wrong) or f"{len(found)} classes")
sys.exit(1 if wrong else 0)
