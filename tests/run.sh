#!/usr/bin/env bash
# Everything a reviewer would check, in one command:
#   tests/run.sh quick     the subset that takes a minute
#   tests/run.sh           all but the long ones
#   tests/run.sh nightly   the long ones too
# Installs what is missing (and says so first), makes the static checks, which end it at once where they complain, builds
# build/release, and leaves the rest to CTest. Ends with a list of what was not run and why, which is empty on Debian 12
# as root. The exit code is that of the checks, the build or CTest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=jobs/setup.sh
. jobs/setup.sh

what=${1:-all}
case $what in
  quick) selection=(-L quick) ;;
  all) selection=(-LE nightly) ;;
  nightly) selection=() ;;
  *)
    echo "tests/run.sh: unknown selection '$1'; give quick, all or nightly" >&2
    exit 1
    ;;
esac

firn_setup
firn_setup_tests "$what"
FIRN_SKIPPED=$(mktemp) # tests that leave something out add a line each
export FIRN_SKIPPED
trap 'rm -f "$FIRN_SKIPPED"' EXIT
cmake --preset release -DFIRN_TESTS=ON >/dev/null # what goes wrong is on stderr
tests/check.sh build/release
cmake --build --preset release --parallel "$(nproc)"

code=0
# Two places more than cores: many tests mostly wait, for starts, ends and the disk.
ctest --test-dir build/release -j "$(($(nproc) + 2))" --output-on-failure --no-tests=error "${selection[@]}" || code=$?
# Kernels for instructions that the machine does not have are no fault of its set-up, and are named apart.
sets=$(sed -n 's/.*: isa: //p' "$FIRN_SKIPPED" | LC_ALL=C sort -u | paste -s -d ' ')
left=$(grep -v ': isa: ' "$FIRN_SKIPPED" | LC_ALL=C sort -u) || true
[ -z "$sets" ] || echo "kernels not run, since this machine does not have their instructions: $sets"
if [ -n "$left" ]; then
  printf 'not run here:\n%s\n' "$left"
else
  echo "not run here: nothing"
fi
exit $code
