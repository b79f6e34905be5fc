#!/usr/bin/env bash
# kill -9: one rank or several at once, at random moments, while a file is there half-written, and inside the operations on
# files themselves (a preloaded library ends the rank before, halfway through or after one of them). After each the job ends by
# itself; every second time the restart is killed as well; then the run is restarted on another number of ranks, and its end is
# that of the run that nobody disturbed. One in five is a forced start in the folder of another run: whenever it dies, that run
# is whole, in its place or set aside, until the new one is complete. Both writers take turns.
#   test_kill.sh FIRN MPIEXEC [KILLS=12] [SEED]
set -uo pipefail
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
kills=${3:-12} seed=${4:-7} inside=0 several=0 restarts=0 forced=0 none=0
killer=$(dirname "$firn")/tests/libkiller.so
[ -e "$killer" ] || { echo "FAIL: $killer is not there; build it first" >&2 && exit 1; }
RANDOM=$seed
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0

small_scene | sed 's/end: 0.05/end: 0.025/' >s.yml
sed 's/radius: 0.04/radius: 0.03/' s.yml >old.yml
arguments=(s.yml --threads 1 --set checkpoint.steps=3)
expect 0 1 ref.log "${arguments[@]}" --output ref
expect 0 1 old.log old.yml --threads 1 --set time.end=0.01 --set checkpoint.steps=10 --output old
writers=(parallel_hdf5 direct)
for w in 0 1; do # operations of rank r with writer w
  rm -rf counted
  KILLER_UNDER=/counted KILLER_COUNT=$work/count LD_PRELOAD=$killer${LD_PRELOAD:+:$LD_PRELOAD} expect 0 3 count.log "${arguments[@]}" --set output.writer=${writers[w]} --output counted
  same_run ref counted
  for r in 0 1 2; do operations[3 * w + r]=$(cat count.$r); done
  [ "${operations[3 * w]}" -gt 500 ] && [ "${operations[3 * w + 1]}" -gt 50 ] || fail "the killer counts ${operations[*]} operations on files"
done

contents() { # FOLDER: checksums of its files, without their places
  find "$1" -type f ! -name 'generation_*' -exec cksum {} + | cut -d' ' -f1,2 | LC_ALL=C sort
}
old=$(contents old)
is_complete() { # of the new run in out
  [ -e out/frames/frame_000004.h5 ] && "$firn" info "$(newest out)" 2>/dev/null | grep -q '^  finished *1$'
}
# The run that a forced start found is whole as long as the new one is not.
old_is_safe() {
  [ -z "$(comm -23 <(echo "$old") <(contents out))" ] || is_complete || { fail "files of the replaced run are gone" && find out >&2; }
}

wait_for_write() { # LAUNCHER OUT: returns when a file is being written, or the run is over
  until compgen -G "$2/*/*.part" >/dev/null; do
    kill -0 "$1" 2>/dev/null || return
  done
}
some_of() { # PIDS...: one of them, or a few
  local pid count=1
  [ $((RANDOM % 3)) -ne 0 ] || count=$#
  for pid in "${@:1:count}"; do echo "$pid"; done
}
# One killed start. Sets code; died counts the ranks that were to die.
strike() { # HOW RANKS ARGUMENTS...
  local how=$1 ranks=$2 at="" r pids victims w=$((RANDOM % 2))
  shift 2
  set -- "$@" --set output.writer=${writers[w]}
  if [ "$how" = operation ]; then
    for ((r = 0; r < ranks; r++)); do
      # Rank 0 does most to files; the others only write their rows.
      [ $((RANDOM % 2)) -eq 0 ] || at+="$r:$((1 + (RANDOM * 32768 + RANDOM) % operations[3 * w + r])),"
    done
    [ -n "$at" ] || at="0:$((1 + (RANDOM * 32768 + RANDOM) % operations[3 * w])),"
    [[ $at != *,*, ]] || several=$((several + 1))
    KILLER_UNDER=/out KILLER_AT=$at LD_PRELOAD=$killer${LD_PRELOAD:+:$LD_PRELOAD} start "$ranks" kill.log "$@" --output "$work/out"
  else
    start "$ranks" kill.log "$@" --output out
    wait_started "$launcher" kill.log
    pause_ms $((RANDOM % 500))
    mapfile -t pids < <(ranks_of "$launcher" | shuf --random-source=<(yes $RANDOM))
    [ "$how" = moment ] || wait_for_write "$launcher" out
    mapfile -t victims < <(some_of "${pids[@]}")
    [ ${#victims[@]} -le 1 ] || several=$((several + 1))
    [ ${#pids[@]} -eq 0 ] || kill -s KILL "${victims[@]}" 2>/dev/null
  fi
  SECONDS=0
  wait "$launcher"
  code=$?
  [ "$how" = operation ] || [ $SECONDS -lt 600 ] || fail "the job took $SECONDS s to end after the kill"
  [ $code -eq 0 ] || grep -q -E 'rank [0-9]+|node .* exited' kill.log || { fail "nobody names the rank" && show kill.log; }
}

hows=(operation moment write operation operation)
for ((k = 1, tries = 1; k <= kills && !bad; k++, tries++)); do
  how=${hows[tries % 5]} extra=()
  if [ $((tries % 5)) -eq 4 ]; then
    cp -r old out
    extra=(--force)
  fi
  strike "$how" $((2 + RANDOM % 2)) "${arguments[@]}" "${extra[@]}"
  [ ${#extra[@]} -eq 0 ] || { old_is_safe && forced=$((forced + 1)); }
  if [ $code -eq 0 ]; then # it was over already: that was no kill
    k=$((k - 1)) none=$((none + 1))
  else
    [ -z "$(find out -name '*.part' 2>/dev/null)" ] || inside=$((inside + 1))
    if [ $((RANDOM % 2)) -eq 0 ]; then
      strike operation $((1 + RANDOM % 3)) "${arguments[@]}" "${extra[@]}" --restart auto
      [ $code -eq 0 ] || { restarts=$((restarts + 1)) && k=$((k + 1)); }
      [ ${#extra[@]} -eq 0 ] || old_is_safe
    fi
  fi
  expect 0 $((1 + RANDOM % 3)) again.log "${arguments[@]}" "${extra[@]}" --output out --restart auto
  same_run ref out
  [ -z "$(find out -name 'replaced_*')" ] || fail "what was replaced is still there: $(find out -name 'replaced_*')"
  [ $bad -eq 0 ] || echo "after $k kills, seed $seed, $how" >&2
  rm -rf out
  [ $((tries % 50)) -ne 0 ] || echo "$k kills"
done
echo "$kills kills: $several of several ranks, $inside left a half-written file, $restarts hit a restart, $forced a forced start; $none came too late"
[ $inside -ge $((kills / 6)) ] || fail "only $inside of $kills kills left a half-written file"
finish kill
