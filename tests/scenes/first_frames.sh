#!/usr/bin/env bash
# The first steps of every scene give the same bytes on one rank and on three.
#   first_frames.sh FIRN MPIEXEC [SCENE...]
set -uo pipefail
firn=$1 mpiexec=$2
shift 2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/scenes/copy.sh
. "$here/copy.sh"
export FIRN_CACHE=$work/cache # keys of skeletons
scenes=$(copy_scenes "$work") || exit 1
bad=0

fail() {
  echo "FAIL: $*" >&2
  bad=$((bad + 1))
}

run_few_steps() { # scene ranks folder
  "$mpiexec" -n "$2" "$firn" run "$1" --set time.end=0.003 --set time.frame_rate=1000 --set output.precision=f64 \
    --set output.fields='[mass, density, jp, fe, material]' --output "$3" --quiet >"$work/out" 2>&1 </dev/null ||
    fail "$1 on $2 ranks: $(tail -n 3 "$work/out")"
}

shopt -s nullglob
list=("$@")
[ ${#list[@]} -gt 0 ] || list=("$scenes"/*.yml)
[ ${#list[@]} -gt 0 ] || fail "no scenes in $scenes"
for scene in "${list[@]}"; do
  name=$(basename "$scene" .yml)
  run_few_steps "$scene" 1 "$work/$name-1"
  run_few_steps "$scene" 3 "$work/$name-3"
  frames=("$work/$name-1/frames"/frame_*.h5)
  [ ${#frames[@]} -eq 4 ] || fail "$name: ${#frames[@]} frames instead of 4"
  for frame in "${frames[@]}"; do
    cmp -s "$frame" "$work/$name-3/frames/${frame##*/}" || fail "$name: ${frame##*/} differs between one rank and three"
  done
  rm -rf "$work/$name"-*
done
[ $bad -eq 0 ] && echo "first frames: ${#list[@]} scenes, good"
exit $((bad > 0))
