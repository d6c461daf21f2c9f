"""pmpi_names.py SOURCE_DIRECTORY: src/ and interpose/ call MPI by its PMPI names, so that the calls are invisible to the
preloaded library and to profiling tools. Comments and texts name functions as users know them."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
passed_over = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"'
# Types that constants are converted to look like calls.
types = "Comm|Datatype|Request|Status|Count|Aint|Op|Group|Info|Message|Errhandler"
token = re.compile(rf"{passed_over}|\bMPI_(?!(?:{types})\()[A-Z][a-z]\w*(?=\s*\()", re.S)
files = [f for folder in ("src", "interpose") for f in (root / folder).rglob("*") if f.suffix in {".hpp", ".cpp", ".def"}]
wrong = []
for file in files:
    text = file.read_text(encoding="utf-8")
    wrong += [f"{file.relative_to(root)}:{text.count(chr(10), 0, m.start()) + 1}: {m.group()} instead of P{m.group()}"
              for m in token.finditer(text) if m.group().startswith("MPI_")]
if not files:
    wrong.append("nothing was looked at")
print("\n".join(wrong) or f"{len(files)} files")
sys.exit(1 if wrong else 0)
