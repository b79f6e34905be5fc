#!/usr/bin/env bash
# A run of any length as a chain of jobs, for sites that forbid requeueing: each waits for the one before and goes on where that one
# stopped. The first that ends the run, or fails, cancels the rest.
#   jobs/chain.sh JOBS [SBATCH OPTIONS...] -- SCENE.yml [ARGUMENTS OF firn run...]
#   jobs/chain.sh 5 -N 4 -t 12:00:00 -- scene.yml --set time.end=2
set -euo pipefail
jobs=${1:-} options=()
case $jobs in '' | *[!0-9]* | 0) echo "usage: jobs/chain.sh JOBS [SBATCH OPTIONS...] -- SCENE.yml [ARGUMENTS]" >&2 && exit 1 ;; esac
shift
while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1") && shift; done
[ $# -ge 2 ] || { echo "chain.sh: no scene behind --" >&2 && exit 1; }
shift
script=$(dirname "${BASH_SOURCE[0]}")/firn.slurm
FIRN_CHAIN=firn-chain-$(date +%s)-$$
export FIRN_CHAIN
before=
for ((k = 1; k <= jobs; k++)); do
  before=$(sbatch --parsable --no-requeue -J "$FIRN_CHAIN" ${before:+--dependency=afterany:$before} "${options[@]}" "$script" "$@")
  echo "job $before is number $k of $jobs"
done
