#!/bin/sh
# The table in README.md is what `taquin list --markdown` prints. With UPDATE=1 it is put there.
set -eu
table=$(mktemp)
trap 'rm -f "$table"' EXIT
"$2" list --markdown >"$table"
if [ "${UPDATE:-0}" = 1 ]; then
  awk -v table="$table" '
    /^<!-- end -->$/ { on = 0 }
    !on { print }
    /^<!-- made by: taquin list --markdown -->$/ { on = 1; while ((getline line < table) > 0) print line }' \
    "$1/README.md" >"$table.readme"
  cp "$table.readme" "$1/README.md"
  rm "$table.readme"
fi
awk '/^<!-- end -->$/ { on = 0 } on { print } /^<!-- made by: taquin list --markdown -->$/ { on = 1 }' "$1/README.md" |
  diff - "$table"
