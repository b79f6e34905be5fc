#!/usr/bin/env bash
# Signals: SIGTERM at 20 random moments, each at a random rank and each in the restart of the one before, and the end is that of
# the run that nobody disturbed. Then SIGUSR1 by way of the launcher, SIGINT once and twice, a signal to one process alone, and
# a rank that stands still.
#   test_signals.sh FIRN MPIEXEC [SEED]
set -uo pipefail
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
RANDOM=${3:-1}

small_scene >s.yml
arguments=(s.yml --set time.end=0.1 --set domain.cells=[80,20,16]) # long enough to keep its snow
expect 0 1 ref.log "${arguments[@]}" --output ref --set checkpoint.frames=1

# Sends a signal to a random rank after some milliseconds; the exit code must be 88, or 0 if the run was faster.
interrupt() { # SIGNAL RANKS MILLISECONDS OUT
  local signal=$1 ranks=$2 pause=$3 out=$4 code pids
  start "$ranks" signal.log "${arguments[@]}" --output "$out" --restart auto
  wait_started "$launcher" signal.log
  pause_ms "$pause"
  mapfile -t pids < <(ranks_of "$launcher")
  [ ${#pids[@]} -gt 0 ] && kill -s "$signal" "${pids[RANDOM % ${#pids[@]}]}" 2>/dev/null
  wait "$launcher"
  code=$?
  case $code in
    88)
      says signal.log "stopped by SIG$signal"
      stopped=$((stopped + 1))
      ;;
    0) says signal.log '^done: |nothing to do' ;;
    *) fail "exit code $code after SIG$signal" && show signal.log ;;
  esac
}

stopped=0 tries=0
while [ $stopped -lt 20 ] && [ $tries -lt 60 ] && [ $bad -eq 0 ]; do
  tries=$((tries + 1))
  interrupt TERM $((1 + RANDOM % 3)) $((RANDOM % 60)) chain
  grep -q 'nothing to do' signal.log && rm -rf chain # it came to its end: once more from the start
done
[ $stopped -ge 20 ] || fail "only $stopped of $tries runs were there to be stopped"
expect 0 2 end.log "${arguments[@]}" --output chain --restart auto
same ref chain
same "$(newest ref)" "$(newest chain)"
cmp -s <(computed ref) <(computed chain) || fail "the history of the chain differs"
[ -z "$(find chain -name '*.part')" ] || fail "half-written files stay"

# SIGUSR1 to the launcher, which hands it on to all ranks: what a batch script does.
start 2 usr1.log "${arguments[@]}" --output usr1
wait_started "$launcher" usr1.log
kill -s USR1 "$launcher"
wait "$launcher"
code=$?
[ $code -eq 85 ] || { fail "exit code $code after SIGUSR1 to the launcher" && show usr1.log; }
says usr1.log 'stopped by SIGUSR1'

# With FIRN_NOTE the code of a stop goes to that file, and the launcher reports no failure.
export FIRN_NOTE=$work/note
start 2 note.log "${arguments[@]}" --output noted
wait_started "$launcher" note.log
[ "$(cat note)" = started ] || fail "the note of a run that has begun says '$(cat note)'"
kill -s USR1 "$launcher"
wait "$launcher"
code=$?
unset FIRN_NOTE
[ $code -eq 0 ] && [ "$(cat note)" = 85 ] || { fail "exit code $code and the note '$(cat note)' after SIGUSR1" && show note.log; }

# One process without a launcher. Once: a checkpoint. Twice: gone at once, and what was written before stays.
"$firn" run "${arguments[@]}" --output int >int.log 2>&1 &
process=$!
wait_started $process int.log
kill -s INT $process
wait $process
code=$?
[ $code -eq 88 ] || { fail "exit code $code after SIGINT" && show int.log; }
"$firn" run "${arguments[@]}" --output int2 --set output.every=1000 --set time.frame_rate=1 >int2.log 2>&1 &
process=$!
wait_started $process int2.log
kill -s STOP $process # so that both signals are there before the step ends
kill -s INT $process
kill -s CONT $process
kill -s INT $process 2>/dev/null
kill -s INT $process 2>/dev/null
wait $process
code=$?
[ $code -eq 130 ] || [ $code -eq 88 ] || { fail "exit code $code after SIGINT twice" && show int2.log; }
expect 0 2 int3.log "${arguments[@]}" --output int --restart auto
same ref int

# A rank that stands still, as one behind a cut link does: the others notice, say where, and the job ends.
start 2 still.log "${arguments[@]}" --output still --set checkpoint.no_progress=2
wait_started "$launcher" still.log
mapfile -t pids < <(ranks_of "$launcher")
kill -s STOP "${pids[1]:-${pids[0]}}"
SECONDS=0
wait "$launcher"
code=$?
[ $code -eq 86 ] || { fail "exit code $code where a rank stood still" && show still.log; }
[ $SECONDS -lt 300 ] || fail "a rank that stood still held the job for $SECONDS s"
says still.log 'firn: rank [0-9]+ of 2: no progress for [0-9]+ s .* step [0-9]+ in phase "[a-z0-9 ]+"'
finish signals
