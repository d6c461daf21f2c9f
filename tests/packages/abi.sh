#!/bin/sh
# abi.sh LIBRARY SIZES LIST: the ABI that LIST describes is still there: soname, symbols, sizes of public types. New
# symbols are no break. With UPDATE=1 the list is written.
set -eu
now=$(mktemp)
trap 'rm -f "$now"' EXIT
{
  objdump -p "$1" | awk '$1 == "SONAME" { print "soname " $2 }'
  nm -D --defined-only "$1" | awk '$2 == "T" { print "symbol " $3 }' | LC_ALL=C sort
  "$2"
} >"$now"
if [ "${UPDATE:-0}" = 1 ]; then
  cp "$now" "$3"
  exit 0
fi
gone=$(grep -vxF -f "$now" "$3" | c++filt) || true
[ -z "$gone" ] || {
  echo "the ABI is not what $3 says:"
  echo "$gone"
  echo "Programs that were built with it break. Raise the minor version, and with it the soname; then UPDATE=1 $0."
  exit 1
}
