#!/usr/bin/env bash
# jobs/firn.slurm on a real Slurm with two nodes: a run that is cut short again and again, by its own limit, by a signal and by Slurm's
# limit, is requeued until it is done, and its end is that of the run that nobody disturbed.
#   test_requeue.sh FIRN MPIEXEC
# Exit code 77 (skipped) where Slurm is not installed or the caller is not root.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/slurm/cluster.sh
. "$here/cluster.sh"
cluster_has || { echo "SKIP: takes root, slurm-wlm and munge" && exit 77; }
# shellcheck source=tests/cli/tools.sh
. "$here/../cli/tools.sh"
trap 'cluster_down "$work/slurm"; leave' EXIT
chmod 755 "$work" # munged wants its socket within reach of all
cluster_up "$work/slurm" 2 2 || { fail "Slurm does not come up: $(tail -n 2 "$work"/slurm/log/*.log)" && exit 1; }
export FIRN=$firn OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo

small_scene >s.yml
arguments=(s.yml --set time.end=0.15 --set checkpoint.margin=1) # ranks of two nodes talk through TCP: that is slow here
expect 0 1 ref.log "${arguments[@]}" --output ref

submit() { # LOG SBATCH-OPTIONS... -- ARGUMENTS...
  local log=$1 options=()
  shift
  while [ "$1" != -- ]; do options+=("$1") && shift; done
  shift
  sbatch --parsable -N 2 --ntasks-per-node=1 -o "$log" "${options[@]}" "$here/../../jobs/firn.slurm" "$@"
}
state_of() { # JOB
  squeue -h -t all -j "$1" -o %T 2>/dev/null
}
# Waits until the job has come to its end for good.
finished() { # JOB SECONDS
  local k
  for ((k = 0; k < $2; k++)); do
    case $(state_of "$1") in COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL | "") return ;; esac
    sleep 1
  done
  fail "job $1 is still $(state_of "$1") after $2 s"
}
check() { # LOG OUT PATTERN
  says "$1" 'firn.slurm: done'
  says "$1" "$3"
  says "$1" 'firn.slurm: exit code 85 after [0-9]+ starts: once more'
  same ref "$2"
}

# By its own limit, in pieces of a few seconds.
job=$(submit limit.log -- "${arguments[@]}" --output limit --wall-limit 12)
finished "$job" 300
check limit.log limit 'stopped by the time limit'

# By a signal to the batch script, as Slurm sends it before the limit.
job=$(submit signal.log -- "${arguments[@]}" --output signal)
cluster_wait 60 grep -q 'frame    1 ' signal.log
scancel --batch --signal=USR1 "$job"
finished "$job" 300
check signal.log signal 'stopped by SIGUSR1'

# By Slurm's limit of a minute, which firn sees coming; the run is made long enough by starting it late.
cat >late.sh <<'END'
#!/bin/sh
sleep 25
exec "$REAL_FIRN" "$@"
END
chmod +x late.sh
job=$(REAL_FIRN=$firn FIRN=$work/late.sh submit clock.log -t 1 -- "${arguments[@]}" --output clock --set checkpoint.margin=33)
finished "$job" 400
says clock.log 'stopped by (the time limit|SIGUSR1)'
same ref clock
finish requeue
