#!/bin/sh
# The C++ program in README.md is examples/quick_start.cpp, which is compiled.
set -eu
awk '/^```$/ { on = 0 } on { print } /^```cpp$/ { on = 1 }' "$1/README.md" | diff - "$1/examples/quick_start.cpp"
