#!/usr/bin/env bash
# kill -9 of a random rank at random moments, every second one when a file is being written: after each the job ends by
# itself, the run is restarted on another number of ranks, and its end is that of the run that nobody disturbed. A temporary
# file that stays behind shows that the kill came inside a write.
#   test_kill.sh FIRN MPIEXEC [KILLS=8] [SEED]
set -uo pipefail
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
kills=${3:-8} inside=0
RANDOM=${4:-7}

small_scene >s.yml
arguments=(s.yml --set checkpoint.steps=3)
expect 0 1 ref.log "${arguments[@]}" --output ref

# Returns when a file is being written, or the run is over.
wait_for_write() { # LAUNCHER OUT
  until compgen -G "$2/*/*.part" >/dev/null; do
    kill -0 "$1" 2>/dev/null || return
  done
}

for ((k = 1; k <= kills && !bad; k++)); do
  start $((2 + RANDOM % 2)) kill.log "${arguments[@]}" --output out
  wait_started "$launcher" kill.log
  pause_ms $((RANDOM % 600))
  mapfile -t pids < <(ranks_of "$launcher")
  [ $((k % 2)) -eq 0 ] || wait_for_write "$launcher" out
  [ ${#pids[@]} -eq 0 ] || kill -s KILL "${pids[RANDOM % ${#pids[@]}]}" 2>/dev/null
  SECONDS=0
  wait "$launcher"
  code=$?
  [ $SECONDS -lt 20 ] || fail "kill $k: the job took $SECONDS s to end"
  [ $code -ne 0 ] || k=$((k - 1)) # it was over already: that was no kill
  [ $code -eq 0 ] || grep -q -E 'rank [0-9]+|node .* exited' kill.log || { fail "kill $k: nobody names the rank" && show kill.log; }
  [ -z "$(find out -name '*.part' 2>/dev/null)" ] || inside=$((inside + 1))
  expect 0 $((1 + RANDOM % 3)) again.log "${arguments[@]}" --output out --restart auto
  same_run ref out
  rm -rf out
done
echo "$kills kills, $inside of them inside a write"
[ $inside -ge $((kills / 4)) ] || fail "only $inside of $kills kills came inside a write"
finish kill
