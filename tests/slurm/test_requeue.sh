#!/usr/bin/env bash
# jobs/firn.slurm on a real Slurm with two nodes: a run that is cut short by its own limit, by a signal and by Slurm's limit is
# requeued and goes on until it is done, and its end is that of the run that nobody disturbed.
#   test_requeue.sh FIRN MPIEXEC
# Exit code 77 (skipped) where there is no Slurm to start, or no root to start it.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/slurm/cluster.sh
. "$here/cluster.sh"
# shellcheck source=tests/skip.sh
. "$here/../skip.sh"
lack=$(cluster_lacks)
[ -z "$lack" ] || { skipped "no Slurm: $lack" && exit 77; }
# shellcheck source=tests/cli/tools.sh
. "$here/../cli/tools.sh"
trap 'cluster_down "$work/slurm"; leave' EXIT
trap 'exit 1' INT TERM
chmod 755 "$work" # munged wants its socket within reach of all
cluster_up "$work/slurm" 2 2 || {
  fail "Slurm is there and does not come up: $(cat "$work"/slurm/log/*.log 2>/dev/null | grep -i -E 'error|fatal' | tail -n 1)"
  exit 1
}
export OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo # ranks of two nodes talk through TCP

small_scene >s.yml
arguments=(s.yml --threads 1)
expect 0 1 ref.log "${arguments[@]}" --output ref

# What is run in place of firn: its first start is disturbed, the later ones are not.
cat >first.sh <<END
#!/bin/sh
if [ -z "\${SLURM_RESTART_COUNT:-}" ]; then
  eval "\$FIRST"
fi
exec "$firn" "\$@"
END
chmod +x first.sh
export FIRN=$work/first.sh

# FIRST is what the first start does before firn.
submit() { # FIRST LOG SBATCH-OPTIONS... -- ARGUMENTS...
  local first=$1 log=$2 options=()
  shift 2
  while [ "$1" != -- ]; do options+=("$1") && shift; done
  shift
  FIRST=$first sbatch --parsable -N 2 --ntasks-per-node=1 -o "$log" "${options[@]}" "$here/../../jobs/firn.slurm" "$@"
}
state_of() { # JOB
  squeue -h -t all -j "$1" -o %T 2>/dev/null
}
# Waits until the job has come to its end for good.
finished() { # JOB SECONDS
  local k
  for ((k = 0; k < 10 * $2; k++)); do
    case $(state_of "$1") in COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL | "") return ;; esac
    sleep 1
  done
  fail "job $1 is still $(state_of "$1") after $2 s"
}
check() { # LOG REF OUT PATTERN
  says "$1" "$4"
  says "$1" 'firn.slurm: exit code 85 after 1 starts: once more'
  says "$1" 'continuing from '
  says "$1" 'firn.slurm: done'
  same "$2" "$3"
}

# By its own limit.
job=$(submit 'set -- "$@" --wall-limit 0.1 --set checkpoint.margin=0' limit.log -- "${arguments[@]}" --output limit)
finished "$job" 300
check limit.log ref limit 'stopped by the time limit'

# By a signal to the batch script, as Slurm sends it before the limit, to a run that is long enough to be hit.
long=("${arguments[@]}" --set 'snow.0.velocity=[1, -1, 0.3]' --set time.end=0.15)
expect 0 1 long.log "${long[@]}" --output long
job=$(submit : signal.log -- "${long[@]}" --output signal)
cluster_wait 60 grep -q '^frame ' signal.log
scancel --batch --signal=USR1 "$job"
finished "$job" 300
check signal.log long signal 'stopped by SIGUSR1'

# By Slurm's limit of a minute, which firn sees coming: what is left then is less than the margin.
job=$(submit 'sleep 20; set -- "$@" --set checkpoint.margin=45' clock.log -t 1 --signal=B:USR1@1 -- "${arguments[@]}" --output clock)
finished "$job" 400
check clock.log ref clock 'stopped by the time limit'
finish requeue
