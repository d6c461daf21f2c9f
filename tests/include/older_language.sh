#!/bin/sh
# older_language.sh "COMPILER;ARGUMENT;…" HEADER…: compiled so, each header gives two errors, of which the first says what
# language it needs and the second stops the compiler.
set -eu
command=$1
shift
[ $# -gt 10 ] || { echo "only $# headers"; exit 1; }
for header; do
  errors=$(echo "#include <$header>" | (IFS=';'; LC_ALL=C exec $command -x c++ - 2>&1) | grep "error:" || true)
  [ "$(echo "$errors" | wc -l)" = 2 ] && echo "$errors" | head -n 1 | grep -q "need C++20: compile with -std=c++20" ||
    { echo "$header: $errors"; exit 1; }
done
