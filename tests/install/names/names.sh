#!/bin/sh
# names.sh LIBRARY OBJECT…: whatever LIBRARY shows is used by one of the programs' OBJECTs. Left out is what a program
# cannot name: what templates call, private members, and members of private classes.
set -eu
library=$1
shift
nm -u "$@" | awk '$1 == "U" { print $2 }' | c++filt | LC_ALL=C sort -u >used.txt
nm -D --defined-only "$library" | awk '$2 == "T" { print $3 }' | c++filt | LC_ALL=C sort -u |
  grep -v -e 'taquin::detail::' -e 'taquin::redistribution::state' -e 'redistribute_options const&, char const\*)$' >shown.txt
unused=$(grep -vxF -f used.txt shown.txt) || true
[ -z "$unused" ] || {
  echo "names.cpp and names.c do not use:"
  echo "$unused"
  exit 1
}
