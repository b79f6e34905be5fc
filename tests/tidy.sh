#!/usr/bin/env bash
# clang-tidy finds nothing in the tree (.clang-tidy says what it looks for); about 40 s of one core.
#   tests/tidy.sh [FILE...]      default: all C files of src, io and decomposition
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tests/skip.sh
. tests/skip.sh
if ! command -v clang-tidy-14 >/dev/null || ! command -v clang-14 >/dev/null; then
  skipped "tidy: clang-tidy-14 or clang-14 is not there"
  exit 0
fi
build=build/tidy
cmake -S . -B "$build" -DCMAKE_C_COMPILER=clang-14 -DCMAKE_BUILD_TYPE=Release -DFIRN_TESTS=OFF -DFIRN_OPENVDB=OFF >/dev/null
files=("$@")
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(find src io decomposition -name '*.c' | LC_ALL=C sort)
printf '%s\n' "${files[@]}" | xargs -n 30 -P 2 clang-tidy-14 --quiet -p "$build" 2>/dev/null
echo "tidy: good"
