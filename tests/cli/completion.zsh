# completion.zsh HOW FOLDER LINE: what LINE becomes when Tab is pressed behind it, in a shell with a terminal. HOW: read,
# FOLDER's _taquin is; or function, it is one in zsh's path.
zmodload zsh/zpty
zpty shell "TERM=dumb HOME=$2 zsh -f -i"
ask() { zpty -w shell "$1" }
ask "PS1=ne''xt:"
[[ $1 == function ]] && ask "fpath=($2 \$fpath)"
ask "autoload -Uz compinit && compinit -u -d $2/dump"
[[ $1 == read ]] && ask "source $2/_taquin"
# What is typed is not run: a key shows it between marks.
ask "show() { print -r -- \"<\${BUFFER% }>\"; BUFFER= }; zle -N show; bindkey '^X' show; print rea''dy"
zpty -r shell output '*ready*next:*' || exit 1
zpty -w -n shell "$3"$'\t\x18'
zpty -r shell output '*<*>*' || exit 1
output=${output##*<}
print -r -- "${output%%>*}"
zpty -d shell
