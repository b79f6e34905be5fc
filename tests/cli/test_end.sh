#!/usr/bin/env bash
# Where a run ends and what it counts on the way: an end between two frames, a longer end and another frame rate on restart,
# checkpoints by steps that are halved, speeds beyond counting.
#   test_end.sh FIRN MPIEXEC
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
small_scene >s.yml

value() { # FILE ATTRIBUTE
  "$firn" info "$1" | awk -v name="$2" '$1 == name { print $2 }'
}
times() { # FOLDER: of the frames that its series lists
  sed -n 's/.*<Time Value="\([^"]*\)".*/\1/p' "$1"/*.xdmf | tr '\n' ' '
}
steps_are_positive() { # FOLDER
  awk -F, 'NR > 1 && !($3 > 0) { exit 1 }' "$1/history.csv" || fail "$1: a step was not positive"
}

# The end lies between frames 3 (0.01875 s) and 4 (0.025 s), and frame 4 is there, at the end.
expect 0 1 cut.log s.yml --output cut --set time.end=0.02
[ "$(find cut/frames -name 'frame_*.h5' | wc -l)" -eq 5 ] || fail "cut: $(find cut/frames | wc -l) files instead of 5 frames"
[ "$(times cut)" = "0 0.0062500000000000003 0.012500000000000001 0.018749999999999999 0.02 " ] || fail "cut: times $(times cut)"
says cut.log 't   0\.0200 s'
expect 0 3 cut3.log s.yml --output cut3 --set time.end=0.02
same cut cut3
# Each third frame, and the last.
expect 0 1 third.log s.yml --output third --set time.end=0.025 --set output.every=3
[ "$(times third)" = "0 0.018749999999999999 0.025000000000000001 " ] || fail "third: times $(times third)"

# Made longer, on another number of ranks, it is the run that was never stopped.
often=(--set checkpoint.steps=9)
expect 0 1 whole.log s.yml --output whole "${often[@]}"
expect 0 2 made.log s.yml --output made "${often[@]}" --set time.end=0.02
[ "$(find made/checkpoints -name '*.h5' | wc -l)" -eq 3 ] || fail "made: $(ls made/checkpoints) instead of three checkpoints"
expect 0 1 again.log s.yml --output made "${often[@]}" --set time.end=0.02 --restart auto
says again.log 'is finished: nothing to do'
expect 1 1 beside.log s.yml --output beside --restart "$(newest made)"
says beside.log 'to extend the run, continue from the checkpoint before it .--restart auto., or from here with --force'
expect 0 3 longer.log s.yml --output made "${often[@]}" --restart auto
says longer.log 'is the end of a run to 0\.02 s'
says longer.log 'continuing from .* frame 3$'
same_run whole made
# A killed last step: the checkpoint before it leads to the same end.
expect 0 1 kept.log s.yml --output kept "${often[@]}" --set time.end=0.02
cp -r kept killed
rm "$(newest killed)"
expect 0 2 killed.log s.yml --output killed "${often[@]}" --set time.end=0.02 --restart auto
same_run kept killed
# From the end itself it goes on with --force, to the frames that are due.
expect 0 2 forced.log s.yml --output forced --restart "$(newest kept)" --set time.end=0.03 --force
[ "$(times forced)" = "0.025000000000000001 0.029999999999999999 " ] || fail "forced: times $(times forced)"
steps_are_positive forced
# An end before the checkpoint's time is reached already.
rm "$(newest made)"
expect 0 1 short.log s.yml --output made --set time.end=0.03 --restart auto
says short.log 's, beyond the end at 0\.03 s: nothing to simulate'

# Another frame rate, either way: the frames go on from the time, never backwards.
for rate in 400 63 50; do
  rm -rf "rate$rate"
  expect 0 1 "rate$rate.log" s.yml --output "rate$rate" "${often[@]}" --set time.end=0.03
  expect 0 2 "rate$rate.log" s.yml --output "rate$rate" "${often[@]}" --restart auto --force --set time.frame_rate="$rate"
  steps_are_positive "rate$rate"
  last=$(find "rate$rate/frames" -name '*.h5' | LC_ALL=C sort | tail -n 1)
  [ "$(value "$last" time)" = 0.05 ] || fail "rate $rate: the last frame is at $(value "$last" time) s"
  times "rate$rate" | tr ' ' '\n' | sed '/^$/d' | LC_ALL=C sort -c -g || fail "rate $rate: times $(times "rate$rate")"
done

# Steps in halves pass multiples of 20: a checkpoint comes right behind each.
expect 0 1 halves.log s.yml --output halves --set 'time={end: 0.05, frame_rate: 160, step: 4e-4}' --set integrator.max_iterations=4 --set checkpoint.steps=20 --set checkpoint.keep=1000
awk -F, 'NR > 1 { n += $7 } END { exit !(n > 50) }' halves/history.csv || fail "halves: hardly a step was halved"
steps=$(tail -n 1 halves/history.csv | cut -d, -f1)
count=$(find halves/checkpoints -name 'checkpoint_*.h5' | wc -l)
[ "$count" -ge $(((steps + 1) / 20)) ] || fail "halves: $count checkpoints in $steps steps"
finish end
