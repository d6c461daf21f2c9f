#!/usr/bin/env bash
# completion.sh PROGRAM: bash completes commands, their flags and algorithms; zsh and fish take what is made for them,
# where they are installed.
set -eu
source <("$1" completion bash)
completed() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _taquin
  echo "${COMPREPLY[*]}"
}
expect() {
  [ "$1" = "$2" ] || { echo "completed to '$1', not '$2'"; exit 1; }
}
expect "$(completed taquin wr)" wrap
expect "$(completed taquin run --layo)" --layout
expect "$(completed taquin plan -a pairw)" pairwise
for command in $("$1" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
  [ -n "$(completed taquin "$command" --help)" ] || { echo "nothing is completed behind $command"; exit 1; }
done
"$1" completion fish | grep -q "seen_subcommand_from tune' -l ranks\|seen_subcommand_from tune' -s o\|seen_subcommand_from tune' -l output"
if command -v fish >/dev/null; then "$1" completion fish | fish --no-execute; fi
if command -v zsh >/dev/null; then "$1" completion zsh | zsh -n; fi
echo completed
