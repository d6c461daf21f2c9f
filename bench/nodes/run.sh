#!/bin/bash
# run.sh BUILD OUT [REPETITIONS]: prepared alltoalls between hosts in network namespaces at 1 Gbit/s, with the programs in
# BUILD/bin (Open MPI), into OUT/*.json, drawn as OUT/*.svg. EXPERIMENTS limits it to some of:
#   distributions  ranks on six hosts: regular, organ pipe, alternating full and small, random
#   clusters       hosts 1,4,2,8, 1,3,2,4,1,2 and 2,2,2,2
#   ports          hierarchical_factor with k ports, 256 KiB per pair
# Needs root, iproute2, jq and gnuplot.
set -eu
build=$(readlink -f "$1") repetitions=${3:-11}
mkdir -p "$2"
out=$(readlink -f "$2") here=$(dirname "$(readlink -f "$0")")
hosts=$here/../../testbed/hosts
export HOSTS_SHIM=$build/lib/libtaquin_ranks_shim.so
record=$(mktemp)
trap 'rm -f "$record"' EXIT

# exchange RANKS-PER-HOST BYTES REPETITIONS LABELS ARGUMENTS…: records with the labels (a JSON object) added
exchange() {
  local spec=$1 bytes=$2 count=$3 labels=$4
  shift 4
  "$hosts" openmpi "$spec" "$build/bin/taquin" run -b "$bytes" --per-pair --collective alltoall --persistent \
    --reps "$count" --json "$record" "$@" > /dev/null 2>> "$out/errors" || { cat "$out/errors" >&2; return 1; }
  jq -c --argjson labels "$labels" --arg spec "$spec" --argjson bytes "$bytes" \
    '.[] | . + $labels + {hosts: $spec, bytes_per_pair: $bytes}' "$record"
}

sweep() { # RANKS-PER-HOST LABELS
  for bytes in 8 64 1024 4096 16384 65536; do
    exchange "$1" $bytes "$repetitions" "$2" -a spread_out,node_aggregated,bruck_v,hierarchical_factor,multilevel
  done
  exchange "$1" 262144 $(((repetitions + 1) / 2)) "$2" -a spread_out,node_aggregated,hierarchical_factor,multilevel
}
ports() {
  for k in 1 2 4 8 16 30; do
    exchange 1,4,2,8 262144 $(((repetitions + 1) / 2)) "{\"ports\": $k}" -a hierarchical_factor --ports $k
  done
}
export -f exchange sweep ports
export hosts build out record repetitions
on() { "$hosts" with "$1" 1gbit bash -euc "$2"; } # N COMMANDS

for e in ${EXPERIMENTS:-distributions clusters ports}; do
  case $e in
  distributions)
    on 6 'sweep 2,2,2,2,2,2 "{\"name\": \"regular\"}"; sweep 1,2,4,4,2,1 "{\"name\": \"organ pipe\"}"
      sweep 4,1,4,1,4,1 "{\"name\": \"alternating\"}"; sweep 1,3,2,4,1,2 "{\"name\": \"random\"}"' ;;
  clusters)
    on 4 'sweep 1,4,2,8 "{}"; sweep 2,2,2,2 "{}"'
    on 6 'sweep 1,3,2,4,1,2 "{}"' ;;
  ports) on 4 ports ;;
  esac | jq -s . > "$out/$e.json"
done
rm -f "$out/errors"
gnuplot -e "dir='$out'" "$here/plot.gp"
