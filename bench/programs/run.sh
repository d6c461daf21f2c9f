#!/bin/sh
# Whole programs, as they are and with taquin underneath, in turn:
#   bench/programs/run.sh build/release RANKS REPETITIONS PROGRAM… > results.txt
# PROGRAM is pwscf, lammps, dgpart or superlu: Debian's packages quantum-espresso (and its -data), lammps, ptscotch,
# libsuperlu-dist-dev; or petsc or boost: programs of the tests, on petsc-dev and libboost-mpi-dev. Each line: program, ranks,
# who does the all-to-all calls (plain: the MPI library, nothing preloaded; preload: taquin, without a report; native: the
# MPI library, observed; taquin: taquin, observed), seconds of the whole mpirun, share of the processors' time that other
# processes took meanwhile, peak=KiB, the most memory of a process (its high-water mark, by GNU time); then, of what is
# observed, seconds from MPI_Init to MPI_Finalize, in all-to-all calls, and of these until the last rank came.
set -eu
build=$(realpath "$1") ranks=$2 repetitions=$3
shift 3
root=$(realpath "$(dirname "$0")/../..")
library=$build/lib/libtaquin_interpose.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1
time=/usr/bin/time
[ -x $time ] || time=

now() { date +%s.%N; }
# Seconds that all processors were busy, and those of this script's children.
busy() { awk '/^cpu / {printf "%.2f", ($2 + $3 + $4 + $7 + $8 + $9) / 100}' /proc/stat; }
own() { awk 'NR == 2 {gsub("m", " "); gsub("s", " "); print 60 * $1 + $2 + 60 * $3 + $4}' cpu_seconds; }
value() { sed -n "s/^taquin: .*$1 *\([0-9.]*\) s.*/\1/p" report; }
run() {
  name=$1 way=$2
  shift 2
  case $way in
    plain) set -- env "$@" ;;
    preload) set -- env LD_PRELOAD="$library" "$@" ;;
    native) set -- env LD_PRELOAD="$library" TAQUIN_REPORT=summary TAQUIN_RECORD=/dev/null "$@" ;;
    taquin) set -- env LD_PRELOAD="$library" TAQUIN_REPORT=summary "$@" ;;
  esac
  rm -f memory
  [ -z "$time" ] || set -- "$time" -a -o "$work/memory" -f %M "$@"
  times > cpu_seconds
  own=$(own) busy=$(busy) begin=$(now)
  mpirun.openmpi -n "$ranks" "$@" > output 2> report || { cat output report >&2; exit 1; }
  end=$(now) busy_end=$(busy)
  times > cpu_seconds
  echo "$name $ranks $way $(echo "$begin $end $busy $busy_end $own $(own) $(getconf _NPROCESSORS_ONLN)" |
    awk '{wall = $2 - $1; others = ($4 - $3 - ($6 - $5)) / wall / $7; printf "%.3f %.2f", wall, (others > 0 ? others : 0)}')" \
    "$([ ! -f memory ] || sort -n memory | sed -n '$s/^/peak=/p') $(value 'ranks,') $(value 'time in them') $(value 'waiting, transfer')"
}

for program; do
  for _ in $(seq "$repetitions"); do
    for way in plain preload native taquin; do
      case $program in
        pwscf) cp "$root/workloads/recordings/silicon.in" . && run pwscf $way pw.x -in silicon.in ;;
        lammps)
          sed 's/0 12 0 12 0 12/0 16 0 16 0 16/; s/subset 2 864/subset 2 2048/; s/mesh 32 32 32/mesh 48 48 48/
            s/^run .*/run 60/' "$root/workloads/recordings/charges.in" > charges.in
          run lammps $way lmp -in charges.in -log none
          ;;
        dgpart)
          [ -f graph.grf ] || awk -v n=60000 -f "$root/workloads/recordings/graph.awk" > graph.grf
          run dgpart $way dgpart -Cd 8 graph.grf graph.map
          ;;
        superlu)
          examples=/usr/lib/x86_64-linux-gnu/superlu-dist/tests/EXAMPLE
          run superlu $way $examples/pddrive -r 2 -c $((ranks / 2)) $examples/big.rua
          ;;
        petsc) run petsc $way "$build/bin/interpose_star_forest" -sf_type neighbor -steps 50000 ;;
        boost) run boost $way "$build/bin/interpose_boost_mpi" 50000 ;;
      esac
    done
  done
done
