#!/usr/bin/env bash
# Every file compiles without a warning under the debug preset, where warnings are errors and assertions are in.
#   tests/warnings.sh [build]   with `build`, the whole preset into build/debug; else GCC reads each file as that build would
#                               and makes nothing of it, in a fraction of the time
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tests/read_files.sh
. tests/read_files.sh
cmake --preset debug -DFIRN_WERROR=ON -DFIRN_TESTS=ON >/dev/null
if [ "${1:-}" = build ]; then
  cmake --build --preset debug --parallel 2
  exit
fi
read_files build/debug
