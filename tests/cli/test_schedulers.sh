#!/usr/bin/env bash
# The job scripts for PBS and Flux, with stand-ins for their commands that know the options of the manuals and no others: a chain that
# ends, a limit that firn sees coming, a cancelled job, a launcher that fails. The ends are those of the run that nobody disturbed. Then the warning of a short Slurm job.
#   test_schedulers.sh FIRN MPIEXEC
set -uo pipefail
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
jobs=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../jobs" && pwd)
mkdir queue commands
export QUEUE=$work/queue FIRN=$firn PATH=$work/commands:$(dirname "$mpiexec"):$PATH
unset SLURM_JOB_ID SLURM_JOB_END_TIME FIRN_JOB_END OMP_NUM_THREADS
small_scene | sed 's/end: 0.05/end: 0.025/' >s.yml
arguments=(s.yml --threads 1)
expect 0 1 ref.log "${arguments[@]}" --output ref

# A queue: for each job the files N.name, N.state (Q, R, F), N.after and N.words. A job's number is N.
cat >commands/common <<'END_OF_COMMON'
die() { echo "$0: $*" >&2; exit 2; }
enqueue() { # NAME AFTER WORDS...
  k=$(find "$QUEUE" -name '*.name' | wc -l) && k=$((k + 1))
  echo "$1" >"$QUEUE/$k.name" && echo Q >"$QUEUE/$k.state" && echo "$2" >"$QUEUE/$k.after"
  shift 2
  printf '%s\n' "$@" >"$QUEUE/$k.words"
}
pending() { # NAME
  for file in "$QUEUE"/*.name; do
    k=$(basename "$file" .name)
    [ "$(cat "$file")" = "$1" ] && [ "$(cat "$QUEUE/$k.state")" = Q ] && echo "$k"
  done
  true
}
END_OF_COMMON
cat >commands/qsub <<'END_OF_QSUB'
#!/bin/bash
. "$(dirname "$0")/common"
name= after=
while getopts 'N:r:j:W:l:J:o:q:A:V' option; do
  case $option in
    N) name=$OPTARG && [ ${#name} -le 236 ] ;;
    W) [[ $OPTARG == depend=afterany:* ]] || die "-W $OPTARG"; after=${OPTARG##*:} ;;
    r) [[ $OPTARG == [yn] ]] || die "-r $OPTARG" ;;
    j) [ "$OPTARG" = oe ] || die "-j $OPTARG" ;;
    l) [[ $OPTARG == select=* || $OPTARG == walltime=* ]] || die "-l $OPTARG" ;;
    \?) die "option" ;;
  esac
done
[ "${!OPTIND}" != x ] && [ "${@:OPTIND-1:1}" = -- ] || die "no program behind --"
shift $((OPTIND - 1))
[ -x "$1" ] || die "$1 cannot be run"
enqueue "$name" "$after" "$@"
echo "$k.server"
END_OF_QSUB
cat >commands/qstat <<'END_OF_QSTAT'
#!/bin/bash
[ "$1" = -f ] || exit 2
printf 'Job Id: %s\n    job_state = R\n    Resource_List.walltime = %s\n    run_count = 1\n' "$2" "${WALLTIME:-01:00:00}"
END_OF_QSTAT
cat >commands/qselect <<'END_OF_QSELECT'
#!/bin/bash
. "$(dirname "$0")/common"
[ "$1" = -N ] && [ "$3" = -s ] && [ "$4" = QHW ] || die "options"
for k in $(pending "$2"); do echo "$k.server"; done
END_OF_QSELECT
cat >commands/qdel <<'END_OF_QDEL'
#!/bin/bash
[[ $1 == *.server ]] || exit 2
echo F >"$QUEUE/${1%.server}.state"
END_OF_QDEL
printf '#!/bin/bash\necho "qrerun: Unauthorized Request $1" >&2\nexit 159\n' >commands/qrerun
cat >commands/flux <<'END_OF_FLUX'
#!/bin/bash
. "$(dirname "$0")/common"
parent=
[ "$1" != --parent ] || { parent=1 && shift; }
case $*:$parent in
  batch*)
    shift
    name= after=
    while [[ $1 == -* ]]; do
      case $1 in
        --job-name=*) name=${1#*=} && shift ;;
        --dependency=afterany:*) after=${1##*:} && shift ;;
        -N | -t | -n | -c) shift 2 ;;
        *) die "$1" ;;
      esac
    done
    enqueue "$name" "$after" "$@"
    echo "f$k"
    ;;
  'resource list -n -s all -o {nnodes}:') echo 1 ;;
  'resource list -n -s all -o {ncores}:') echo 2 ;;
  'job timeleft:') echo "${TIMELEFT:-4294967295}" ;;
  'job killall -f -s '*:) pkill --signal "${5%:}" --pidfile "$QUEUE/flux.pid" ;;
  'jobs -n -f pending --name='*' -o {id}:1')
    name=${5#--name=}
    for k in $(pending "$name"); do echo "f$k"; done
    ;;
  'cancel f'*:1) echo F >"$QUEUE/${2#f}.state" ;;
  run*:)
    shift
    [ "$1 $2 $3 $5 $7 $8" = '-N 1 -n -c -o cpu-affinity=per-task' ] || die "run $*"
    ranks=$4
    shift 8
    mpirun -n "$ranks" "$@" &
    echo $! >"$QUEUE/flux.pid"
    wait $!
    ;;
  *) die "$*" ;;
esac
END_OF_FLUX
chmod +x commands/*

state() { cat "queue/$1.state"; }
# Starts job N as its scheduler would, in the background; sets script (its process).
begin() { # SCHEDULER N LOG VARIABLE=VALUE...
  local words
  mapfile -t words <"queue/$2.words"
  echo R >"queue/$2.state"
  case $1 in
    pbs)
      printf 'node1\nnode1\n' >nodes
      set -- "$@" PBS_JOBID="$2.server" PBS_NODEFILE="$work/nodes" PBS_O_WORKDIR="$work" NCPUS=1 OMP_NUM_THREADS=1
      (cd / && env "${@:4}" "${words[@]}" >"$work/$3" 2>&1) &
      ;;
    flux) env "${@:4}" FLUX_ENCLOSING_ID="f$2" FIRN_RANKS=2 "${words[@]}" >"$3" 2>&1 & ;;
  esac
  script=$!
}
finish_job() { # N: its exit code
  wait "$script"
  code=$?
  echo F >"queue/$1.state"
}

# firn, whose first start is cut short.
cat >first.sh <<END_OF_FIRST
#!/bin/sh
[ -e $work/second ] || set -- "\$@" --wall-limit 0.1 --set checkpoint.margin=0
exec "$firn" "\$@"
END_OF_FIRST
chmod +x first.sh

for scheduler in pbs flux; do
  rm -f queue/* second
  case $scheduler in
    pbs) options=(-l select=1:ncpus=2:mpiprocs=2:ompthreads=1 -l walltime=01:00:00) ;;
    flux) options=(-N 1 -t 1h) ;;
  esac
  # A chain of three: the first is cut short, the second ends the run and takes the third out of the queue.
  FIRN_SCHEDULER=$scheduler "$jobs/chain.sh" 3 "${options[@]}" -- "${arguments[@]}" --output "chain_$scheduler" >chain.out 2>&1 ||
    { fail "chain.sh with $scheduler" && show chain.out; }
  [ "$(find queue -name '*.name' | wc -l)" -eq 3 ] || fail "$scheduler: not three jobs"
  [ "$(tr -d f <queue/3.after | cut -d. -f1)" = 2 ] || fail "$scheduler: the third does not wait for the second"
  FIRN_CHAIN=$(cat queue/1.name)
  export FIRN_CHAIN
  begin $scheduler 1 first.log FIRN="$work/first.sh"
  finish_job 1
  [ $code -eq 0 ] || { fail "$scheduler: exit code $code of the first job" && show first.log; }
  says first.log "^firn.$scheduler: 2 ranks of 1 threads on 1 nodes, by "
  says first.log "^firn.$scheduler: exit code 85: the next job of the chain goes on"
  : >second
  begin $scheduler 2 second.log
  finish_job 2
  says second.log '^continuing from '
  says second.log "^firn.$scheduler: done"
  [ "$(state 3)" = F ] || fail "$scheduler: the third job of the chain stays in the queue"
  same ref "chain_$scheduler"
  says "chain_$scheduler/run.json" '"job": "f?2'
  unset FIRN_CHAIN

  # A limit that firn sees coming, although nobody warns it. A single job cannot go on by itself.
  FIRN_SCHEDULER=$scheduler "$jobs/chain.sh" 1 "${options[@]}" -- "${arguments[@]}" --output "limit_$scheduler" \
    --set time.end=60 --set time.frame_rate=1000 --set checkpoint.margin=30 >chain.out 2>&1
  begin $scheduler 4 limit.log WALLTIME=00:00:33 TIMELEFT=33
  finish_job 4
  [ $code -eq 85 ] || { fail "$scheduler: exit code $code at the limit" && show limit.log; }
  says limit.log '^stopped by the time limit'
  says limit.log "^firn.$scheduler: it cannot be put into the queue again: submit it once more, or use chain.sh"

  # A cancelled job ends with a checkpoint, and says so.
  FIRN_SCHEDULER=$scheduler "$jobs/chain.sh" 1 "${options[@]}" -- "${arguments[@]}" --output "gone_$scheduler" \
    --set time.end=60 --set time.frame_rate=1000 >chain.out 2>&1
  begin $scheduler 5 gone.log
  wait_started "$script" gone.log || { fail "$scheduler: the job to be cancelled does not run" && show gone.log; }
  case $scheduler in
    pbs) kill -s TERM "$(pgrep -P "$script" -f firn.pbs || echo "$script")" ;;
    flux) kill -s HUP "$script" ;;
  esac
  finish_job 5
  says gone.log '^stopped by SIG(TERM|USR1) after step '
  says gone.log "^firn.$scheduler: cancelled "
  [ -n "$(newest "gone_$scheduler")" ] || fail "$scheduler: the cancelled job has no checkpoint"

  # A launcher that never reaches firn is not tried for ever.
  mkdir -p broken && printf '#!/bin/sh\nexit 1\n' >broken/mpirun && chmod +x broken/mpirun
  FIRN_SCHEDULER=$scheduler "$jobs/chain.sh" 1 "${options[@]}" -- s.yml --output never >chain.out 2>&1
  begin $scheduler 6 never.log PATH="$work/broken:$PATH" FIRN_LAUNCH=mpirun FIRN_START_PAUSE=0
  finish_job 6
  [ $code -eq 1 ] || { fail "$scheduler: exit code $code of a launcher that fails" && show never.log; }
  says never.log 'firn did not start; the next try is in 0 s'
  [ ! -e never ] || fail "$scheduler: a folder of a run that did not start"
done

# The warning of a short job comes two minutes before its end, which is at once. The script keeps it until 15 s before the end.
end=$(($(date +%s) + 40))
SLURM_JOB_END_TIME=$end FIRN_RANKS=1 FIRN_LAUNCH=mpirun "$jobs/firn.slurm" s.yml --threads 1 --output warned --set time.end=60 \
  --set time.frame_rate=1000 --wall-limit 1000 >warned.log 2>&1 &
script=$!
wait_started $script warned.log || { fail "the run with a warning does not start" && show warned.log; }
kill -s USR1 $script
wait $script
code=$? now=$(date +%s)
[ $code -eq 85 ] || { fail "exit code $code after a warning" && show warned.log; }
says warned.log '^stopped by SIGUSR1'
[ "$now" -ge $((end - 16)) ] || fail "a warning is obeyed $((end - now)) s before the end"

FIRN_SCHEDULER=loadleveler "$jobs/chain.sh" 1 -- s.yml >unknown.log 2>&1 && fail "an unknown scheduler is accepted"
says unknown.log "FIRN_SCHEDULER is slurm, pbs or flux, not 'loadleveler'"
finish schedulers
