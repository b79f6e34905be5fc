#!/usr/bin/env bash
# The job scripts on a real Slurm of ten nodes, all at once: time limits and requeues on 2 and on 3 nodes, a lost node, a bad scene, a
# launcher that fails, cancelled jobs, a chain, a sweep, scaling studies. Every end is that of the run that nobody disturbed, bit for bit.
#   test_jobs.sh FIRN MPIEXEC
# Exit code 77 (skipped) where there is no Slurm to start, or no root to start it; tests/run.sh installs one, and names this
# test at its end where that was not possible.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
jobs=$(cd "$here/../../jobs" && pwd)
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
cluster_up "$work/slurm" 10 2 2 || {
  fail "Slurm is there and does not come up: $(cat "$work"/slurm/log/*.log 2>/dev/null | grep -i -E 'error|fatal' | tail -n 1)"
  exit 1
}
export OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo # ranks of two nodes talk through TCP
export FIRN=$firn

small_scene | sed 's/end: 0.05/end: 0.025/' >s.yml
arguments=(s.yml --threads 1)
long=(s.yml --threads 1 --set 'snow.0.velocity=[1, -1, 0.3]' --set time.end=0.15 --set checkpoint.steps=3)

# firn, but each of the first starts is cut short: as many as LIMITS says.
cat >limited.sh <<END
#!/bin/sh
[ "\${SLURM_RESTART_COUNT:-0}" -ge "\${LIMITS:-0}" ] || set -- "\$@" --wall-limit 0.1 --set checkpoint.margin=0
exec "$firn" "\$@"
END
# firn, and the first job of a chain is cut short.
cat >first.sh <<END
#!/bin/sh
[ -e chained ] || [ "\$SLURM_PROCID" != 0 ] || : >chained.new
[ -e chained ] || set -- "\$@" --wall-limit 0.1 --set checkpoint.margin=0
exec "$firn" "\$@"
END
chmod +x limited.sh first.sh
submit() { # LOG SBATCH-OPTIONS... -- ARGUMENTS...
  local log=$1 options=()
  shift
  while [ "$1" != -- ]; do options+=("$1") && shift; done
  sbatch --parsable -o "$log" "${options[@]}" "$jobs/firn.slurm" "${@:2}"
}

# All jobs go into the queue together; what they are compared with is computed meanwhile.
two=$(FIRN=$work/limited.sh LIMITS=2 submit two.log -N 2 --ntasks-per-node=1 -- "${arguments[@]}" --output two)
three=$(FIRN=$work/limited.sh LIMITS=2 submit three.log -N 3 --ntasks-per-node=1 -- "${arguments[@]}" --output three)
lost=$(submit lost.log -p pair1 -N 1-2 -c 2 -- "${long[@]}" --output lost)
torn=$(OMPI_MCA_odls_base_sigkill_timeout=1 FIRN_LAUNCH=mpirun submit torn.log -p pair2 -N 1-2 -c 2 -- "${long[@]}" --output torn)
bad=$(submit bad.log -N 1 -n 2 -- s.yml --set tiem.end=1) || exit 1
bad_job=$bad bad=0
expect 0 1 ref.log "${arguments[@]}" --output ref
for log in lost.log torn.log; do
  cluster_wait 60 grep -q '^checkpoint ' $log || { fail "a long run does not start" && show $log; }
done
cluster_lose "$work/slurm" n8
cluster_lose "$work/slurm" n10
expect 0 1 long.log "${long[@]}" --output long

check_requeued() { # JOB LOG OUT
  local state
  state=$(cluster_finished "$1" 200)
  [ "$state" = COMPLETED ] || { fail "job $1 is $state" && show "$2"; }
  says "$2" 'stopped by the time limit'
  says "$2" 'firn.slurm: exit code 85 after 1 starts: once more'
  says "$2" 'firn.slurm: exit code 85 after 2 starts: once more'
  [ "$(grep -c '^continuing from ' "$2")" -eq 2 ] || { fail "$2 does not go on twice" && show "$2"; }
  says "$2" 'firn.slurm: done'
  same ref "$3"
}
check_requeued "$two" two.log two
says two.log 'firn.slurm: 2 ranks of [0-9]+ threads on 2 nodes, by srun'
check_requeued "$three" three.log three
says three.log 'on 3 ranks'

# A bad scene: at once, with the reason, not again.
[ "$(cluster_finished "$bad_job" 60)" = FAILED ] || { fail "the bad scene's job is not FAILED" && show bad.log; }
says bad.log "did you mean 'time'"
says bad.log 'firn.slurm: firn ended with exit code 1'

# A lost node: requeued on what is left, with fewer ranks. Under srun by Slurm itself; mpirun notices before Slurm does.
for run in "$lost lost" "$torn torn"; do
  name=${run#* } state=$(cluster_finished "${run% *}" 200)
  [ "$state" = COMPLETED ] || { fail "the run that lost a node ($name) is $state" && show "$name.log"; }
  says "$name.log" 'firn.slurm: 2 ranks of 2 threads on 2 nodes'
  says "$name.log" 'firn.slurm: 1 ranks of 2 threads on 1 nodes'
  says "$name.log" '^continuing from '
  same long "$name"
done
says torn.log 'firn.slurm: exit code [12][0-9][0-9] after 1 starts: once more'

# Jobs that are cancelled while they run write a checkpoint and stay cancelled: alone under srun and mpirun, in an array, in a chain,
# and after a requeue. One whose steps alone get a signal ends in the same way.
endless=("${long[@]}" --set time.end=60 --set time.frame_rate=1000)
by_srun=$(submit by_srun.log -N 2 --ntasks-per-node=1 -- "${endless[@]}" --output by_srun)
by_mpirun=$(FIRN_LAUNCH=mpirun submit by_mpirun.log -N 1 -n 1 -- "${endless[@]}" --output by_mpirun)
array=$(submit array.log -N 1 -n 1 --array=7 -- "${endless[@]}" --output array)
again=$(FIRN=$work/limited.sh LIMITS=1 submit again.log -N 1 -n 1 -- "${endless[@]}" --output again)
steps=$(submit steps.log -N 1 -n 1 -- "${endless[@]}" --output steps)
(FIRN_LAUNCH=srun "$jobs/chain.sh" 2 -N 1 -n 1 -o links.log -- "${endless[@]}" --output links) >links.out
mapfile -t links < <(sed -n 's/^job \([0-9]*\) is.*/\1/p' links.out)
stepping() { # LOG: it runs; of a job that was requeued, its second start
  [ "$1" != again.log ] || grep -q '^continuing from ' "$1" || return 1
  [ "$(tac "$1" | grep -m 1 -n -E '^(continuing|frame) ' | cut -d: -f2- | cut -c 1-5)" = frame ]
}
for run in by_srun by_mpirun array again steps links; do
  cluster_wait 200 stepping $run.log || { fail "the job to be cancelled does not run: $run" && show $run.log; }
done
scancel "$by_srun" "$by_mpirun" "${array}_7" "$again" "${links[0]}"
scancel --signal=TERM "$steps"
for run in "$by_srun by_srun" "$by_mpirun by_mpirun" "$array array" "$again again" "${links[0]} links" "${links[1]} links" "$steps steps"; do
  name=${run#* } state=$(cluster_finished "${run% *}" 120)
  case $name:$state in
    steps:FAILED | *:CANCELLED) ;;
    *) fail "the job that was cancelled ($name) is $state" && show "$name.log" ;;
  esac
  says "$name.log" '^stopped by SIG(TERM|USR1) after step '
  says "$name.log" '^firn.slurm: cancelled '
  [ "$name" = again ] || ! grep -q 'once more' "$name.log" || { fail "$name was started again" && show "$name.log"; }
  step=$(sed -n 's/^stopped by .* after step \([0-9]*\).*/\1/p' "$name.log" | tail -n 1)
  [ -e "$(printf '%s/checkpoints/checkpoint_%010d.h5' "$name" "$step")" ] || fail "$name has no checkpoint of step $step"
done
[ "$(grep -c 'once more' again.log)" -eq 1 ] || { fail "a requeued job is not cancelled for good" && show again.log; }
# A start that stopped by itself; others may well fail, such as on a network that does not connect.
for log in two.log three.log; do
  awk '/^firn.slurm: [0-9]+ ranks of/ { stopped = 0; error = "" } /^stopped by/ { stopped = 1 } /^srun: error/ { error = $0 }
    /^firn.slurm: exit code/ && stopped && error { print error; bad = 1 } END { exit bad }' $log || fail "srun calls a clean stop an error"
done

# A launcher that never reaches firn: five tries with growing pauses, then the end.
cat >srun <<'END'
#!/bin/sh
case "$*" in *--mpi=list*) echo pmix ;; *) exit 1 ;; esac
END
chmod +x srun
never=$(PATH=$work:$PATH FIRN_START_PAUSE=1 submit never.log -N 1 -n 1 --export=ALL -- s.yml --output never)

# A chain of three: the first is cut short, the second ends the run and cancels the third. mpirun in place of srun.
(cd "$work" && FIRN=$work/first.sh FIRN_LAUNCH=mpirun "$jobs/chain.sh" 3 -N 2 --ntasks-per-node=1 -o chain.log -- "${arguments[@]}" --output chain) >chain.out
mapfile -t chain < <(sed -n 's/^job \([0-9]*\) is.*/\1/p' chain.out)
(cluster_finished "${chain[0]}" 120 >/dev/null && mv chained.new chained) &
marker=$!

# A sweep of four and studies of 1, 2 and 4 tasks, meanwhile.
FIRN_SBATCH="-n 2" "$jobs/sweep.sh" s.yml -o sweep bodies.floor.friction=0.1,0.9 snow.0.per_cell=4,6 -- --threads 1 >sweep.out 2>&1 || { fail sweep.sh && show sweep.out; }
"$jobs/scaling.sh" strong s.yml -o strong --ranks 1,2,4 -- --threads 1 >strong.out 2>&1 || { fail "scaling.sh strong" && show strong.out; }
"$jobs/scaling.sh" weak s.yml -o weak --ranks 1,2,4 -- --threads 1 --set time.end=0.0125 >weak.out 2>&1 || { fail "scaling.sh weak" && show weak.out; }
for study in sweep strong weak; do
  cluster_wait 150 grep -q . $study/collect.log && cluster_wait 20 test -s $study/results.csv || { fail "$study: no table" && show $study.out; }
done
cluster_wait 100 cluster_empty || fail "jobs are left: $(squeue -h)"
[ "$(grep -c ',done,' sweep/results.csv)" -eq 4 ] || { fail "the sweep is not done" && show sweep/results.csv; }
[ -s sweep/sheet.png ] || { fail "the sweep has no sheet" && show sweep/collect.log; }
says strong/collect.log 'frames: 3 of 3 runs that share a scene with another have the same bits'
says weak/collect.log 'frames: 6 of 6 runs that share a scene with another have the same bits'
[ "$(cut -d, -f2 strong/results.csv | tr '\n' ' ')" = 'ranks 1 2 4 ' ] || { fail "the strong table" && show strong/results.csv; }
plotted strong 3 'frames: the same bits \(3 of 3 runs compared\)'
plotted weak 3 'frames: the same bits \(6 of 6 runs compared\)'
same ref strong/run_002

[ "$(cluster_finished "$never" 250)" = FAILED ] || { fail "the job whose launcher fails is $(cluster_finished "$never" 1)" && show never.log; }
says never.log 'firn.slurm: srun failed 5 times in a row before firn started'
says never.log 'firn.slurm: firn did not start; the next try is in 8 s'
rm -f srun
wait $marker
[ "$(cluster_finished "${chain[1]}" 30)" = COMPLETED ] || { fail "the chain's second job" && show chain.log; }
[ "$(cluster_finished "${chain[2]}" 30)" = CANCELLED ] || { fail "the chain's third job is $(cluster_finished "${chain[2]}" 1)" && show chain.log; }
says chain.log 'firn.slurm: exit code 85: the next job of the chain goes on'
says chain.log 'firn.slurm: 2 ranks of [0-9]+ threads on 2 nodes, by mpirun'
same ref chain
finish jobs
