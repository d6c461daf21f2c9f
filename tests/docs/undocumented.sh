#!/bin/sh
# undocumented.sh TREE DIRECTORY: the site is refused when a symbol of C++, C, Fortran or Python has no documentation.
set -eu
refused() {  # FILE LINE NAME: with the line put before the last lines of the file
  rm -rf "$work/tree"
  mkdir -p "$work/tree"
  cp -R "$tree/CMakeLists.txt" "$tree/CHANGELOG.md" "$tree/CONTRIBUTING.md" "$tree/DESIGN.md" "$tree/docs" "$tree/fortran" \
    "$tree/include" "$tree/python" "$tree/results" "$work/tree"
  sed -i "$2" "$work/tree/$1"
  if "$work/tree/docs/site/build" "$work/out" >"$work/log" 2>&1 || ! grep -q "$3" "$work/log"; then
    cat "$work/log"
    echo "a symbol without documentation in $1 was not noticed"
    exit 1
  fi
}
tree=$1
work=$2
mkdir -p "$work"
refused include/taquin/plan.hpp 's/^}  .. namespace taquin$/int forgotten(int a);\n&/' forgotten
refused include/taquin/taquin.h 's/^int TAQUIN_Wait.*$/&\nint TAQUIN_Forgotten(void);/' TAQUIN_Forgotten
refused fortran/module.inc '/Completes the exchange. (plan/d' taquin_wait
refused python/taquin/_plan.py '/Waits until this rank.s part of the exchange/d' Plan.wait
