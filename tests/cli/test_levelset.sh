#!/usr/bin/env bash
# Bodies from files, end to end: `firn levelset` makes keys from a skeleton and from meshes, the same on one and three
# ranks; a scene with keys, a mesh, terrain and set operations runs to bitwise the same frames on one and three ranks,
# and its pictures can be drawn; broken skeletons and sequences give exit code 1, one line and no file.
#   test_levelset.sh FIRN MPIEXEC
set -uo pipefail
firn=$1 mpiexec=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export FIRN_CACHE=$work/cache

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

refuse() { # expected arguments...
  local expected=$1
  shift
  rm -f bad.h5
  timeout -k 5 600 "$firn" levelset -o bad.h5 "$@" >out 2>err </dev/null
  [ $? -eq 1 ] || fail "levelset $*: not exit code 1: $(cat err)"
  [ "$(wc -l <err)" -eq 1 ] || fail "levelset $*: not one line: $(cat err)"
  grep -q -F -e "$expected" err || fail "levelset $*: no '$expected' in: $(cat err)"
  [ -z "$(ls bad.h5* 2>/dev/null)" ] || fail "levelset $*: left $(ls bad.h5*)"
}

cat >leg.yml <<'END'
spacing: 0.04
rate: 10
end: 0.4
blend: 0.03
bones:
  - name: thigh
    from: [0, 0.5, 0]
    to: [0, 0.3, 0]
    radius: 0.06
    motion: {keys: [{time: 0, move: [-0.1, 0, 0]}, {time: 0.4, move: [0.1, -0.1, 0]}]}
  - name: shin
    parent: thigh
    from: [0, 0.3, 0]
    to: [0, 0.12, 0]
    radius: 0.05
    motion: {keys: [{time: 0}, {time: 0.2, rotate: {axis: [0, 0, 1], degrees: -40}}, {time: 0.4}]}
END
"$firn" levelset -o one.h5 leg.yml >/dev/null 2>err || fail "skeleton: $(cat err)"
"$mpiexec" -n 3 "$firn" levelset -o three.h5 leg.yml >/dev/null 2>err || fail "skeleton on three ranks: $(cat err)"
h5diff one.h5 three.h5 || fail "a skeleton's keys depend on the ranks"

# A scene that names the skeleton itself: keys are made, kept, the same as those of firn levelset, and made again when damaged.
cat >walk.yml <<'END'
domain: {lower: [-0.4, -0.12, -0.24], cells: [20, 14, 12], spacing: 0.04}
time: {end: 0.01, max_step: 1e-3, frame_rate: 100}
snow: [{box: {lower: [-0.28, 0.0, -0.16], upper: [0.3, 0.16, 0.16]}, per_cell: 4}]
bodies: {leg: {levelset: {file: leg.yml}}}
END
sed 's/leg.yml/one.h5/' walk.yml >made.yml
"$firn" run made.yml --quiet --output made >/dev/null 2>err || fail "keys from a file: $(cat err)"
for round in fresh kept damaged nowhere; do
  [ $round != damaged ] || echo noise >"$(ls "$FIRN_CACHE"/keys-*.h5)"
  [ $round != nowhere ] || export FIRN_CACHE=
  "$mpiexec" -n 2 "$firn" run walk.yml --quiet --force --output walk >/dev/null 2>err || fail "skeleton in a scene, $round: $(cat err)"
  [ $round = nowhere ] || [ "$(ls "$FIRN_CACHE"/keys-*.h5 | wc -l)" -eq 1 ] || fail "$round: the keys are not kept"
  "$firn" diff made/frames/frame_000001.h5 walk/frames/frame_000001.h5 >/dev/null || fail "$round: other frames than with firn levelset"
done
export FIRN_CACHE=$work/cache
[ -z "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'firn-keys.h5*' -newer walk.yml 2>/dev/null)" ] || fail "temporary keys are left behind"

cube() { # shift
  awk -v s="$1" 'BEGIN {
    for (i = 0; i < 8; i++) printf "v %g %g %g\n", (i % 2) * 0.2 + s, int(i / 2) % 2 * 0.2, int(i / 4) * 0.2
    print "f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6" }'
}
for k in 0 1 2; do cube "0.$k" >"cube$k.obj"; done
"$firn" levelset -o cube1.h5 --spacing 0.04 --rate 10 cube0.obj cube1.obj cube2.obj >/dev/null 2>err || fail "meshes: $(cat err)"
"$mpiexec" -n 3 "$firn" levelset -o cube3.h5 --spacing 0.04 --rate 10 cube0.obj cube1.obj cube2.obj >/dev/null 2>err ||
  fail "meshes on three ranks: $(cat err)"
h5diff cube1.h5 cube3.h5 || fail "keys of meshes depend on the ranks"
# 0.1 m a tenth of a second is 1 m/s along x, in all of the grid.
h5dump -d /key_000001/velocity -s 0,0,0,0 -c 1,1,1,3 cube1.h5 | grep -q -E '\): (1|0\.99999[0-9]*|1\.00000[0-9]*), 0, 0' ||
  fail "the cube's velocity is not 1 m/s: $(h5dump -d /key_000001/velocity -s 0,0,0,0 -c 1,1,1,3 cube1.h5)"

cat >scene.yml <<'END'
domain: {lower: [-0.4, -0.12, -0.24], cells: [20, 14, 12], spacing: 0.04}
time: {end: 0.05, max_step: 1e-3, frame_rate: 40}
snow:
  - {box: {lower: [-0.28, 0.04, -0.16], upper: [0.3, 0.16, 0.16]}, per_cell: 4}
  - {mesh: {file: cube0.obj, position: [0, 0.2, -0.1], scale: 0.6}, per_cell: 4, velocity: [0, -2, 0]}
bodies:
  land: {heightfield: {center: [0, 0, 0], size: [2, 0.2, 2], form: bumps, height: 0.04, wavelength: 0.3}}
  leg: {levelset: {file: one.h5}, friction: 0.5}
  cube:
    mesh: {file: cube0.obj, position: [-0.3, 0.05, -0.1]}
    motion: {keys: [{time: 0}, {time: 0.1, move: [0.1, 0, 0], rotate: {axis: [0, 1, 0], degrees: 20}}]}
    sticky: true
    sticky_above: 60
  gate: {difference: [{box: {lower: [0.2, 0, -0.2], upper: [0.26, 0.3, 0.2]}}, {cone: {from: [0.1, 0.1, 0], to: [0.4, 0.1, 0], radius: 0.08}}], start: 0.02}
output: {precision: f64}
END
"$firn" check scene.yml >out 2>err || fail "check: $(cat err)"
for n in 1 3; do
  "$mpiexec" -n $n "$firn" run scene.yml --set output.folder=out$n >out 2>err || fail "run on $n ranks: $(tail -n 3 err)"
done
for frame in 0 1 2; do
  "$firn" diff out1/frames/frame_00000$frame.h5 out3/frames/frame_00000$frame.h5 >diff || fail "frame $frame: $(cat diff)"
done
"$firn" preview out1/frames/frame_000002.h5 --scene scene.yml --size 160x90 -o a.png >/dev/null 2>err || fail "preview: $(cat err)"
[ -s a.png ] || fail "no picture"

refuse "No such file" missing.yml
printf 'spacing: 1\nbone: 1\n' >unknown.yml
refuse "unknown key" unknown.yml
cat leg.yml - >touching.yml <<'END'
  - {name: foot, parent: shin, from: [0, 0.12, 0], to: [0.3, 0.12, 0], radius: 0.03}
  - {name: claw, parent: foot, from: [0.3, 0.12, 0], to: [0, 0.45, 0], radius: 0.03}
END
refuse "run into each other" touching.yml
head -n 20 cube1.obj | sed '$d' >fewer.obj
refuse "keep them, in order" --spacing 0.04 --rate 10 cube0.obj fewer.obj
: >empty.obj
refuse "no triangles" --spacing 0.04 --rate 10 empty.obj
refuse "need --spacing and --rate" cube0.obj
refuse "needs a number above 0" --spacing -1 --rate 10 cube0.obj
refuse "too large" --spacing 1e-6 --rate 10 cube0.obj
refuse "without meshes" leg.yml cube0.obj
refuse "without meshes" --scale 0.01 leg.yml
sed 's/^    radius: 0.05/    pivot: [0, 0, 0]\n&/; s/^    motion.*degrees: -40.*//' leg.yml >pivot.yml
refuse "pivot: has no effect on a bone that does not turn" pivot.yml
sed '/- name: shin/,$d' leg.yml >single.yml
refuse "blend: has no effect on a single bone" single.yml
"$firn" levelset -o keys.obj leg.yml 2>err && fail "keys under the name of a mesh"
grep -q 'must end in .h5' err || fail "no word about .h5: $(cat err)"
refuse "unknown option" --colour cube0.obj
echo "levelset: good"
