#!/usr/bin/env bash
# Every file compiles without a warning under the debug preset, where warnings are errors and assertions are in.
#   tests/warnings.sh [build]   with `build`, the whole preset into build/debug; else GCC reads each file as that build would
#                               and makes nothing of it, in a fraction of the time
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cmake --preset debug -DFIRN_WERROR=ON -DFIRN_TESTS=ON >/dev/null
if [ "${1:-}" = build ]; then
  cmake --build --preset debug --parallel 2
  exit
fi
# One command a line, out of its quotes.
commands=$(sed -n 's/^ *"command": "\(.*\)",\{0,1\}$/\1/p' build/debug/compile_commands.json | sed 's/\\\(.\)/\1/g')
count=$(wc -l <<<"$commands")
[ "$count" -gt 200 ] || { echo "warnings.sh: only $count files to compile" >&2 && exit 1; }
cd build/debug
# shellcheck disable=SC2016 # $1 is the inner shell's
xargs -r -P 2 -d '\n' -n 1 bash -c 'eval "$1 -fsyntax-only"' _ <<<"$commands" || exit 1
echo "warnings: $count files, none"
