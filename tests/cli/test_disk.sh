#!/usr/bin/env bash
# A disk that is full, one that may only be read, a folder that is gone: the run says so, tries again, gives up after as many
# failures as the scene allows, and leaves nothing half-written; once the disk is well again the run goes on where it was.
# The first two need a small file system of their own, which takes root, or a system that lets users play root in a namespace of
# their own (unshare); without either they are left out, and tests/run.sh says so.
#   test_disk.sh FIRN MPIEXEC
set -uo pipefail
if [ "$(id -u)" -ne 0 ] && unshare --map-root-user --mount mount -t tmpfs tmpfs /mnt 2>/dev/null; then
  exec unshare --map-root-user --mount bash "$0" "$@"
fi
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
  says full.log '^writer: parallel_hdf5 \(several ranks\)'
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
  says well.log 'continuing from'
  same ref small/out
  # Space comes back before the last try: the run goes on as if nothing had been.
  rm -rf small/out
  mount -o remount,size=6m small
  start 1 back.log "${arguments[@]}" --output small/out --set checkpoint.failures=1000
  wait_started "$launcher" back.log
  fill
  until grep -q 'trying again in' back.log || ! kill -0 "$launcher" 2>/dev/null; do sleep 0.02; done
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
  skipped "full and read-only disks: $(head -n 1 mount.log)"
fi

# Files may not grow beyond a limit: an error like the others, not the end of the process.
start 1 limit.log "${arguments[@]}" --output limit --set time.end=1
wait_started "$launcher" limit.log
prlimit --fsize=65536 --pid "$(ranks_of "$launcher")" || fail "prlimit (util-linux) does not work here"
wait "$launcher"
code=$?
[ $code -eq 1 ] || { fail "exit code $code where files may not grow" && show limit.log; }
says limit.log '^firn: giving up .*File too large'
intact limit
clean limit

# What can happen to one rank alone, as one whose node has lost the disk: by FAULT, its writes to files that are not complete
# fail, or never return, or MPI-IO fails there while the other ranks wait for it.
cat >fail.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>
static int suffers(const char *fault)
{
  const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *wanted = getenv("FAULT");
  return rank && wanted && !strcmp(rank, "1") && !strcmp(wanted, fault);
}
static int fails(int fd)
{
  char link[64], name[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, name, sizeof name);
  if (n < 5 || memcmp(name + n - 5, ".part", 5)) return 0;
  while (suffers("hang")) sleep(1);
  errno = ENOSPC;
  return suffers("write");
}
#define WRAP(result, name, parameters, arguments)                                      \
  result name parameters                                                               \
  {                                                                                    \
    if (fails(fd)) return -1;                                                          \
    result(*real) parameters = (result(*) parameters)dlsym(RTLD_NEXT, #name);          \
    return real arguments;                                                             \
  }
WRAP(ssize_t, pwrite, (int fd, const void *b, size_t n, off_t o), (fd, b, n, o))
WRAP(ssize_t, pwrite64, (int fd, const void *b, size_t n, off64_t o), (fd, b, n, o))
WRAP(ssize_t, pwritev, (int fd, const struct iovec *v, int n, off_t o), (fd, v, n, o))
WRAP(ssize_t, write, (int fd, const void *b, size_t n), (fd, b, n))
WRAP(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n))
int MPI_File_write_at_all(MPI_File f, MPI_Offset o, const void *b, int n, MPI_Datatype t, MPI_Status *s)
{
  const int code = PMPI_File_write_at_all(f, o, b, n, t, s);
  return suffers("mpi") ? MPI_ERR_IO : code;
}
END
${MPICC:-mpicc} -shared -fPIC -o fail.so fail.c -ldl 2>cc.log || { fail "the library that makes writes fail does not compile" && show cc.log; }

# All agree, nothing hangs, nothing stays. MPI-IO may leave all writes to another rank: then the run is none the worse.
alone() { # FAULT CODE WORDS SETTINGS...
  local fault=$1 code=$2 words=$3
  shift 3
  rm -rf alone
  FAULT=$fault LD_PRELOAD=$work/fail.so${LD_PRELOAD:+:$LD_PRELOAD} expect "$code" 2 alone.log "${arguments[@]}" --output alone "$@"
  says alone.log "$words"
  [ "$(grep -c '^firn: [^0-9]' alone.log)" -le "${most:-1}" ] || { fail "more than one message" && show alone.log; }
  clean alone
}
for writer in direct parallel_hdf5; do
  alone write 1 '^firn: giving up at frame 0 .*rank 1 cannot write .*No space left on device' --set output.writer=$writer
  says alone.log "^writer: $writer \\(output.writer\\)"
  expect 0 2 well.log "${arguments[@]}" --output alone --restart auto --set output.writer=$writer
  same ref alone
done
alone mpi 86 '^firn: rank 1 cannot write .*other ranks hang in MPI-IO for it: no answer to rank 1 in 2 s' --set checkpoint.no_progress=8
most=2 # each rank's watchdog says where it was
alone hang 86 'no progress for .* in phase "writing a frame"' --set checkpoint.no_progress=3
expect 0 2 well.log "${arguments[@]}" --output alone --restart auto
same ref alone

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
