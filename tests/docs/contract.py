"""contract.py ROOT: each row of the table of errors in guide 8 has tests in docs/internals/failure-recovery.md, and they exist."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
tests = root / "tests"


def rows(page, head):
    """The first cell of each row of the table that begins with `head`, and the last one."""
    text = (root / page).read_text()
    table = text[text.index(head) :].split("\n\n")[0].splitlines()[2:]
    return {re.sub(r" \(\[.*?\]\(.*?\)\)", "", row.split("|")[1]).strip(): row.split("|")[-2] for row in table}


promised = rows("docs/guide/8-hangs.md", "| cause | ranks with the error |")
held = rows("docs/internals/failure-recovery.md", "| cause | tests |")
defined = {f"{suite}.{name}" for file in tests.rglob("*.cpp")
           for suite, name in re.findall(r"\bTEST(?:_F|_P)?\((\w+),\s*(\w+)\)", file.read_text())}
wrong = [f"no tests for the row '{cause}'" for cause in promised if cause not in held]
wrong += [f"guide 8 has no row '{cause}'" for cause in held if cause not in promised]
for cause, cell in held.items():
    named = re.findall(r"`([^`]+)`", cell)
    wrong += [f"'{cause}' names no test"] * (not named)
    wrong += [f"there is no {name}" for name in named
              if not ((root / name).is_file() if "/" in name else name in defined)]
print("\n".join(wrong))
print(len(promised), "rows")
sys.exit(1 if wrong or len(promised) < 10 else 0)
