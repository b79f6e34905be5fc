#!/usr/bin/env bash
# Checkpoints and frames that were damaged in every way a disk, a network or a person finds (tests/damage/spoil.c): each reader
# says so in one line, or takes the one before; none ends in a crash, none takes for good what was changed.
#   test_damage.sh FIRN MPIEXEC [FILES=64] [SEED] [PARTS=1 PART=0]
# With PARTS several processes share the files.
set -uo pipefail
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
files=${3:-64} seed=${4:-1} parts=${5:-1} part=${6:-0}
spoil=$(dirname "$firn")/tests/spoil
[ -x "$spoil" ] || { echo "FAIL: $spoil is not there; build it first" >&2 && exit 1; }

# Few particles and steps: what counts is the number of files.
small_scene | sed 's/radius: 0.04/radius: 0.025/; s/end: 0.05/end: 0.0125/' >s.yml
arguments=(s.yml --threads 1 --set checkpoint.steps=30)
expect 0 1 ref.log "${arguments[@]}" --output ref
expect 0 1 small.log "${arguments[@]}" --output small --set output.compression=4
state=checkpoints/checkpoint_0000000032.h5 # the last of steps 30 and 32; frame 2 is written at step 32
[ -e ref/$state ] && [ -e ref/frames/frame_000002.h5 ] || fail "the run is not as the test takes it to be: $(find ref)"

for f in ref/$state ref/frames/frame_000002.h5 small/frames/frame_000002.h5; do
  "$firn" preview "$f" -o "$f.png" --size 32x32 >png.log 2>&1 || { fail "no picture of $f" && show png.log; }
done

# A reader's answer: the exit code that it has for files that cannot be read, and one line.
answers() { # CODE NAME COMMAND...
  local code=$1 name=$2 got
  shift 2
  timeout $patience "$@" >out.log 2>err.log </dev/null
  got=$?
  [ $got -eq "$code" ] || { fail "$name: exit code $got instead of $code" && show err.log; }
  [ "$(grep -c -E '^firn: ' err.log)" -eq 1 ] && [ "$(grep -c -v -E '^(firn: |warning: |no checkpoint)' err.log)" -eq 0 ] ||
    { fail "$name: not one line of error" && show err.log; }
}
look() { # FILE ORIGINAL: the readers that take any file
  answers 1 info "$firn" info "$1"
  answers 2 diff "$firn" diff "$2" "$1"
  # A picture needs some of the fields only. It may be drawn if these are whole, and is then the same.
  rm -f p.png
  if timeout $patience "$firn" preview "$1" -o p.png --size 32x32 >out.log 2>err.log </dev/null; then
    cmp -s p.png "$2.png" || fail "a picture of a damaged file"
  else
    answers 1 preview "$firn" preview "$1" -o p.png --size 32x32
  fi
}
as_it_was() { # ORIGINAL ALLOWED: the run in work/run came to the end of the original
  same "$1" run
  same "$1/$state" run/$state
}
go_on() { # CODE ARGUMENTS...
  local code=$1 got
  shift
  timeout $patience "$firn" run "${arguments[@]}" --output run "$@" >run.log 2>&1 </dev/null
  got=$?
  [ $got -eq "$code" ] || { fail "restart: exit code $got instead of $code" && show run.log; }
}

checkpoint() { # NUMBER
  cp -r ref run
  "$spoil" damage "$1" run/$state >how.log || fail "cannot spoil"
  look run/$state ref/$state
  [ $restarts -eq 0 ] || return 0
  answers 1 restart "$firn" run "${arguments[@]}" --quiet --output run2 --restart run/$state
  [ ! -e run2 ] || fail "a failed start left a folder"
  go_on 0 --restart auto
  says run.log 'skipping a checkpoint: '
  says run.log 'continuing from .*checkpoint_0000000030.h5'
  as_it_was ref
}
frame() { # NUMBER FOLDER ARGUMENTS...
  local number=$1 folder=$2
  shift 2
  cp -r "$folder" run
  "$spoil" damage "$number" run/frames/frame_000002.h5 >how.log || fail "cannot spoil"
  look run/frames/frame_000002.h5 "$folder/frames/frame_000002.h5"
  [ $restarts -eq 0 ] || return 0
  rm run/$state # from the checkpoint before the frame: it is written again, and what cannot be known as ours is kept
  go_on 0 --restart auto "$@"
  as_it_was "$folder"
}

# A seal that is gone, alone and with the name of the format: the page was overwritten, or lost from the front.
gone() { # FILE ORIGINAL
  local file=$1 original=$2 at
  at=$(grep -a -b -o 'firn \(checkpoint\|frame\)' "$original" | head -n 1 | cut -d: -f1)
  for how in zeros lost; do
    for named in yes no; do
      cp "$original" spoilt.h5
      [ $named = yes ] || printf 'ice' | dd of=spoilt.h5 bs=1 seek="$at" conv=notrunc status=none
      [ $how = zeros ] || tail -c +4097 spoilt.h5 >"$file"
      [ $how = lost ] || { dd if=/dev/zero of=spoilt.h5 bs=4096 count=1 conv=notrunc status=none && mv spoilt.h5 "$file"; }
      echo "the seal is $how, format named: $named" >how.log
      look "$file" "$original"
      [ $bad -eq 0 ] || { cat how.log >&2 && return; }
    done
  done
}
[ "$part" -ne 0 ] || { gone checkpoint.h5 ref/$state && gone frame.h5 ref/frames/frame_000002.h5; }

for ((k = part; k < files && !bad; k += parts)); do
  number=$((seed * 1000000 + k)) restarts=$((k / 4 % 4)) # MPI takes its time to start: one file in four is restarted from
  case $((k % 4)) in
    0 | 2) checkpoint $number ;;
    1) frame $number ref ;;
    3) frame $number small --set output.compression=4 ;;
  esac
  [ $bad -eq 0 ] || { echo "number $number:" && cat how.log && find run; } >&2
  rm -rf run run2
  [ $((k / parts % 250)) -ne 249 ] || echo "up to file $k"
done
echo "$files damaged files, part $part of $parts, seed $seed"
finish damage
