#!/usr/bin/env bash
# JP is J_P in every file, also of materials that keep its logarithm; a checkpoint as `snow: file:` begins with the state that it
# holds. usage: test_plastic.sh FIRN MPIEXEC
set -uo pipefail
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
cat >sand.yml <<'END'
domain: {lower: [0, 0, 0], cells: [20, 12, 12], spacing: 0.01}
time: {end: 0.02, frame_rate: 100, max_step: 4e-4}
materials: {sand: {model: sand}, snow: {model: snow}}
snow:
  - {box: {lower: [0.03, 0.03, 0.03], upper: [0.07, 0.08, 0.08]}, material: sand, velocity: [3, -3, 0]}
  - {box: {lower: [0.09, 0.03, 0.03], upper: [0.13, 0.08, 0.08]}, material: snow, velocity: [-6, -3, 0]}
bodies: {floor: {plane: {point: [0, 0.025, 0], normal: [0, 1, 0]}}}
output: {fields: [mass, jp, fe, material], precision: f64}
checkpoint: {frames: 1, keep: 3}
END
expect 0 2 log.txt sand.yml --output out/a --threads 1
last=$(newest out/a)
h5diff -q out/a/frames/frame_000002.h5 "$last" /particles/JP /particles/JP || fail "JP of the frame is not that of the checkpoint"
h5ls "$last/particles" | grep -q '^ln_JP' || fail "the checkpoint does not hold what sand keeps"
h5dump -d /particles/JP "$last" | grep -q -E '^ *\([0-9]+\): .*-[0-9]' && fail "the checkpoint holds a negative JP"

# On from the middle: the same bits.
first=$(find out/a/checkpoints -name 'checkpoint_*.h5' | LC_ALL=C sort | head -n 1)
[ "$first" != "$last" ] || fail "there is one checkpoint only"
expect 0 1 log.txt sand.yml --output out/c --restart "$first" --threads 1
same out/a/frames/frame_000002.h5 out/c/frames/frame_000002.h5

# Its particles as snow of another scene.
expect 0 1 log.txt sand.yml --output out/d --set "snow=[{file: $PWD/$last, material: sand}]" --set time.end=0.0001 --threads 1
h5diff -d 1e-14 out/d/frames/frame_000000.h5 "$last" /particles/JP /particles/JP >diff.log ||
  { fail "a checkpoint as snow begins with another JP" && show diff.log; }
finish plastic
