#!/bin/sh
# variables_table.sh ROOT PROGRAM: the table in the guide is what `taquin list --variables --markdown` prints. With UPDATE=1
# it is put there.
set -eu
page=$1/docs/guide/12-environment.md
table=$(mktemp)
trap 'rm -f "$table" "$table.page"' EXIT
"$2" list --variables --markdown >"$table"
if [ "${UPDATE:-0}" = 1 ]; then
  awk -v table="$table" '
    /^<!-- end -->$/ { on = 0 }
    !on { print }
    /^<!-- made by: taquin list --variables --markdown -->$/ { on = 1; while ((getline line < table) > 0) print line }' \
    "$page" >"$table.page"
  cp "$table.page" "$page"
fi
awk '/^<!-- end -->$/ { on = 0 } on { print } /^<!-- made by: taquin list --variables --markdown -->$/ { on = 1 }' "$page" |
  diff - "$table"
