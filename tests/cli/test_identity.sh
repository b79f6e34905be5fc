#!/usr/bin/env bash
# What a scene is: a restart goes on with the same materials, whatever their order, and notices when bodies or snow come in
# another order, or when a file that the scene is made of holds something else.
#   test_identity.sh FIRN MPIEXEC
set -uo pipefail
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"

cat >s.yml <<'END'
domain: {lower: [-0.2, -0.04, -0.08], cells: [40, 20, 16], spacing: 0.01}
time: {end: 0.025, frame_rate: 160, max_step: 4e-4}
materials:
  soft: {young: 5e4, hardening: 5}
  hard: {young: 4e5, density: 600}
snow:
  - {name: left, sphere: {center: [-0.1, 0.035, 0], radius: 0.03}, velocity: [4, -4, 0], per_cell: 6, material: soft}
  - {name: right, sphere: {center: [0.0, 0.035, 0], radius: 0.03}, velocity: [-4, -4, 0], per_cell: 6, material: hard}
bodies:
  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, friction: 0.1}
  wedge: {mesh: {file: wedge.obj}, friction: 0.9}
output: {fields: [mass, density, jp, fe, stress, material], precision: f64}
checkpoint: {steps: 10}
END
wedge() { # HEIGHT
  printf 'v -0.2 -0.02 -0.2\nv 0.2 -0.02 -0.2\nv 0.2 -0.02 0.2\nv -0.2 -0.02 0.2\nv -0.2 0.01 -0.2\nv 0.2 %s -0.2\nv 0.2 %s 0.2\nv -0.2 0.01 0.2\n' "$1" "$1"
  printf 'f 1 2 3 4\nf 8 7 6 5\nf 5 6 2 1\nf 6 7 3 2\nf 7 8 4 3\nf 8 5 1 4\n'
}
wedge 0.02 >wedge.obj
export FIRN_CACHE=$work/cache
half=(--set time.end=0.01)
expect 0 1 ref.log s.yml --output ref
expect 0 1 first.log s.yml --output first "${half[@]}"

again() { # CODE FOLDER SCENE ARGUMENTS...: from the half of the run
  local code=$1 folder=$2 scene=$3
  shift 3
  cp -r first "$folder"
  expect "$code" 2 "$folder.log" "$scene" --output "$folder" --set name=s --restart auto "$@"
}

# Materials are found by their names.
sed '4{h;d};5{G}' s.yml >materials.yml
grep -A 1 '^materials' materials.yml | grep -q hard || fail "the test does not change the order of materials"
again 0 materials materials.yml
says materials.log 'changed meanwhile: order of materials: \[soft, hard\] -> \[hard, soft\]$'
for k in 2 3 4; do # the place in the list is another one; all else is the same
  "$firn" diff ref/frames/frame_00000$k.h5 materials/frames/frame_00000$k.h5 >diff.log 2>&1
  [ "$(grep -c -E '^  [A-Za-z]+:' diff.log)" -eq "$(grep -c -E '^  material:|^  different' diff.log)" ] &&
    [ "$(grep -c -E '^  [A-Z]' diff.log)" -eq 0 ] || { fail "materials in another order change the run" && show diff.log; }
done
cmp -s <(computed ref) <(computed materials) || fail "materials in another order change the history"
# One that particles are of must be there.
sed 's/\bhard\b/firm/' s.yml >gone.yml
again 1 gone gone.yml
again 1 gone2 gone.yml --force
says gone2.log "^firn: .*particle [0-9]+ is of the material 'hard', which the scene no longer has"

# The order of bodies is part of the scene, as is that of snow.
sed '10{h;d};11{G}' s.yml >bodies.yml
again 1 bodies bodies.yml
says bodies.log '^firn: .*order of bodies \(\[floor, wedge\] -> \[wedge, floor\]\).*--force'
again 0 bodies2 bodies.yml --force
sed '7{h;d};8{G}' s.yml >snow.yml
again 1 snow snow.yml
says snow.log 'changed meanwhile: order of snow: \[left, right\] -> \[right, left\]  \(the snow depends on it\)'
says snow.log '^firn: .*--force'

# A file that holds something else is named; one that was only touched, or is reached by another path, is the same.
touch wedge.obj
mkdir elsewhere
cp s.yml wedge.obj elsewhere/
again 0 touched s.yml
same_run ref touched
again 0 moved elsewhere/s.yml
same_run ref moved
wedge 0.021 >wedge.obj
again 1 changed s.yml
says changed.log '^firn: s.yml: 1 file changed since .* the first is wedge.obj; .*--force'
again 0 changed2 s.yml --force
says changed2.log 'changed meanwhile: what the file wedge.obj holds'
"$firn" preview ref/frames/frame_000001.h5 -o p.png --size 64x64 >preview.log 2>&1
says preview.log 'warning: wedge.obj has changed since the frame was written'
# So it is noticed where frames alone say what the scene was.
cp -r ref frames_only
rm -r frames_only/checkpoints
expect 1 1 frames_only.log s.yml --output frames_only --restart auto
says frames_only.log '^firn: .*wedge.obj'

# A particle file: compared where it is, not needed where it is gone.
cp ref/frames/frame_000000.h5 start.h5
cat >from.yml <<'END'
domain: {lower: [-0.2, -0.04, -0.08], cells: [40, 20, 16], spacing: 0.01}
time: {end: 0.01, frame_rate: 160, max_step: 4e-4}
snow: [{file: start.h5}]
bodies: {floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}}
checkpoint: {steps: 10}
END
expect 0 1 from.log from.yml --output from
cp ref/frames/frame_000001.h5 start.h5
expect 1 1 from1.log from.yml --output from --set time.end=0.013 --restart auto
says from1.log '^firn: .*start.h5'
rm start.h5
expect 0 1 from2.log from.yml --output from --set time.end=0.013 --restart auto
# A frame that was damaged is no snow to start from.
cp ref/frames/frame_000000.h5 start.h5
printf 'xyz' | dd of=start.h5 bs=1 seek=20000 conv=notrunc status=none
expect 1 2 from3.log from.yml --output from3
says from3.log '^firn: .*start.h5 is damaged: the rows of'
finish identity
