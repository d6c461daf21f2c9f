#!/bin/sh
# refused.sh SENTENCE COMPILER ARGUMENT…: the compiler gives one error, which has SENTENCE in it.
sentence=$1
shift
errors=$(LC_ALL=C "$@" 2>&1 | grep "error:")
echo "$errors"
[ "$(echo "$errors" | wc -l)" = 1 ] && echo "$errors" | grep -q "$sentence"
