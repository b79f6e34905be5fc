#!/usr/bin/env bash
# A disk that is full, one that may only be read, a folder that is gone: the run says so, tries again, gives up after as many
# failures as the scene allows, and leaves nothing half-written; once the disk is well again the run goes on where it was.
# The first two need a small file system of their own, which takes root; without, they are left out and the test says so.
#   test_disk.sh FIRN MPIEXEC
set -uo pipefail
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"

small_scene >s.yml
arguments=(s.yml --set checkpoint.steps=10 --set checkpoint.failures=3 --set checkpoint.retry=0.3)
expect 0 1 ref.log "${arguments[@]}" --output ref

fill() {
  dd if=/dev/zero of=small/ballast bs=64k status=none 2>/dev/null
}
clean() { # OUT
  [ -z "$(find "$1" -name '*.part')" ] || fail "half-written files stay in $1"
}
intact() { # OUT: every file under a name that readers look for can be read
  local f
  for f in "$1"/frames/*.h5 "$1"/checkpoints/*.h5; do
    [ ! -e "$f" ] || "$firn" info "$f" >info.log 2>&1 || { fail "$f cannot be read" && show info.log; }
  done
}

mkdir small
if mount -t tmpfs -o size=6m tmpfs small 2>mount.log; then
  echo "$work/small" >mounted
  # Full from the start: no frame can be written.
  fill
  expect 1 2 full.log "${arguments[@]}" --output small/out
  says full.log '^firn: .*(No space left on device|left on device)'
  rm small/ballast
  intact small/out
  clean small/out
  # Full in the middle: checkpoints fail first, then a frame; the last good ones stay.
  rm -rf small/out
  start 2 middle.log "${arguments[@]}" --output small/out
  wait_started "$launcher" middle.log
  until compgen -G 'small/out/checkpoints/checkpoint_*.h5' >/dev/null || ! kill -0 "$launcher" 2>/dev/null; do :; done
  fill
  wait "$launcher"
  code=$?
  [ $code -eq 1 ] || { fail "exit code $code on a full disk" && show middle.log; }
  says middle.log 'warning: .*No space left on device; (the run goes on and tries again|trying again in)'
  says middle.log '^firn: giving up'
  rm small/ballast
  intact small/out
  clean small/out
  compgen -G 'small/out/checkpoints/checkpoint_*.h5' >/dev/null || fail "the last good checkpoint is gone"
  mount -o remount,size=64m small
  expect 0 3 well.log "${arguments[@]}" --output small/out --restart auto
  says well.log 'going on from'
  same ref small/out
  # Space comes back before the last try: the run goes on as if nothing had been.
  rm -rf small/out
  mount -o remount,size=6m small
  start 1 back.log "${arguments[@]}" --output small/out --set checkpoint.failures=1000
  wait_started "$launcher" back.log
  fill
  for ((k = 0; k < 1000; k++)); do
    grep -q 'trying again in' back.log && break
    sleep 0.02
  done
  rm small/ballast
  wait "$launcher" || { fail "space came back and the run did not go on" && show back.log; }
  same ref small/out
  # Read-only in the middle, and from the start.
  rm -rf small/out
  start 1 ro.log "${arguments[@]}" --output small/out --set output.history_every=0 # a history is always open
  wait_started "$launcher" ro.log
  until mount -o remount,ro small 2>/dev/null || ! kill -0 "$launcher" 2>/dev/null; do :; done
  wait "$launcher"
  code=$?
  [ $code -eq 1 ] || { fail "exit code $code where the folder became read-only" && show ro.log; }
  says ro.log '^firn: giving up .*Read-only file system'
  intact small/out
  expect 1 2 ro2.log "${arguments[@]}" --output small/out --restart auto
  says ro2.log '^firn: .*Read-only file system'
  mount -o remount,rw small
  expect 0 2 rw.log "${arguments[@]}" --output small/out --restart auto
  same ref small/out
else
  echo "SKIP: full and read-only disks: $(head -n 1 mount.log)"
fi

# The folder is moved away under a run that writes into it.
start 2 gone.log "${arguments[@]}" --output gone
wait_started "$launcher" gone.log
mv gone away
wait "$launcher"
code=$?
[ $code -eq 1 ] || { fail "exit code $code where the folder was gone" && show gone.log; }
says gone.log 'the folder gone is gone'
[ ! -e gone ] || fail "a folder that was gone was made anew"
intact away
mv away gone
expect 0 1 found.log "${arguments[@]}" --output gone --restart auto
same ref gone
clean gone
finish disk
