#!/bin/sh
# hosts.sh TAQUIN OUT: exchanges of equal blocks between four hosts in network namespaces, each with a link of 50 Mbit/s, by numbers
# of ranks on the hosts; hierarchical_factor with one port and with eight. Needs root and jq.
set -eu
taquin=$1 out=$2
hosts=$(cd "$(dirname "$0")/../../testbed" && pwd)/hosts
run=${RUN:-}  # a command to run each measurement with
part=$(mktemp)
trap 'rm -f "$part" "$part.all"' EXIT
for ranks in 4,4,4,4 1,4,2,8 5,1,1,1 4,1,4,1; do
  for ports in 8 1; do
    $run "$hosts" with 4 50mbit "$hosts" openmpi $ranks "$taquin" run -b 32K --per-pair -a hierarchical_factor,spread_out \
      --ports $ports --reps "${REPETITIONS:-12}" --json "$part"
    jq --arg ranks $ranks --argjson ports $ports 'map(. + {ranks_of_hosts: $ranks, ports: $ports})' "$part" >>"$part.all"
  done
done
jq -s 'add' "$part.all" >"$out/hosts.json"
