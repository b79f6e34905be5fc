#!/usr/bin/env bash
# A fatal error on one rank of a program that uses libfirn: its handler hears it, and MPI_Abort ends all ranks.
#   test_fatal.sh FIRN MPIEXEC
set -uo pipefail
program=$(dirname "$1")/tests/fatal
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
timeout 300 "$mpiexec" -n 2 "$program" >log.txt 2>&1 </dev/null
code=$?
[ $code -eq 3 ] || { fail "exit code $code instead of 3" && show log.txt; }
says log.txt 'heard: firn: fatal on rank 1.*as if memory had run out'
says log.txt 'MPI_Abort with code 3'
[ "$(grep -c 'fatal on rank' log.txt)" -eq 2 ] || { fail "the line is not there once and heard once" && show log.txt; }
finish fatal
