"""columns.py SOURCE_DIRECTORY: no line of a C or C++ source has more than 120 characters, which the formatter does not
say of comments. Lines within raw string literals are what users are shown, and are not looked at."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
folders = ("src", "include", "simulation", "interpose", "harness", "cli", "workloads", "fortran", "python", "examples",
           "tests", "bench", "testbed")
sources = [f for folder in folders for f in sorted((root / folder).rglob("*")) if f.suffix in {".hpp", ".cpp", ".h", ".c"}]
wrong = []
for source in sources:
    text = source.read_text(encoding="utf-8")
    text = re.sub(r'R"(\w*)\(.*?\)\1"', lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    wrong += [f"{source.relative_to(root)}:{n}: {len(line)} characters"
              for n, line in enumerate(text.split("\n"), 1) if len(line) > 120]
if not sources:
    wrong.append("nothing was looked at")
print("\n".join(wrong) or f"{len(sources)} files")
sys.exit(1 if wrong else 0)
