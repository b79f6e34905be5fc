#!/usr/bin/env bash
# Restarts: a run that goes on is the run that was never stopped, bit for bit, on another number of ranks; what cannot be
# trusted is named and skipped; what would be lost by mistake is protected.
#   test_restart.sh FIRN MPIEXEC
set -uo pipefail
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"

small_scene >s.yml
often=(--set checkpoint.steps=20)
expect 0 1 ref.log s.yml --output ref "${often[@]}"
[ "$(find ref/checkpoints -name '*.h5' | wc -l)" -eq 2 ] || fail "two checkpoints should be kept: $(ls ref/checkpoints)"

# A run of half the time, its end moved afterwards: a change that is told and allowed.
half=(--set time.end=0.025)
for pair in 4:1 1:3 3:7; do
  from=${pair%:*} to=${pair#*:} out=run_$from-$to
  expect 0 "$from" a.log s.yml --output "$out" "${often[@]}" "${half[@]}"
  before=$(stat -c '%i %Y' "$out"/frames/*)
  expect 0 "$to" b.log s.yml --output "$out" "${often[@]}" --restart auto
  says b.log 'time\.end: 0\.025 -> 0\.05$'
  says b.log "on $to rank"
  same_run ref "$out"
  [ "$before" = "$(stat -c '%i %Y' "$out"/frames/* | head -n "$(wc -l <<<"$before")")" ] ||
    fail "$out: frames that were there were written again"
done

# A run that is finished has nothing left to do, and may be replaced; one that is not is protected.
out=run_3-7
expect 0 2 again.log s.yml --output $out "${often[@]}" --restart auto
says again.log 'finished: nothing to do'
same_run ref $out

# Damage: the newest is named and skipped for the one before, and frames from after it are not written twice.
cp -r ref worn
good=$(find worn/checkpoints -name '*.h5' | LC_ALL=C sort | head -n 1)
broken=$(newest worn)
printf 'x' | dd of="$broken" bs=1 seek=20000 conv=notrunc status=none
before=$(stat -c '%i %Y' worn/frames/*)
expect 0 2 worn.log s.yml --output worn "${often[@]}" --restart auto
says worn.log "skipping a checkpoint: .*$(basename "$broken") is damaged"
says worn.log "continuing from .*$(basename "$good")"
same_run ref worn
[ "$before" = "$(stat -c '%i %Y' worn/frames/*)" ] || fail "frames that were there were written again"

# A checkpoint of another run, and files that are none, beside ours.
cp -r ref mixed
expect 0 1 other.log s.yml --output other "${often[@]}"
cp "$(newest other)" mixed/checkpoints/checkpoint_0000009999.h5
head -c 5000 /dev/urandom >mixed/checkpoints/checkpoint_0000008888.h5
: >mixed/checkpoints/checkpoint_0000007777.h5
mkdir mixed/checkpoints/checkpoint_0000006666.h5
cp ref/frames/frame_000001.h5 mixed/checkpoints/checkpoint_0000005555.h5
touch mixed/frames/frame_000003.h5.1-1-1.part mixed/checkpoints/checkpoint_0000000001.h5.1-1-1.part
expect 0 1 mixed.log s.yml --output mixed "${often[@]}" --set time.end=0.055 --restart auto
says mixed.log 'checkpoint_0000009999.h5 belongs to another run'
for n in 8888 7777 6666 5555; do says mixed.log "skipping a checkpoint: .*checkpoint_000000$n.h5"; done
[ -z "$(find mixed -name '*.part')" ] || fail "stale temporary files stay"

# Checkpoints that were moved without the rest of their folder: what the run writes from then on is the newest.
mkdir moved
cp -r $out/checkpoints moved/
expect 0 1 moved.log s.yml --output moved "${often[@]}" --set time.end=0.055 --restart auto
expect 0 1 moved2.log s.yml --output moved "${often[@]}" --set time.end=0.055 --restart auto
says moved2.log 'finished: nothing to do'

# One that cannot be read may be whole: it is skipped for the one before, and if there is none the run does not begin again.
cp -r ref stuck
ln -s -f "$(basename "$(newest stuck)")" "$(newest stuck)" # a link to itself
expect 0 1 stuck.log s.yml --output stuck "${often[@]}" --restart auto
says stuck.log 'skipping a checkpoint: cannot open'
rm stuck/checkpoints/*.h5
ln -s checkpoint_0000000001.h5 stuck/checkpoints/checkpoint_0000000001.h5
expect 1 2 stuck2.log s.yml --output stuck "${often[@]}" --restart auto
says stuck2.log '^firn: cannot read the state of the run in stuck: cannot open'
expect 1 2 stuck3.log s.yml --output stuck "${often[@]}"
same ref stuck

# Nothing intact is left: from the start, to the same end; frames that are there stay until they are written again.
cp -r ref lost
for f in lost/checkpoints/*.h5; do truncate -s 5000 "$f"; done
expect 85 2 early.log s.yml --output lost "${often[@]}" --set checkpoint.margin=0 --wall-limit 0.01 --restart auto
same ref lost
rm "$(newest lost)"
for f in lost/checkpoints/*.h5; do truncate -s 5000 "$f"; done
expect 0 2 lost.log s.yml --output lost "${often[@]}" --restart auto
says lost.log 'no checkpoint in lost: starting from the scene'
same_run ref lost
expect 0 2 fresh.log s.yml --output fresh "${often[@]}" --restart auto
same_run ref fresh

# Changes that the snow depends on need --force and are told key by key.
cp -r ref changed
expect 1 2 changed.log s.yml --output changed --set time.end=0.06 --set gravity='[0, -5, 0]' --restart auto
says changed.log 'gravity: \[0, -9.81, 0\] -> \[0, -5, 0\]'
says changed.log '^firn: .*gravity.*--force'
expect 0 2 forced.log s.yml --output changed --set time.end=0.06 --set gravity='[0, -5, 0]' --restart auto --force
says forced.log 'done: '

# How volumes were found does not matter to a state, which has them: a checkpoint goes on with its own.
cp -r run_4-1 volumes
expect 0 1 volumes.log s.yml --output volumes "${often[@]}" --set snow.0.volume=estimated --set time.end=0.055 --restart auto
says volumes.log 'volume: exact -> estimated$'
expect 0 1 longer.log s.yml --output longer "${often[@]}" --set time.end=0.055
same_run longer volumes

# A file by its name, into a folder of its own.
expect 0 1 branch.log s.yml --output branch --set time.end=0.055 --restart "$(newest ref)"
says branch.log 'done: '
[ "$(find branch/frames -name '*.h5' | wc -l)" -eq 2 ] || fail "a branch begins at the checkpoint: $(ls branch/frames)"
expect 1 1 none.log s.yml --output none --restart no_such_file.h5
says none.log '^firn: .*no_such_file'
[ ! -e none ] || fail "a failed start left a folder"

# The time is up: by the option, by the scene, by Slurm's word. Then an unfinished run is there.
expect 85 2 limit.log s.yml --output limit --set checkpoint.margin=0 --wall-limit 0.1
says limit.log 'stopped by the time limit'
expect 1 1 protected.log s.yml --output limit
says protected.log 'not finished.*--restart auto.*--force'
SLURM_JOB_END_TIME=$(($(date +%s) + 5)) expect 85 2 slurm.log s.yml --output limit --restart auto
says slurm.log 'stopped by the time limit'
expect 0 1 ended.log s.yml --output limit --restart auto
same ref limit
expect 0 1 over.log s.yml --output limit "${often[@]}" --force
same_run ref limit

# The instruction set is part of the bits.
expect 0 1 isa.log s.yml --output isa --isa portable "${often[@]}" "${half[@]}"
expect 0 2 isa2.log s.yml --output isa "${often[@]}" --restart auto
base='(sse2|neon|portable) kernels'
says isa2.log "$base"
if grep -qE "$base" ref.log; then
  skipped "a checkpoint of other kernels than the run's: this machine has one kind only"
else
  cp -r ref isa3
  expect 1 1 isa3.log s.yml --output isa3 --set time.end=0.055 --isa portable --restart auto
  says isa3.log 'kernels.*--force'
fi

# A second start takes the folder over; the first notices before it writes, and leaves.
start 1 first.log s.yml --output duel "${often[@]}" --set checkpoint.steps=1
if wait_started "$launcher" first.log; then
  expect 0 1 second.log s.yml --output duel "${often[@]}" --restart auto
  wait "$launcher" && fail "the older of two starts went on to its end"
  says first.log 'another start of this run .* has taken over'
  same ref duel
else
  fail "no first start" && show first.log
fi

# What cannot go on keeps its last good state.
cat >burst.yml <<'END'
domain: {cells: [20, 20, 20], spacing: 0.01}
time: {end: 0.1, step: 2e-3, cfl_sound: 1e9} # too long on purpose, so sound must not cut it
integrator: {scheme: explicit}
materials: {snow: {young: 1e9, plastic: false}}
snow:
  - sphere: {center: [0.1, 0.1, 0.1], radius: 0.04}
    spin: [0, 0, 50]
END
expect 1 2 burst.log burst.yml --output burst
says burst.log 'the state before the failed step is in burst/checkpoints/last_good_'
says burst.log '^firn: step [0-9]+ at .* particle [0-9]+ in cell .* on rank'
"$firn" info burst/checkpoints/last_good_*.h5 >info.log 2>&1 || { fail "the last good state cannot be read" && show info.log; }
finish restart
