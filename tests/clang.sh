#!/usr/bin/env bash
# clang builds the same tree as GCC, without warnings, and the fuzz targets, which need it: into build/clang. What was
# built before is not built again, so it is quick after the first time.
#   tests/clang.sh [BUILD_TYPE=Debug] [CLANG]
# Debug is without optimisation and finds what clang refuses in a quarter of the time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
type=${1:-Debug}
build=build/clang-${type,,}
cmake -S . -B "$build" -DCMAKE_C_COMPILER="${2:-clang-14}" -DCMAKE_BUILD_TYPE="$type" -DFIRN_WERROR=ON >/dev/null
cmake --build "$build" --parallel 2 --target firn_command fuzz_scene fuzz_files
"$build"/firn --version
