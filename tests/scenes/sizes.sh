#!/usr/bin/env bash
# Every scene is valid at all its sizes and in all its variants, and at paper size it has the particles and the grid of
# the paper's table 3.
#   sizes.sh FIRN
set -uo pipefail
firn=$1
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

names_under() { # key scene: the names of the choices that stand under a key
  sed -n "/^$1:/,/^[a-z]/p" "$2" | sed -n 's/^  \([a-z_]*\):.*/\1/p'
}

checked=0
check() { # scene choice: the report goes to $work/out
  checked=$((checked + 1))
  "$firn" check "$1" --set "$2" >"$work/out" 2>&1 || fail "$1, $2: $(cat "$work/out")"
  # A small machine may lack the memory for the paper's sizes; nothing else may be doubtful.
  ! grep warning "$work/out" | grep -v 'MiB in all' >"$work/doubts" || fail "$1, $2: $(cat "$work/doubts")"
}

is_like_the_paper() { # scene particles grid; the report is in $work/out
  local cells particles
  cells=$(sed -n 's/^ *domain *\([0-9]* x [0-9]* x [0-9]*\) cells.*/\1/p' "$work/out")
  particles=$(sed -n 's/^ *particles *\(about \)\{0,1\}\([0-9]*\).*/\2/p' "$work/out")
  [ "$cells" = "$3" ] || fail "$1: $cells cells instead of $3"
  awk -v n="$particles" -v want="$2" 'BEGIN { exit !(n > 0.97 * want && n < 1.03 * want) }' ||
    fail "$1: $particles particles instead of $2"
}

# The plow's road is longer than its window, which is 300 cells long and grows from 1.07 to 3.9 million particles.
paper='snowball_drop 3.0e5 600 x 300 x 600
snowball_smash 3.0e5 200 x 240 x 600
double_smash 6.0e5 800 x 300 x 800
snowplow 1.07e6 1750 x 50 x 150
rolling_snowball 7.2e6 470 x 240 x 200
siggraph 7.5e5 780 x 120 x 220
the_end 5.8e5 700 x 120 x 210
castle_destruction 1.6e6 560 x 160 x 360
walking_character 3.0e6 370 x 120 x 300
character_digging 3.1e6 280 x 110 x 340'
compared=0
for scene in "$scenes"/*.yml; do
  name=$(basename "$scene" .yml)
  mapfile -t sizes < <(names_under sizes "$scene")
  mapfile -t variants < <(names_under variants "$scene")
  [ ${#sizes[@]} -gt 0 ] || check "$scene" time.frame_rate=24 # as it is, which otherwise is the first size
  for size in "${sizes[@]}"; do
    check "$scene" "size=$size"
    read -r _ particles grid < <(grep "^$name " <<<"$paper")
    [ "$size" != paper ] || [ -z "$grid" ] || { is_like_the_paper "$name" "$particles" "$grid" && compared=$((compared + 1)); }
  done
  # The first variant is the scene as it is too.
  for variant in "${variants[@]:1}"; do check "$scene" "variant=$variant"; done
done
[ $compared -eq 10 ] || fail "$compared scenes were compared with the paper instead of 10"
[ $checked -ge 60 ] || fail "only $checked sizes and variants were checked"
[ $bad -eq 0 ] && echo "sizes: $checked good"
exit $((bad > 0))
