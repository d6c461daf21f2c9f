#!/bin/sh
# manual.sh PROGRAM FOLDER: every command has a manual page with its summary, its flags and examples.
set -eu
program=$1
folder=$2
rm -rf "$folder" && mkdir -p "$folder"
fail() { echo "$1"; exit 1; }
said=$("$program" manual -o "$folder")
[ "$said" = "$(ls "$folder" | wc -l) pages written to $folder" ] || fail "it says '$said' of the pages in $folder"
for command in $("$program" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
  set -- "$folder"/taquin*-"$command".1
  [ -s "$1" ] || fail "no page of $command"
  "$program" manual "$command" | cmp - "$1"
  for part in '^\.SH NAME' '^\.SH SYNOPSIS' '^\.SH OPTIONS' '^\.SH EXAMPLES' '^\.SH ENVIRONMENT' \
    '^\.SH EXIT STATUS'; do
    grep -q "$part" "$1" || fail "$command: no $part"
  done
  for flag in $("$program" "$command" --help | sed -n 's/^  \(-[a-zA-Z],\)\{0,1\}\(--[a-z-]*\).*/\2/p'); do
    sed 's/\\-/-/g' "$1" | grep -q -e "$flag" || fail "$command: $flag is not on its page"
  done
done
"$program" manual wrap | grep -q TAQUIN_REPORT || fail "wrap: TAQUIN_REPORT is not on its page"
if command -v groff >/dev/null; then
  groff -man -ww -z "$folder"/*.1 2>"$folder"/warnings || true
  [ ! -s "$folder"/warnings ] || { cat "$folder"/warnings; exit 1; }
fi
"$program" manual nothing_of_the_kind 2>&1 | grep -q "no command 'nothing_of_the_kind'; known are list, " || fail "not refused"
echo complete
