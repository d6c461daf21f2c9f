#!/bin/sh
# The picture in README.md is what the committed records give. With UPDATE=1 it is drawn again.
set -eu
drawn=$(mktemp -d)
trap 'rm -rf "$drawn"' EXIT
/usr/bin/python3 -B "$1/bench/readme/draw.py" "$1/results" "$drawn"
for theme in light dark; do
  [ "${UPDATE:-0}" = 0 ] || cp "$drawn/$theme.svg" "$1/results/readme"
  diff "$drawn/$theme.svg" "$1/results/readme/$theme.svg"
  grep -q "results/readme/$theme.svg" "$1/README.md"
done
