/* A file's structure, looked at by a child process that may die of it.
 *
 * HDF5 takes the structure of a file on trust: some damaged or forged headers, trees and heaps make it read
 * or write where it must not. So the first to walk through a file that is not known to be whole is a child,
 * which meets all links, headers, attributes and lists of chunks that a reader would. It is forked and not
 * started anew, so that its heap is the reader's, and what it survives the reader survives too. The reader
 * waits, and continues if the child reports success at its end.
 *
 * A system that forbids or cannot afford a child must not keep anyone from his data: then the file is opened
 * all the same. */
#include "io/particles/hdf5.h"

#include "base/log.h"
#include "base/memory.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_DEPTH = 32, MOST_SECONDS = 5 };

struct walk {
  const char *path;
  haddr_t *seen; /* groups, which may contain each other */
  int64_t count, capacity;
  int depth;
};

static void look_at_group(struct walk *walk, hid_t group);

static herr_t look_at_attribute(hid_t object, const char *name, const H5A_info_t *info, void *data)
{
  (void)info, (void)data;
  double number;
  mem_free(hdf5_get_text(object, name));
  hdf5_get_f64(object, name, &number);
  return 0;
}

/* What opening a table refuses is for the reader to say, if it wants this one. */
static void look_at_dataset(struct walk *walk, hid_t group, const char *name)
{
  struct hdf5_table table;
  if (hdf5_array_open(&table, group, name, 4, walk->path, NULL) != FIRN_OK) return;
  hdf5_table_scan(&table);
  hdf5_table_close(&table);
}

/* Whether a group was not met before. */
static bool is_new(struct walk *walk, haddr_t address)
{
  for (int64_t k = 0; k < walk->count; k++)
    if (walk->seen[k] == address) return false;
  walk->seen = mem_reserve(walk->seen, &walk->capacity, walk->count + 1, sizeof *walk->seen);
  walk->seen[walk->count++] = address;
  return true;
}

static herr_t look_at_link(hid_t group, const char *name, const H5L_info_t *link, void *data)
{
  struct walk *walk = data;
  if (link->type != H5L_TYPE_HARD) return 0;
  const hid_t object = hdf5_object_open(group, name);
  if (object < 0) return 0;
  H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, look_at_attribute, NULL);
  const H5I_type_t type = H5Iget_type(object);
  if (type == H5I_DATASET) look_at_dataset(walk, group, name);
  if (type == H5I_GROUP && is_new(walk, link->u.address)) look_at_group(walk, object);
  H5Oclose(object);
  return 0;
}

static void look_at_group(struct walk *walk, hid_t group)
{
  hsize_t place = 0;
  if (walk->depth == MOST_DEPTH) return;
  walk->depth++;
  H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &place, look_at_link, walk);
  walk->depth--;
}

static int look_at_file(const char *path, struct error *err)
{
  struct walk walk = {.path = path};
  const hid_t file = hdf5_open(path, err);
  if (file < 0) return err->code;
  H5Aiterate2(file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, look_at_attribute, NULL);
  look_at_group(&walk, file);
  H5Fclose(file);
  mem_free(walk.seen);
  return FIRN_OK;
}

/* Signals end the child in silence: the parent's handlers, cores and messages are not for it. */
static void become_expendable(void)
{
  static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM, SIGINT};
  const struct rlimit no_core = {0, 0}, seconds = {MOST_SECONDS, MOST_SECONDS};
  for (size_t k = 0; k < sizeof deadly / sizeof *deadly; k++) signal(deadly[k], SIG_DFL);
  setrlimit(RLIMIT_CORE, &no_core);
  setrlimit(RLIMIT_CPU, &seconds); /* lists that lead back to themselves */
  const int nowhere = open("/dev/null", O_WRONLY);
  if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
}

static _Noreturn void examine(const char *path, int report)
{
  struct error verdict = {.code = FIRN_OK};
  become_expendable();
  look_at_file(path, &verdict);
  const ssize_t sent = write(report, &verdict, sizeof verdict);
  _exit(sent == (ssize_t)sizeof verdict ? 0 : 1);
}

/* What the child has to say; false if it died. */
static bool listen(pid_t child, int report, struct error *verdict)
{
  size_t have = 0;
  for (ssize_t got = 1; got != 0 && have < sizeof *verdict;) {
    got = read(report, (char *)verdict + have, sizeof *verdict - have);
    if (got > 0) have += (size_t)got;
    if (got < 0 && errno != EINTR) break;
  }
  while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
  }
  return have == sizeof *verdict;
}

int hdf5_trial(const char *path, struct error *err)
{
  int ends[2];
  struct error verdict = {.code = FIRN_OK};
  if (file_check_readable(path, err) != FIRN_OK) return err ? err->code : FIRN_EIO;
  if (pipe(ends) != 0) return FIRN_OK;
  const pid_t child = fork();
  if (child == 0) examine(path, ends[1]);
  close(ends[1]);
  const bool alive = child < 0 || listen(child, ends[0], &verdict);
  close(ends[0]);
  if (child < 0) log_debug("%s is opened without a trial: %s", path, strerror(errno));
  if (!alive)
    return error_set(err, FIRN_EDAMAGED,
                     "%s is damaged: HDF5 crashes or hangs when it reads the file; get another copy of it",
                     path);
  if (verdict.code != FIRN_OK && err) *err = verdict;
  return verdict.code;
}
