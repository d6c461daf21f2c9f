"""messages.py ROOT: each message in the guide's page on troubleshooting is one of the sources.

A message's cell is the first of its row. … and what is in quotes, numbers and variables stand for what differs."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
source = "".join(
    file.read_text()
    for folder in ("src", "interpose", "cli", "harness", "workloads", "include", "python")
    for file in sorted((root / folder).rglob("*"))
    if file.suffix in (".cpp", ".hpp", ".py")
)
source = re.sub(r'"\s*\n\s*"', "", source)
source = re.sub(r"\{[^{}\"]*\}", "…", source)
page = (root / "docs/guide/9-troubleshooting.md").read_text()
checked = 0
strange = []
for row in page.splitlines():
    if not row.startswith("| "):
        continue
    for message in re.findall(r"`([^`]+)`", row.split("|")[1]):
        for part in re.split(r"…|'[^']*'|\b\d+\b|TAQUIN_[A-Z_]+|^taquin( wrap| record)?: |: cannot", message):
            part = (part or "").strip(" '();,:")
            if len(part) < 8:
                continue
            checked += 1
            if part not in source:
                strange.append(f"{message!r}: nothing says {part!r}")
print("\n".join(strange))
print(checked, "texts")
sys.exit(1 if strange or checked < 80 else 0)
