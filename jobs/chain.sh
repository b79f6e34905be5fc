#!/usr/bin/env bash
# A run of any length as a chain of jobs, for sites that forbid requeueing: each waits for the one before and goes on where that one
# stopped. The first that ends the run, or fails, cancels the rest.
#   jobs/chain.sh JOBS [OPTIONS OF sbatch, qsub OR flux batch...] -- SCENE.yml [ARGUMENTS OF firn run...]
#   jobs/chain.sh 5 -N 4 -t 12:00:00 -- scene.yml --set time.end=2
# FIRN_SCHEDULER is slurm, pbs or flux; by default the one whose command is there.
set -euo pipefail
jobs=${1:-} options=()
case $jobs in '' | *[!0-9]* | 0) echo "usage: jobs/chain.sh JOBS [OPTIONS OF THE SCHEDULER] -- SCENE.yml [ARGUMENTS]" >&2 && exit 1 ;; esac
shift
while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1") && shift; done
[ $# -ge 2 ] || { echo "chain.sh: no scene behind --" >&2 && exit 1; }
shift
scheduler=${FIRN_SCHEDULER:-}
if [ -z "$scheduler" ]; then
  for pair in sbatch:slurm flux:flux qsub:pbs; do
    command -v "${pair%:*}" >/dev/null && scheduler=${pair#*:} && break
  done
fi
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
script=$folder/firn.$scheduler
FIRN_CHAIN=firn-chain-$(date +%s)-$$
export FIRN_CHAIN
submit() { # JOB THAT COMES BEFORE, ARGUMENTS...
  local before=$1
  shift
  case $scheduler in
    slurm) sbatch --parsable --no-requeue -J "$FIRN_CHAIN" ${before:+--dependency=afterany:$before} "${options[@]}" "$script" "$@" ;;
    pbs) qsub -N "$FIRN_CHAIN" -r n -j oe -V ${before:+-W depend=afterany:$before} "${options[@]}" -- "$script" "$@" ;;
    flux) flux batch --job-name="$FIRN_CHAIN" ${before:+--dependency=afterany:$before} "${options[@]}" "$script" "$@" ;;
    '') echo "chain.sh: neither sbatch nor qsub nor flux is there" >&2 && return 1 ;;
    *) echo "chain.sh: FIRN_SCHEDULER is slurm, pbs or flux, not '$scheduler'" >&2 && return 1 ;;
  esac
}
before=
for ((k = 1; k <= jobs; k++)); do
  before=$(submit "$before" "$@")
  echo "job $before is number $k of $jobs"
done
