#!/usr/bin/env bash
# A run of any length as Flux jobs of a limited one.
#
#   flux batch -N 4 -t 12h jobs/firn.flux SCENE.yml [ARGUMENTS OF firn run...]
#   FIRN_SCHEDULER=flux jobs/chain.sh 5 -N 4 -t 12h -- SCENE.yml      # longer than one job
#   flux batch -N 4 jobs/firn.flux --study FOLDER RUN                 # a run of a study
#
# A rank a socket with all its cores; FIRN_RANKS says another number. flux run starts them.
#
# Firn stops by itself before the job's limit, with a checkpoint and code 85. In a chain (chain.sh) the next job then continues.
# A run that three starts in a row brought no further is given up. Any other code is an error, said in the job's output, or the end.
# Flux does not start a job twice, so that a single one ends there: submit it again, or use a chain. flux cancel ends the job for good:
# the run writes a checkpoint (kill-timeout of Flux is its time), and a chain ends with it.
#
# FIRN is the program, FIRN_LAUNCH flux or mpirun. FIRN_CHAIN is set by chain.sh.
#flux: --job-name=firn
#flux: --output=firn-{{id}}.log
#
# Made by packaging/jobs/make.sh; change its templates.
set -uo pipefail
job=${FLUX_ENCLOSING_ID:-} task='' restarts=0 tasks='' per_task='' nodes=1 cpus=$(nproc)
[ -n "$job" ] || job=$(flux getattr jobid 2>/dev/null)
if [ -n "$job" ]; then
  nodes=$(flux resource list -n -s all -o '{nnodes}') cores=$(flux resource list -n -s all -o '{ncores}')
  cpus=$((cores / nodes))
fi
firn=${FIRN:-firn} most=${FIRN_MOST_RESTARTS:-1000}
say() { echo "firn.flux: $*" >&2; }
[ $# -ge 1 ] || { say "usage: flux batch [OPTIONS] jobs/firn.flux SCENE.yml [ARGUMENTS]" && exit 1; }
command -v "$firn" >/dev/null || { say "'$firn' is not there; set FIRN=/path/to/firn" && exit 1; }

# A run of a study has its own arguments, and may have its own number of ranks.
ranks=${tasks:-${FIRN_RANKS:-}}
if [ "$1" = --study ]; then
  folder=${2:-} run=${task:-${3:-}}
  words=$("$firn" study arguments "$folder" "$run") || exit 1
  own=$("$firn" study list "$folder" | awk -v run="$run" '$1 == run { print $2 }')
  [ "${own:-0}" -eq 0 ] || ranks=$own
  mapfile -t words <<<"$words"
  set -- "${words[@]}"
fi

# Ranks a node, and threads a rank.
if [ -z "$ranks" ]; then
  here=$((cpus / ${per_task:-$cpus}))
  [ -n "$per_task" ] || here=$(lscpu -p=SOCKET 2>/dev/null | grep -v '^#' | sort -u | wc -l)
  [ "$here" -ge 1 ] && [ "$here" -le "$cpus" ] || here=1
  ranks=$((nodes * here))
fi
here=$(((ranks + nodes - 1) / nodes))
threads=${per_task:-$((cpus / here > 1 ? cpus / here : 1))}

launch=${FIRN_LAUNCH:-}
if [ -z "$launch" ]; then
  launch=mpirun
  [ -z "$job" ] || launch=flux
fi
case $launch in
  flux) start=(flux run -N "$nodes" -n "$ranks" -c "$threads" -o cpu-affinity=per-task) ;;
  mpirun) start=(mpirun -n "$ranks") && [ -z "$job" ] || start+=(--map-by "ppr:$here:node:PE=$threads") ;;
  *) say "FIRN_LAUNCH is flux or mpirun, not '$launch'" && exit 1 ;;
esac

job_end=0
if [ -n "$job" ]; then
  left=$(flux job timeleft 2>/dev/null) # 4294967295: there is no limit
  [ -z "$left" ] || [ "$left" -ge 4294967295 ] || job_end=$(($(date +%s) + left))
  [ "$job_end" -eq 0 ] || export FIRN_JOB_END=$job_end
fi

# Firn says here that it has started, and later with which code it stops with a checkpoint: as an exit code of the ranks, srun and
# mpirun would call that an error. The count of starts that failed before Firn began outlives a requeue.
note=$PWD/.firn-${job:-$$}${task:+_$task}.note
failed=$note.starts
export FIRN_NOTE=$note
rm -f "$note"

tell() { # SIGNAL: to the launcher, which hands it to all ranks
  case $launch in
    flux) flux job killall -f -s "$1" 2>/dev/null ;;
    *) kill -s "$1" $step 2>/dev/null ;;
  esac
}

# The script gets the warning and hands it on. The scheduler sends it two minutes before the limit, or earlier. If a twentieth of the
# limit is less, the signal waits for that moment.
hand_on() {
  local now margin
  now=$(date +%s)
  margin=$(((job_end - begun) / 20))
  [ $margin -ge 15 ] || margin=15
  if [ $((job_end - now)) -gt $margin ] && [ $margin -lt 120 ]; then
    (sleep $((job_end - now - margin)) && tell USR1) &
  else
    tell USR1
  fi
}
# flux cancel ends the instance of the job, which sends SIGHUP to this script. The ranks stop by themselves, with a checkpoint.
cancel() {
  cancelled=1
  if [ "$launch" = mpirun ]; then tell USR1; else tell TERM; fi
}
if [ "$launch" = mpirun ] && env --block-signal=TERM true 2>/dev/null; then start=(env --block-signal=TERM "${start[@]}"); fi
export OMPI_MCA_odls_base_sigkill_timeout=${OMPI_MCA_odls_base_sigkill_timeout:-30}

say "$ranks ranks of $threads threads on $nodes nodes, by $launch"
begun=$(date +%s) cancelled=
"${start[@]}" "$firn" run "$@" --restart auto --give-up 3 &
step=$!
trap hand_on USR1
trap cancel TERM HUP
wait $step
code=$?
while kill -0 $step 2>/dev/null; do # a trapped signal ends wait, not the run
  wait $step
  code=$?
done

reached=$(cat "$note" 2>/dev/null)
rm -f "$note"
case $reached in [0-9]*) [ $code -ne 0 ] || code=$reached ;; esac
starts=0
if [ -n "$reached" ] || [ $code -eq 0 ]; then
  rm -f "$failed"
elif [ -n "$job" ] && [ -z "$cancelled" ] && [ $code -ne 126 ] && [ $code -ne 127 ]; then # those: no such program
  starts=$(($(cat "$failed" 2>/dev/null || echo 0) + 1))
  echo $starts >"$failed"
fi

again=
if [ -n "$cancelled" ]; then
  [ $code -ne 0 ] || [ -n "$reached" ] || code=143 # srun that is ended while it starts a run calls that a success
elif [ $starts -ge 5 ]; then
  say "$launch failed $starts times in a row before firn started: see the messages above; FIRN_LAUNCH and FIRN_MPI choose another way"
  rm -f "$failed"
elif [ $starts -gt 0 ] || [ $code -eq 85 ] || [ $code -eq 86 ] || [ $code -ge 128 ]; then
  again=1
fi

# Jobs of the same chain that still wait.
others() { flux --parent jobs -n -f pending --name="$FIRN_CHAIN" -o '{id}' 2>/dev/null; }
remove() { flux --parent cancel "$1"; }
requeue() { false; }
if [ -z "$again" ]; then
  if [ -n "$cancelled" ] || [ $code -eq 88 ]; then
    say "cancelled (code $code): submit the job again to continue from its last checkpoint"
  elif [ $code -eq 0 ]; then
    say "done"
  else
    say "firn ended with exit code $code"
  fi
  if [ -n "${FIRN_CHAIN:-}" ]; then
    for other in $(others); do remove "$other"; done # nothing is left for them to do
  fi
elif [ -n "${FIRN_CHAIN:-}" ] && [ -n "$(others)" ]; then
  say "exit code $code: the next job of the chain goes on" && exit 0
elif [ -n "${FIRN_CHAIN:-}" ]; then
  say "exit code $code, and this was the last job of the chain: start another"
elif [ -n "$job" ] && [ "$restarts" -lt "$most" ]; then
  say "exit code $code after $((restarts + 1)) starts: once more"
  if [ $starts -gt 0 ]; then
    pause=$((${FIRN_START_PAUSE:-30} << (starts - 1)))
    say "firn did not start; the next try is in $pause s"
    sleep $pause & # in the allocation: a job that is requeued cannot be given a later start
    wait $!
    [ -z "$cancelled" ] || exit 143
  fi
  requeue && exit 0
  say "it cannot be put into the queue again: submit it once more, or use chain.sh"
elif [ -n "$job" ]; then
  say "exit code $code, and started $most times already: giving up"
fi
exit $code
