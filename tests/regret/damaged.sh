#!/bin/sh
# damaged.sh PROGRAM FOLDER: a summary of files that hold no records says which file and why, in its own words.
set -eu
program=$1
mkdir -p "$2"
cd "$2"
told() {
  printf '%s' "$1" >records.json
  said=$("$program" --summary records.json 2>&1 >/dev/null) && { echo "'$1' is taken for records"; exit 1; }
  [ "$said" = "bench_regret: $2" ] || { echo "of '$1' it says '$said', not '$2'"; exit 1; }
}
told '' 'records.json: empty file'
told '[{' 'records.json: damaged at byte 3'
told '{}' 'records.json: holds no records'
told '[{}]' "not records of random calls: damaged: there is no field 'family'"
told '[7]' 'not records of random calls: damaged: a field holds another kind of value than it should'
echo told
