#!/usr/bin/env bash
# A scene at preview size to its end, on one rank and on three: the same bytes, and what the scene is about happened.
#   preview_run.sh FIRN MPIEXEC FACTS SCENE [VARIANT]
set -uo pipefail
firn=$1 mpiexec=$2 facts=$3 scene=$4 variant=${5:-}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/scenes/copy.sh
. "$here/copy.sh"
export FIRN_CACHE=$work/cache # keys of skeletons
scenes=$(copy_scenes "$work") || exit 1
bad=0

fail() {
  echo "FAIL: $scene${variant:+ ($variant)}: $*" >&2
  bad=$((bad + 1))
}

run_all() { # ranks
  "$mpiexec" -n "$1" "$firn" run "$scenes/$scene.yml" ${variant:+--set variant="$variant"} --output "$work/$1" --quiet \
    >"$work/out" 2>&1 </dev/null || fail "on $1 ranks: $(tail -n 3 "$work/out")"
}

# Conditions are awk's, on numbers that facts prints.
holds() { # what condition
  awk "BEGIN { exit !($2) }" || fail "$1: not ($2)"
}

value() { # frame name
  "$facts" "$1" | awk -v name="$2" '$1 == name { print $2 }'
}

of_matter() { # frame matter name: the same of snow, ice or water alone; 0 where there is none
  "$facts" "$1" only "$2" | awk -v name="$3" '$1 == name { found = $2 } END { print found + 0 }'
}

run_all 1
run_all 3
frames=("$work/1/frames"/frame_*.h5)
for frame in "${frames[@]}"; do
  cmp -s "$frame" "$work/3/frames/${frame##*/}" || fail "${frame##*/} differs between one rank and three"
done
first=${frames[0]} last=${frames[${#frames[@]} - 1]}
[ -f "$last" ] || exit 1
count=$(value "$first" count)

case $scene in
  snowball_drop)
    holds "it lies on the ground" "$(value "$last" mean_y) < 0.1 && $(value "$last" p99_y) < 0.3"
    holds "it has broken up" "$(value "$last" p99_x) - $(value "$last" p01_x) > 0.45"
    ;;
  snowball_smash)
    on_wall=$("$facts" "$last" box -0.05 0.25 -0.5 0.12 1.0 0.5)
    case $variant in
      sticky) holds "snow stays on the sticky wall" "$on_wall > 0.25 * $count" ;;
      *) holds "snow falls from the wall" "$on_wall < 0.12 * $count" ;;
    esac
    ;;
  double_smash)
    holds "both have stopped each other" "$("$facts" "$last" faster 5) < 0.3 * $count"
    holds "they have burst" "$(value "$last" p99_z) - $(value "$last" p01_z) > 0.4"
    ;;
  wedge)
    left=$("$facts" "$last" box -9 -9 -9 -0.12 9 9) right=$("$facts" "$last" box 0.12 -9 -9 9 9 9)
    holds "the wedge splits the block" "$left > 0.3 * $count && $right > 0.3 * $count"
    ;;
  snowplow) # the blade's middle is at x = 3.6 m at the end
    cleared=$("$facts" "$last" box 2.95 0 -0.25 3.2 1 0.1) ahead=$("$facts" "$last" box 4.25 0 -0.25 4.5 1 0.1)
    holds "the path is cleared" "$ahead > 100 && $cleared < 0.35 * $ahead"
    holds "snow entered and left" "$(value "$first" most_x) < 1.2 && $(value "$last" least_x) > 2.5"
    ;;
  rolling_snowball)
    # What moves is the ball: at 0.58 s it rolls, at 1.58 s it is half way down.
    holds "the ball grows" "$("$facts" "${frames[38]}" faster 1) > 1.5 * $("$facts" "${frames[14]}" faster 1)"
    holds "it hits the snowman" "$("$facts" "$last" top 2.1 -0.3 2.5 0.3) < 1.1"
    ;;
  siggraph | the_end)
    holds "the word has fallen" "$(value "$last" least_y) < 0.03 && $(value "$last" p99_y) < 0.42"
    holds "it has broken" "$(value "$last" p99_z) - $(value "$last" p01_z) > 0.16"
    ;;
  castle_destruction)
    holds "the top falls" "$(value "$last" most_y) < $(value "$first" most_y) - 0.15"
    holds "snow is thrown out" "$("$facts" "$last" box 0.65 -1 -9 9 9 9) > 0.02 * $count"
    ;;
  walking_character)
    for at in "0.70 -0.15 0.80 -0.09" "1.18 0.09 1.28 0.15"; do # a right and a left foot stood there
      read -r x0 z0 x1 z1 <<<"$at"
      print=$("$facts" "$last" top "$x0" "$z0" "$x1" "$z1") beside=$("$facts" "$last" top "$x0" 0.3 "$x1" 0.38)
      holds "footprints remain" "$print < $beside - 0.04"
    done
    ;;
  character_digging)
    before=$("$facts" "$first" box -0.3 0.22 0 0.1 0.35 0.2) after=$("$facts" "$last" box -0.3 0.22 0 0.1 0.35 0.2)
    holds "the pick leaves a trench" "$after < 0.85 * $before"
    ;;
  sand_column)
    holds "the column has fallen" "$(value "$last" most_y) < 0.12"
    holds "it has run out" "$(value "$last" p99_x) - $(value "$last" p01_x) > 0.35"
    ;;
  slab_avalanche) # the slab ends at x = 2.5 m at first
    holds "the slab runs out" "$(value "$last" p99_x) > 6"
    holds "the snow on the flat top stays" "$("$facts" "$last" box -9 5.5 -9 -6 9 9) > 0.7 * $("$facts" "$first" box -9 5.5 -9 -6 9 9)"
    ;;
  snowball_net) # before the net, and behind it
    holds "the net throws the ball back" "$("$facts" "$last" box -9 -1 -9 -0.05 9 9) > 0.4 * $count"
    holds "little gets through" "$("$facts" "$last" box 0.1 -1 -9 9 9 9) < 0.1 * $count"
    ;;
  snow_on_sand) # the bed is 6 cm deep
    holds "there is a crater" "$("$facts" "$last" top -0.25 -0.02 -0.2 0.02) < 0.055"
    holds "snow lies beyond it" "$("$facts" "$last" box 0 0.07 -9 9 9 9) > 0.02 * $count"
    ;;
  melting_snowman)
    holds "half of it melts" "$(of_matter "$last" water mass) > 0.5 * $(of_matter "$first" snow mass)"
    holds "it sinks" "$(of_matter "$last" snow p99_y) < $(of_matter "$first" snow p99_y) - 0.1"
    holds "the dish fills" "$("$facts" "$last" box 0.13 0 -0.1 0.19 0.06 0.1) > 300" # beside its feet
    ;;
  snowball_pool) # the pool is 12.6 cm deep; at 0.1 s the ball is deepest
    holds "the ball dives" "$(of_matter "${frames[4]}" snow mean_y) < 0.08"
    holds "water jumps" "$(of_matter "${frames[8]}" water most_y) > 0.16"
    holds "what is left of the ball floats" "$(of_matter "$last" snow mean_y) > 0.1"
    holds "some of it melts" "$(of_matter "$last" snow mass) < 0.8 * $(of_matter "$first" snow mass)"
    ;;
  freezing_pour)
    holds "the bucket is empty" "$(of_matter "$last" water p99_y) < 0.3 && $(of_matter "$last" ice p99_y) < 0.3"
    holds "the water freezes" "$(of_matter "$last" ice mass) > 0.5 * $(of_matter "$first" water mass)"
    ;;
  melting_bust)
    holds "the head falls" "$(of_matter "$last" snow p99_y) < $(of_matter "$first" snow p99_y) - 0.15"
    holds "most of it melts" "$(of_matter "$last" water mass) > 0.5 * $(of_matter "$first" snow mass)"
    ;;
  *) fail "no assertion is known for this scene" ;;
esac
[ $bad -eq 0 ] && echo "$scene${variant:+ ($variant)}: good"
exit $((bad > 0))
