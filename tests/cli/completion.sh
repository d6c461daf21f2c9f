#!/usr/bin/env bash
# completion.sh PROGRAM: commands, their flags and algorithms are completed by bash, and by zsh and fish where they are.
set -eu
program=$1
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
expect() {
  [ "$2" = "$3" ] || { echo "$1 completes to '$2', not '$3'"; exit 1; }
}
without=
commands=$("$program" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p')

source <("$program" completion bash)
completed() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _taquin
  echo "${COMPREPLY[*]}"
}
expect bash "$(completed taquin wr)" wrap
expect bash "$(completed taquin run --layo)" --layout
expect bash "$(completed taquin plan -a pairw)" pairwise
expect bash "$(completed taquin run -w zip)" zipf
expect bash "$(completed taquin run --layout pack)" packed
expect bash "$(completed taquin help exp)" explain
behind_launcher() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _taquin_launched
  echo "${COMPREPLY[*]}"
}
expect bash "$(behind_launcher mpirun -n 4 taquin run --layo)" --layout
complete -p mpirun >/dev/null || { echo "nothing is completed behind mpirun"; exit 1; }
for command in $commands; do
  [ -n "$(completed taquin "$command" --help)" ] || { echo "nothing is completed behind $command"; exit 1; }
done

if command -v fish >/dev/null; then
  "$program" completion fish >"$work/taquin.fish"
  by_fish() {
    HOME=$work XDG_CONFIG_HOME=$work fish --no-config -c "source $work/taquin.fish; complete -C '$1'" |
      cut -f 1 | paste -s -d ' '
  }
  expect fish "$(by_fish 'taquin wr')" wrap
  expect fish "$(by_fish 'taquin run --layo')" --layout
  expect fish "$(by_fish 'taquin plan -a pairw')" pairwise
  expect fish "$(by_fish 'mpirun -n 4 taquin run --layo')" --layout
  for command in $commands; do expect fish "$(by_fish "taquin $command --hel")" --help; done
else
  without=" without fish"
fi

if command -v zsh >/dev/null; then
  # As a shell reads it, and as a function in zsh's path, whose first use must complete as well.
  mkdir "$work/functions"
  "$program" completion zsh >"$work/functions/_taquin"
  for how in read function; do
    for line in "taquin wr=taquin wrap" "taquin run --layo=taquin run --layout" \
      "taquin plan -a pairw=taquin plan -a pairwise" "taquin run -a spread_=taquin run -a spread_out" \
      "mpirun -n 4 taquin run --layo=mpirun -n 4 taquin run --layout"; do
      expect "zsh, $how" "$(zsh -f "$here/completion.zsh" "$how" "$work/functions" "${line%%=*}")" "${line#*=}"
    done
  done
else
  without="$without without zsh"
fi
echo "completed$without"
