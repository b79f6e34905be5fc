/* Preloaded into the ranks of a run: ends one with SIGKILL in the middle of what it does to files.
 *   KILLER_UNDER=out/      counts operations on paths that hold this text, and collective calls of MPI-IO
 *   KILLER_AT=0:120,2:17   rank 0 dies at its 120th such operation, rank 2 at its 17th
 *   KILLER_COUNT=FILE      a rank that comes to its end writes its number of operations to FILE.RANK
 * Whether the operation is done before the end, half done (a write) or not depends on its number. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum when { NEVER, BEFORE, HALFWAY, AFTER };

static long operations;

static long fatal_operation(void)
{
  static long at = -1;
  const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *list = getenv("KILLER_AT");
  if (at >= 0) return at;
  at = 0;
  for (const char *item = list; item && *item; item = strchr(item, ',') ? strchr(item, ',') + 1 : NULL) {
    char *colon;
    if (strtol(item, &colon, 10) == (rank ? atol(rank) : 0) && *colon == ':') at = atol(colon + 1);
  }
  return at;
}

static void die(void)
{
  kill(getpid(), SIGKILL);
}

/* Counts an operation on a path; whether to die at it, and when. */
static enum when meet(const char *path)
{
  const char *under = getenv("KILLER_UNDER");
  if (!path || !under || !strstr(path, under)) return NEVER;
  const long number = __atomic_add_fetch(&operations, 1, __ATOMIC_SEQ_CST);
  if (number != fatal_operation()) return NEVER;
  return BEFORE + (enum when)(number % 3);
}

static enum when meet_fd(int fd)
{
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return NEVER;
  path[length] = '\0';
  return meet(path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define WRAP(result, name, parameters, arguments, met)                                                       \
  result name parameters                                                                                     \
  {                                                                                                          \
    const enum when when = met;                                                                              \
    if (when == BEFORE) die();                                                                               \
    result value = REAL(name) arguments;                                                                     \
    if (when != NEVER) die();                                                                                \
    return value;                                                                                            \
  }

WRAP(int, rename, (const char *from, const char *to), (from, to), meet(to))
WRAP(int, link, (const char *from, const char *to), (from, to), meet(to))
WRAP(int, unlink, (const char *path), (path), meet(path))
WRAP(int, rmdir, (const char *path), (path), meet(path))
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), meet(path))
WRAP(FILE *, fopen, (const char *path, const char *mode), (path, mode), meet(path))
WRAP(int, fflush, (FILE * stream), (stream), stream ? meet_fd(fileno(stream)) : NEVER)
WRAP(int, fsync, (int fd), (fd), meet_fd(fd))
WRAP(int, ftruncate, (int fd, off_t length), (fd, length), meet_fd(fd))
WRAP(int, ftruncate64, (int fd, off64_t length), (fd, length), meet_fd(fd))
WRAP(int, fallocate, (int fd, int mode, off_t from, off_t length), (fd, mode, from, length), meet_fd(fd))

#define WRAP_OPEN(name)                                                                                      \
  int name(const char *path, int flags, ...)                                                                 \
  {                                                                                                          \
    va_list more;                                                                                            \
    va_start(more, flags);                                                                                   \
    const mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;                                          \
    va_end(more);                                                                                            \
    const enum when when = flags & (O_CREAT | O_WRONLY | O_RDWR) ? meet(path) : NEVER;                       \
    if (when == BEFORE) die();                                                                               \
    const int fd = REAL(name)(path, flags, mode);                                                            \
    if (when != NEVER) die();                                                                                \
    return fd;                                                                                               \
  }
WRAP_OPEN(open)
WRAP_OPEN(open64)

/* Half of the bytes, where it dies halfway. */
#define WRAP_WRITE(name, parameters, ...)                                                                    \
  ssize_t name parameters                                                                                    \
  {                                                                                                          \
    const enum when when = meet_fd(fd);                                                                      \
    if (when == BEFORE) die();                                                                               \
    if (when == HALFWAY) size /= 2;                                                                          \
    const ssize_t written = REAL(name)(__VA_ARGS__);                                                         \
    if (when != NEVER) die();                                                                                \
    return written;                                                                                          \
  }
WRAP_WRITE(write, (int fd, const void *bytes, size_t size), fd, bytes, size)
WRAP_WRITE(pwrite, (int fd, const void *bytes, size_t size, off_t at), fd, bytes, size, at)
WRAP_WRITE(pwrite64, (int fd, const void *bytes, size_t size, off64_t at), fd, bytes, size, at)
WRAP_WRITE(writev, (int fd, const struct iovec *parts, int size), fd, parts, size)
WRAP_WRITE(pwritev, (int fd, const struct iovec *parts, int size, off_t at), fd, parts, size, at)

/* Calls that all ranks make together, which the others wait in for the one that died. */
WRAP(int, MPI_File_set_view,
     (MPI_File file, MPI_Offset at, MPI_Datatype type, MPI_Datatype form, const char *name, MPI_Info info),
     (file, at, type, form, name, info), meet(getenv("KILLER_UNDER")))
WRAP(int, MPI_File_write_at_all,
     (MPI_File file, MPI_Offset at, const void *bytes, int count, MPI_Datatype type, MPI_Status *status),
     (file, at, bytes, count, type, status), meet(getenv("KILLER_UNDER")))
WRAP(int, MPI_File_sync, (MPI_File file), (file), meet(getenv("KILLER_UNDER")))
WRAP(int, MPI_File_close, (MPI_File * file), (file), meet(getenv("KILLER_UNDER")))

static void __attribute__((destructor)) report(void)
{
  const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *name = getenv("KILLER_COUNT");
  char path[4096];
  if (!name || !rank) return;
  snprintf(path, sizeof path, "%s.%s", name, rank);
  FILE *file = REAL(fopen)(path, "w");
  if (!file) return;
  fprintf(file, "%ld\n", operations);
  fclose(file);
}
