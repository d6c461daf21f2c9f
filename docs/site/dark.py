"""dark.py FURO.CSS: Debian's build of the theme lacks the rules for readers whose system is dark. They are those for readers
who have chosen the dark theme, under another condition."""

import pathlib
import re
import sys

sheet = pathlib.Path(sys.argv[1])
text = sheet.read_text(encoding="utf-8")
if "prefers-color-scheme" not in text:
    rules = re.findall(r'(?:html )?body\[data-theme="dark"\](?! \.theme-toggle)[^{}]*\{[^{}]*\}', text)
    if not rules:
        sys.exit(f"{sheet} has no rules of the dark theme")
    chosen = "\n".join(rule.replace('[data-theme="dark"]', ':not([data-theme="light"])') for rule in rules)
    sheet.write_text(f"{text}\n@media screen and (prefers-color-scheme: dark) {{\n{chosen}\n}}\n", encoding="utf-8")
