# What the tests of whole runs share; sourced with FIRN and MPIEXEC as $1 and $2. Each test works in a folder of its own.
# Processes are ended by their number only: other runs of firn may be alive on the machine.
# shellcheck source=tests/skip.sh
. "$(dirname "${BASH_SOURCE[0]}")/../skip.sh"
firn=$1 mpiexec=$2
patience=1800 # seconds until a process counts as hung: a busy machine may take ten times as long as an idle one
[ -x "$firn" ] || { echo "FAIL: $firn is not there; build it first" >&2 && exit 1; }
work=$(mktemp -d) || exit 1
bad=0
leave() {
  cd /
  [ ! -e "$work/mounted" ] || while read -r place; do umount -l "$place" 2>/dev/null; done <"$work/mounted"
  rm -rf "$work"
}
trap leave EXIT
cd "$work" || exit 1

fail() {
  echo "FAIL: $*" >&2
  bad=1
}
show() { # FILE: its end, for the log of a failed test
  sed 's/^/    | /' "$1" | tail -n 15 >&2
}

# A small ball of snow, thrown onto a floor so that it breaks and flows; about a second on one core.
small_scene() { # > FILE
  cat <<'END'
domain: {lower: [-0.2, -0.04, -0.08], cells: [40, 20, 16], spacing: 0.01}
time: {end: 0.05, frame_rate: 160, max_step: 4e-4}
snow:
  - sphere: {center: [-0.1, 0.05, 0], radius: 0.04}
    velocity: [5, -4, 0.3]
    per_cell: 6
bodies:
  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}
output: {fields: [mass, density, jp, fe, stress, material], precision: f64}
END
}

# run RANKS LOG ARGUMENTS...: firn run, to its end; the exit code is firn's
run() {
  local ranks=$1 log=$2
  shift 2
  timeout $patience "$mpiexec" -n "$ranks" "$firn" run "$@" >"$log" 2>&1 </dev/null
}
expect() { # CODE RANKS LOG ARGUMENTS...
  local code=$1 got
  shift
  run "$@"
  got=$?
  [ "$got" -eq "$code" ] || { fail "exit code $got instead of $code: firn run ${*:3} on $1 ranks" && show "$2"; }
}
says() { # LOG REGEX
  grep -q -E -e "$2" "$1" || { fail "$1 does not say '$2'" && show "$1"; }
}
same() { # A B: frames or states, or folders of them, bit for bit
  "$firn" diff "$1" "$2" >diff.log 2>&1 || { fail "$1 and $2 are not the same" && show diff.log && return 1; }
}
# A scaling study's plots: all panels with their points and ideal lines, and what is said about the bits.
plotted() { # FOLDER POINTS WORDS
  local svg=$1/scaling.svg text
  for text in 'time per step, ms' speed-up efficiency 'phases, ms per step' 'waiting for other ranks, %' 'imbalance: busiest rank / mean' ideal "$3"; do
    says "$svg" ">$text"
  done
  # Five panels have lines with a dot a point, and one in the legend; four of them an ideal line, and one in the legend.
  [ "$(grep -c '<circle' "$svg")" -eq $((5 * ($2 + 1))) ] || fail "$svg has not $2 points a line"
  [ "$(grep -c 'stroke-dasharray' "$svg")" -eq 8 ] || fail "$svg has not its ideal lines"
  [ "$(grep -c '<rect' "$svg")" -gt $((3 * $2)) ] || fail "$svg has no bars"
  [ "$(head -c 4 "$1/scaling.png" | tail -c 3)" = PNG ] || fail "no $1/scaling.png"
}
newest() { # FOLDER: the newest checkpoint by its step
  find "$1/checkpoints" -name 'checkpoint_*.h5' | LC_ALL=C sort | tail -n 1
}
# The history without what the machine adds to it.
computed() { # FOLDER
  awk -F, -v OFS=, 'NR == 1 { for (last = 1; last <= NF && $last != "imbalance";) last++ } { NF = last - 1; print }' "$1/history.csv"
}
same_run() { # A B: frames, last state and history of two finished runs
  same "$1" "$2"
  same "$(newest "$1")" "$(newest "$2")"
  cmp -s <(computed "$1") <(computed "$2") || fail "the histories of $1 and $2 differ"
  [ -z "$(find "$2" -name '*.part')" ] || fail "$2 holds half-written files: $(find "$2" -name '*.part')"
}

# start RANKS LOG ARGUMENTS...: in the background; sets launcher (its process number)
start() {
  local ranks=$1 log=$2
  shift 2
  : >"$log" # now: what an earlier run left there is no sign that this one has begun
  "$mpiexec" -n "$ranks" "$firn" run "$@" >"$log" 2>&1 </dev/null &
  launcher=$!
}
ranks_of() { # LAUNCHER: process numbers of its ranks
  pgrep -P "$1" -x firn
}
# Waits until all ranks of the launcher have begun to step (a line in the log), or it is over.
wait_started() { # LAUNCHER LOG
  until grep -q -E '^(frame|checkpoint) ' "$2" 2>/dev/null; do
    kill -0 "$1" 2>/dev/null || return 1
    sleep 0.01
  done
}
pause_ms() { # MILLISECONDS
  sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"
}
finish() { # NAME
  [ $bad -eq 0 ] && echo "$1: good"
  exit $bad
}
