#!/usr/bin/env bash
# clang takes the same tree as GCC without warnings, and the fuzz targets, which need it.
#   tests/clang.sh [BUILD_TYPE] [CLANG]
# Without a build type it reads each file as a debug build would, and makes nothing of it. With one (Debug, Release) it builds firn and
# the fuzz targets into build/clang-BUILD_TYPE.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tests/read_files.sh
. tests/read_files.sh
type=${1:-}
build=build/clang-${type,,}
[ -n "$type" ] || build=build/clang-read
cmake -S . -B "$build" -DCMAKE_C_COMPILER="${2:-clang-14}" -DCMAKE_BUILD_TYPE="${type:-Debug}" -DFIRN_WERROR=ON >/dev/null
if [ -z "$type" ]; then
  read_files "$build"
  exit
fi
cmake --build "$build" --parallel 2 --target firn_command fuzz_scene fuzz_files
"$build"/firn --version
