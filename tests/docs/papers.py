"""papers.py SOURCE_DIRECTORY TAQUIN: every row of docs/papers says what shows its claim: tests that exist and commands that
work. Commands that are marked quick are run."""
import pathlib
import re
import shlex
import subprocess
import sys

root = pathlib.Path(sys.argv[1])
taquin = sys.argv[2]
known = set()
for source in (root / "tests").rglob("*.cpp"):
    for suite, name in re.findall(r"^(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP)\((\w+), (\w+)", source.read_text(encoding="utf-8"), re.M):
        known.add(f"{suite}.{name}")
wrong = []
rows = commands = 0
for page in sorted((root / "docs/papers").glob("*.md")):
    text = page.read_text(encoding="utf-8")
    for figure in re.findall(r"!\[\]\((.*?)\)", text):
        if not (page.parent / figure).is_file():
            wrong.append(f"{page.name}: there is no {figure}")
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("| ") or cells[0] in ("§", "---"):
            continue
        rows += 1
        where = f"{page.name}: {line[:80]}"
        if len(cells) != 5:
            wrong.append(f"{where}: {len(cells)} cells of 5")
            continue
        result = cells[4].rstrip(" |")
        if not re.match(r"✓|✗ \w|differs: \w", result):
            wrong.append(f"{where}: the result is neither ✓ nor why not")
        shown = re.findall(r"`([^`]+)`( \*\(quick\)\*)?", cells[3])
        if not shown and "figure" not in cells[3] and not result.startswith("✗"):
            wrong.append(f"{where}: nothing shows it")
        for what, quick in shown:
            if quick:
                commands += 1
                done = subprocess.run([taquin, *shlex.split(what)[1:]], capture_output=True, text=True, timeout=120, check=False)
                if done.returncode != 0:
                    wrong.append(f"{where}: {what} fails: {done.stderr}")
            elif re.fullmatch(r"\w+\.\w+", what) and what not in known:
                wrong.append(f"{where}: there is no test {what}")
if rows < 60 or commands < 8:
    wrong.append(f"only {rows} rows and {commands} quick commands were found")
print("\n".join(wrong) or f"{rows} rows, {commands} commands")
sys.exit(bool(wrong))
