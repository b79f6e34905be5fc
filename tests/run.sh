#!/usr/bin/env bash
# Everything a reviewer would check, in one command:
#   tests/run.sh quick     the subset that takes a minute
#   tests/run.sh           all but the long ones
#   tests/run.sh nightly   the long ones too
# Installs what is missing (and says so first), builds build/release, then leaves the rest to CTest: the static checks
# are tests like any other. The exit code is CTest's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=jobs/setup.sh
. jobs/setup.sh

case ${1:-all} in
  quick) selection=(-L quick) ;;
  all) selection=(-LE nightly) ;;
  nightly) selection=() ;;
  *)
    echo "tests/run.sh: unknown selection '$1'; give quick, all or nightly" >&2
    exit 1
    ;;
esac

firn_setup
cmake --preset release -DFIRN_TESTS=ON >/dev/null # what goes wrong is on stderr
cmake --build --preset release --parallel "$(nproc)"
ctest --test-dir build/release -j2 --output-on-failure --no-tests=error "${selection[@]}"
