"""lengths.py SOURCE_DIRECTORY: no source in C, C++ or Python has more than 400 lines."""
import pathlib
import sys

most = 400
root = pathlib.Path(sys.argv[1])
folders = ("src", "include", "simulation", "interpose", "harness", "cli", "workloads", "fortran", "python", "examples",
           "tests", "bench", "testbed", "report", "scripts")
kinds = {".hpp", ".cpp", ".h", ".c", ".py", ".pyi"}
sources = [f for folder in folders for f in sorted((root / folder).rglob("*")) if f.suffix in kinds]
lengths = {source: source.read_text(encoding="utf-8").count("\n") for source in sources}
wrong = [f"{source.relative_to(root)}: {n} lines, at most {most}" for source, n in lengths.items() if n > most]
if not sources:
    wrong.append("nothing was looked at")
print("\n".join(wrong) or f"{len(sources)} files")
sys.exit(1 if wrong else 0)
