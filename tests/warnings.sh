#!/usr/bin/env bash
# Every file compiles without a warning: the debug preset, where warnings are errors, built into build/debug. What was
# built before is not built again, so it is quick after the first time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cmake --preset debug -DFIRN_WERROR=ON -DFIRN_TESTS=ON >/dev/null
cmake --build --preset debug --parallel 2
