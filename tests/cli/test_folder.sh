#!/usr/bin/env bash
# What a run may do to the folder it writes to: nothing that is there is lost by a careless command. A run that is there, of
# whatever scene and in whatever state, is refused or by --force set aside until the new one is complete; files that are not
# Firn's stay, whatever they are called.
#   test_folder.sh FIRN MPIEXEC
set -uo pipefail
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
spoil=$(dirname "$firn")/tests/spoil

small_scene >s.yml
sed 's/radius: 0.04/radius: 0.03/' s.yml >other.yml
brief=(--set time.end=0.0125)
kept=("${brief[@]}" --set checkpoint.steps=10)

alone() { # CODE LOG ARGUMENTS...: one process without a launcher, which starts faster
  local code=$1 log=$2 got
  shift 2
  timeout $patience "$firn" run "$@" >"$log" 2>&1 </dev/null
  got=$?
  [ "$got" -eq "$code" ] || { fail "exit code $got instead of $code: firn run $*" && show "$log"; }
}
listed() { # FOLDER: every file in it with its contents
  (cd "$1" && find . -type f ! -name 'generation_*' -exec cksum {} + | LC_ALL=C sort -k 3)
}
untouched() { # FOLDER LISTED WHAT
  [ "$(listed "$1")" = "$2" ] || { fail "$3: $1 is not what it was" && diff <(echo "$2") <(listed "$1") >&2; }
}
refused() { # FOLDER PATTERN ARGUMENTS...: an error of one line that matches, and not a byte changes
  local folder=$1 pattern=$2 before
  shift 2
  before=$(listed "$folder")
  alone 1 refused.log "$@" --output "$folder"
  says refused.log "^firn: .*$pattern"
  [ "$(grep -c '^firn: ' refused.log)" -eq 1 ] || { fail "the refusal is not one line" && show refused.log; }
  untouched "$folder" "$before" "refused: $*"
}

alone 0 ref.log s.yml --output ref "${kept[@]}"
alone 0 ref_other.log other.yml --output ref_other "${brief[@]}"

# A finished run, with checkpoints and without: neither another scene nor its own command replaces it.
cp -r ref done
refused done 'holds a finished run .*--force.*--output.*--restart' other.yml "${brief[@]}"
refused done 'holds a finished run' s.yml "${kept[@]}"
cp -r ref_other short
refused short 'holds a run \(3 frames, no checkpoint\).*--restart auto.*--force.*--output' other.yml "${brief[@]}"
refused short '' s.yml "${brief[@]}"
before=$(listed short)
alone 0 short.log other.yml "${brief[@]}" --output short --restart auto
says short.log 'finished: nothing to do'
untouched short "$before" "nothing to do"
refused short 'radius \(0.03 -> 0.04\).*--force' s.yml "${brief[@]}" --restart auto
# A link to it is the same folder.
ln -s done link
refused link 'holds a finished run' other.yml "${brief[@]}"

# By force, and killed at once: the run that was there is whole, beside the new one.
before=$(listed done)
start 1 killed.log other.yml --output done --force "${kept[@]}" --set time.end=1
wait_started "$launcher" killed.log
kill -s KILL "$(ranks_of "$launcher")"
wait "$launcher"
untouched done/replaced_000002 "$before" "set aside"
cp -r done/replaced_000002 back
alone 0 back.log s.yml --output back "${kept[@]}" --restart auto
says back.log 'finished: nothing to do'
# What was set aside is not forgotten: it counts as a run.
mkdir -p aside
cp -r done/replaced_000002 aside/
refused aside 'replaced_000002 holds a run that was set aside' s.yml "${brief[@]}"
# The new run goes on, and when it is complete the old one is gone, with its surplus of frames.
touch done/frames/frame_000003.h5.2-1-1.part
alone 0 goes_on.log other.yml --output done "${kept[@]}" --set time.end=0.02 --restart auto
for f in done/frames/*.h5 done/checkpoints/*.h5; do
  "$firn" info --resolved "$f" | grep -q 'radius: 0.03' || fail "$f is not of the new run"
done
[ ! -e done/replaced_000002 ] || fail "what was replaced is still there: $(find done/replaced_000002)"
[ -z "$(find done -name '*.part')" ] || fail "half-written files stay"
same done/frames/frame_000001.h5 ref_other/frames/frame_000001.h5
# To its end by force.
alone 0 forced.log s.yml --output done "${kept[@]}" --force
same_run ref done
[ -z "$(find done -name 'replaced_*')" ] || fail "what was replaced is still there"
# A file that nobody may write to is kept for good.
cp -r ref marked
chmod a-w marked/frames/frame_000001.h5 marked/checkpoints/checkpoint_0000000030.h5
alone 0 marked.log other.yml --output marked "${brief[@]}" --force
for f in frames/frame_000001.h5 checkpoints/checkpoint_0000000030.h5; do
  cmp -s "ref/$f" "marked/replaced_000002/$f" || fail "$f was marked as read-only and is gone"
done
says marked.log 'marked/replaced_000002 stays'

# Files of others: names that are nearly ours, and some that are ours with other things inside.
mkdir -p foreign/frames foreign/checkpoints foreign/replaced_of_mine
n=0
for f in movie.mp4.part notes.part generation_5 generation_x history.csv.part other.xdmf history.csv.old replaced_of_mine/frame_000000.h5 \
  frames/frame_notes.h5 frames/frame_1.h5 frames/frame_0000001.h5 frames/frame_000001.h5.part frames/big.h5.1-1-1.part \
  frames/frame_000001.h5.1-1.part checkpoints/mine.h5 checkpoints/checkpoint_1.h5 checkpoints/x.part; do
  echo "precious $((n += 1))" >"foreign/$f"
done
before=$(listed foreign)
for arguments in "" "--force" "--restart auto --set time.end=0.013"; do
  # shellcheck disable=SC2086 # several words on purpose
  alone 0 foreign.log s.yml --output foreign "${kept[@]}" $arguments
  [ "$(grep -F -x -f <(echo "$before") <(listed foreign))" = "$before" ] ||
    { fail "files of others are gone after '$arguments'" && diff <(echo "$before") <(listed foreign) >&2; }
done
for f in history.csv frames/frame_000001.h5 checkpoints/checkpoint_0000000020.h5 s.xdmf; do
  rm -rf taken
  mkdir -p "taken/$(dirname $f)"
  echo "precious" >taken/$f
  refused taken "$(basename $f).*--force" s.yml "${kept[@]}"
  alone 0 taken.log s.yml --output taken "${kept[@]}" --force
  if [ $f = s.xdmf ]; then
    says taken.log 'warning: refusing to overwrite taken/s.xdmf: it is not a series of Firn'
    [ "$(cat taken/$f)" = precious ] || fail "$f was overwritten"
  else
    [ "$(cat taken/replaced_000001/$f)" = precious ] || fail "$f was overwritten"
    same_run ref taken
  fi
done

# A run whose checkpoints cannot be used is a run all the same.
cp -r ref worn
for f in worn/checkpoints/*.h5; do truncate -s 5000 "$f"; done
refused worn 'whose checkpoints cannot be used: .*damaged.*--force' s.yml "${kept[@]}"
refused worn 'whose checkpoints cannot be used' other.yml "${kept[@]}"
refused worn 'radius .*--force' other.yml "${kept[@]}" --restart auto
# One of another format version is not damaged: whoever goes on must know of it.
for how in version seal; do
  reads='version 1'
  [ $how = seal ] || reads='versions 1 to 3'
  rm -rf newer
  cp -r ref newer
  "$spoil" $how 7 "$(newest newer)" >/dev/null || fail "cannot make a checkpoint of another version"
  before=$(listed newer)
  alone 1 newer.log s.yml --output newer "${kept[@]}" --restart auto
  says newer.log "^firn: .*version 7 and this Firn.* reads $reads"
  alone 1 newer.log s.yml --output newer "${kept[@]}" --restart "$(newest newer)"
  says newer.log "^firn: .*version 7 and this Firn.* reads $reads"
  untouched newer "$before" "another version"
  rm "newer/checkpoints/checkpoint_0000000030.h5"
  refused newer "run of another Firn: .*version 7 and this Firn.* reads $reads.*--force" s.yml "${kept[@]}"
  alone 0 newer.log s.yml --output newer "${kept[@]}" --restart auto --force
  same_run ref newer
  alone 0 newer.log s.yml --output newer "${kept[@]}" --restart auto
  says newer.log 'finished: nothing to do'
done
# One of an earlier version continues with other last bits: only if it is asked for.
rm -rf older
cp -r ref older
rm "older/checkpoints/checkpoint_0000000030.h5"
"$spoil" version 2 "$(newest older)" >/dev/null || fail "cannot make a checkpoint of an earlier version"
before=$(listed older)
alone 1 older.log s.yml --output older "${kept[@]}" --restart auto
says older.log '^firn: .*format version 2.*another order.*--force'
untouched older "$before" "an earlier version"
alone 0 older.log s.yml --output older "${kept[@]}" --restart auto --force
says older.log 'another order: the last bits will differ'
cp -r ref flipped # the version's own digit in the seal
printf 3 | dd of="$(newest flipped)" bs=1 seek=17 conv=notrunc status=none
alone 0 flipped.log s.yml --output flipped "${kept[@]}" --restart auto
says flipped.log 'skipping a checkpoint: .*whole seal'

# Back to an earlier checkpoint of the run itself: what came after would be lost.
cp -r ref early
first=$(find early/checkpoints -name '*.h5' | LC_ALL=C sort | head -n 1)
refused early 'is not the newest checkpoint.*--restart auto.*--output.*--force' s.yml "${kept[@]}" --restart "$first"
before=$(listed early)
start 1 early.log s.yml "${kept[@]}" --set time.end=1 --set gravity='[0, -5, 0]' --output early --restart "$first" --force
wait_started "$launcher" early.log
kill -s KILL "$(ranks_of "$launcher")"
wait "$launcher"
for f in history.csv frames/frame_000002.h5 "checkpoints/$(basename "$(newest ref)")"; do
  cmp -s "ref/$f" "early/replaced_000002/$f" || fail "$f of the course that was left is gone"
done

# A run from a checkpoint of another folder can go on from its own at once, and does not start from the scene.
start 1 branch.log s.yml "${kept[@]}" --set time.end=1 --output branch --restart ref/checkpoints/checkpoint_0000000030.h5
wait_started "$launcher" branch.log
kill -s KILL "$(ranks_of "$launcher")"
wait "$launcher"
alone 0 branch2.log s.yml "${kept[@]}" --set time.end=0.03 --output branch --restart auto
says branch2.log 'continuing from branch/checkpoints/checkpoint_'
# It has no frames from before its beginning: those of a run that it replaces stay.
cp -r ref late
alone 0 late.log s.yml "${kept[@]}" --set time.end=0.03 --output late --restart "$(newest branch)" --force
cmp -s ref/frames/frame_000000.h5 late/replaced_*/frames/frame_000000.h5 || fail "frames that have no successor are gone"

# Checkpoints of another run are not for --restart auto, and no reason to begin again.
cp -r ref strange
echo "run 0123456789abcdef" >strange/generation_000009
refused strange 'holds checkpoints of another run only: .*--restart FILE' s.yml "${kept[@]}" --restart auto

# What cannot be set aside stays where it is, and so does what could be: frames on another disk.
if away=$(mktemp -d /dev/shm/firn_folder.XXXXXX) && [ "$(stat -c %d "$away")" != "$(stat -c %d .)" ]; then
  cp -r ref spread
  mv spread/frames/* "$away"
  rmdir spread/frames
  ln -s "$away" spread/frames
  before=$(listed spread && listed "$away")
  alone 1 spread.log other.yml "${brief[@]}" --output spread --force
  says spread.log '^firn: cannot set spread/frames/frame_000000.h5 aside as .*--output'
  [ "$(listed spread && listed "$away")" = "$before" ] || fail "a failed start changed the folder: $(find spread "$away")"
  alone 0 spread2.log s.yml "${kept[@]}" --output spread --restart auto
  says spread2.log 'finished: nothing to do'
else
  echo "not tested: frames on another disk (there is no /dev/shm apart from $work)"
fi
rm -rf "$away"

# Two starts at once in a folder that is free: one has it, the other leaves, and nothing is mixed. Who leaves depends on
# the moment: one that finds the folder taken, or one that has written nothing yet when the other takes it.
for k in 1 2; do
  "$firn" run s.yml --output duel "${kept[@]}" >duel$k.log 2>&1 </dev/null &
  duel[k]=$!
done
winners=0
for k in 1 2; do wait "${duel[k]}" && winners=$((winners + 1)); done
[ $winners -eq 1 ] || { fail "$winners of two starts at once came to their end" && cat duel[12].log >&2; }
grep -q -h -E '^firn: (another run has just started in duel|duel holds a run|another start .* has taken over duel)' duel1.log duel2.log || { fail "no word of the other" && cat duel[12].log >&2; }
same_run ref duel

# Other commands that write: what is at the name and is something else stays.
cp ref/frames/frame_000001.h5 frame.h5
cksum frame.h5 s.yml >before.txt
cp frame.h5 frame.png
"$firn" preview frame.h5 -o frame.png --size 64x64 >preview.log 2>&1 && fail "preview replaced a frame"
says preview.log '^firn: refusing to overwrite frame.png: it is not a PNG picture'
cmp -s frame.h5 frame.png || fail "the frame of a picture's name is gone"
rm frame.png
"$firn" preview frame.h5 -o p.png --size 64x64 >preview.log 2>&1 && "$firn" preview frame.h5 -o p.png --size 64x64 >preview.log 2>&1 ||
  fail "preview does not replace its own picture"
cat >bones.yml <<'END'
spacing: 0.1
end: 0.1
bones: [{name: a, from: [0, 0, 0], to: [0.3, 0, 0], radius: 0.2}]
END
cp bones.yml again.yml
cp bones.yml skeleton.h5
"$firn" levelset -o skeleton.h5 bones.yml >levelset.log 2>&1 && fail "levelset replaced a skeleton"
says levelset.log '^firn: .*refusing to overwrite skeleton.h5: it is not a file of level-set keys'
cmp -s skeleton.h5 again.yml || fail "the skeleton is gone"
"$firn" levelset -o bones.h5 bones.yml >levelset.log 2>&1 || { fail "levelset" && show levelset.log; }
cp bones.h5 first.h5
sleep 1.1 # times in a file would count seconds
"$firn" levelset -o bones.h5 bones.yml >levelset.log 2>&1 || { fail "levelset does not replace its own keys" && show levelset.log; }
cmp -s bones.h5 first.h5 || fail "the same keys are other bytes"
mkdir -p out/bench/frames
echo precious >out/bench/frames/frame_000000.h5
"$firn" bench --particles 1000 --repeat 1 --json s.yml >bench.log 2>&1 && fail "bench replaced a scene"
says bench.log '^firn: refusing to overwrite s.yml: it is not a file of figures'
"$firn" bench --particles 1000 --repeat 1 >bench.log 2>&1 || { fail "bench" && show bench.log; }
[ "$(cat out/bench/frames/frame_000000.h5)" = precious ] || fail "bench replaced a file of a run"
[ "$(find out -type f | wc -l)" -eq 1 ] || fail "bench leaves files behind: $(find out)"
# Those that write at their end say so at their beginning.
"$firn" run s.yml --output nothing "${kept[@]}" --trace s.yml >trace.log 2>&1 && fail "a trace replaced a scene"
says trace.log '^firn: refusing to overwrite s.yml: it is not a trace'
[ ! -e nothing ] || fail "a run was begun whose trace has no name"
"$firn" run s.yml --output itself "${kept[@]}" --trace itself/history.csv >trace.log 2>&1 && fail "a trace replaced the history"
says trace.log '^firn: refusing to overwrite itself/history.csv: it is not a trace'
for k in 1 2; do
  "$firn" run s.yml --output "traced$k" "${kept[@]}" --trace t.json >trace.log 2>&1 || { fail "a trace does not replace a trace" && show trace.log; }
done
cp s.yml film.mp4
"$firn" movie ref -o film.mp4 --size 64x36 >movie.log 2>&1 && fail "a film replaced a scene"
says movie.log '^firn: refusing to overwrite film.mp4: it is not a film'
[ ! -e film_pictures ] || fail "pictures were made for a film without a name"
mkdir notes
echo "size of the pictures: large" >notes/options.txt
"$firn" movie ref -o new.mp4 --pictures notes --size 64x36 >movie.log 2>&1 && fail "a film replaced notes"
says movie.log '^firn: refusing to overwrite notes/options.txt: it is not the options of a film'
for option in save csv; do
  "$firn" model s.yml --steps 2 --$option s.yml >model.log 2>&1 && fail "model --$option replaced a scene"
  says model.log '^firn: refusing to overwrite s.yml: it is not a'
  for k in 1 2; do
    "$firn" model s.yml --steps 2 --$option "model.$option" >model.log 2>&1 || { fail "model --$option does not replace its own" && show model.log; }
  done
done
cksum frame.h5 s.yml | cmp -s - before.txt || fail "an input was changed"
finish folder
