#!/usr/bin/env bash
# What a user sees of the promise: `firn run` on 1 and on 3 ranks, in different folders, writes the same frames and the same history.
#   test_bits.sh FIRN MPIEXEC
set -uo pipefail
firn=$1 mpiexec=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
bad=0

fail() {
  echo "FAIL: $*" >&2
  bad=1
}

command -v h5diff >/dev/null || { echo "FAIL: h5diff is not there; install hdf5-tools" >&2 && exit 1; }

cat >thrown.yml <<'END'
domain: {lower: [-0.3, -0.04, -0.15], cells: [50, 30, 30], spacing: 0.01}
time: {end: 0.04, frame_rate: 100}
snow:
  - sphere: {center: [-0.15, 0.06, 0], radius: 0.05}
    velocity: [7, -3, 0]
    spin: [0, 0, -20]
bodies:
  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, friction: 0.3}
  wall: {plane: {point: [0.08, 0, 0], normal: [-1, 0, 0]}, sticky: true}
output: {fields: [mass, density, jp, fe, stress, material], precision: f64}
END

# run RANKS FOLDER OPTIONS...
run() {
  local ranks=$1 folder=$2
  shift 2
  timeout 1800 "$mpiexec" -n "$ranks" "$firn" run thrown.yml --quiet --output "$folder" "$@" >"$folder.log" 2>&1 ||
    fail "run on $ranks ranks: $(head -c 500 "$folder.log")"
}

# The columns of the history that the scene alone decides: all before the imbalance.
physics() {
  awk -F, -v OFS=, 'NR == 1 { for (last = 1; last <= NF && $last != "imbalance";) last++ } { NF = last - 1; print }' "$1"
}

# same NAME OPTIONS...: runs on 1 and 3 ranks and compares
same() {
  local name=$1 frame count=0
  shift
  run 1 "one/$name" "$@"
  run 3 "deep/er/three_$name" "$@"
  local a=one/$name b=deep/er/three_$name
  "$firn" diff "$a/frames" "$b/frames" >diff.log 2>&1 || fail "$name: firn diff: $(head -c 500 diff.log)"
  grep -q 'the same, bit for bit' diff.log || fail "$name: firn diff compared nothing: $(head -c 500 diff.log)"
  for frame in "$a"/frames/frame_*.h5; do
    count=$((count + 1))
    h5diff "$frame" "$b/frames/${frame##*/}" >h5diff.log 2>&1 || fail "$name: h5diff of ${frame##*/}: $(head -c 500 h5diff.log)"
    [ ! -s h5diff.log ] || fail "$name: h5diff of ${frame##*/} prints $(head -c 500 h5diff.log)"
  done
  [ "$count" -eq 5 ] || fail "$name: $count frames instead of 5"
  cmp <(physics "$a/history.csv") <(physics "$b/history.csv") || fail "$name: the histories differ"
  # Equality proves nothing if nothing happened: there must have been contact and plastic flow.
  physics "$b/history.csv" | awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k; next }
    { contact += $at["contact_nodes"]; plastic += $at["plastic"] }
    END { exit !(NR > 20 && contact > 0 && plastic > 0) }' || fail "$name: no contact or no plastic flow in the history"
}

mkdir -p one deep/er
same implicit
same explicit --set integrator='{scheme: explicit}' --set transfer='{scheme: apic, kernel: quadratic, force: mls}'
same packed --set output.compression=4 --set output.precision=f32

# And the tools tell runs apart that are not the same.
run 3 other --set snow.0.seed=7
"$firn" diff one/implicit/frames other/frames >diff.log 2>&1 && fail "firn diff takes two scenes for the same"
h5diff one/implicit/frames/frame_000004.h5 other/frames/frame_000004.h5 >h5diff.log 2>&1 && fail "h5diff takes two scenes for the same"

[ $bad -eq 0 ] && echo "bits: good"
exit $bad
