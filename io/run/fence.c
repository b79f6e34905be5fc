/* See fence.h. */
#include "io/run/fence.h"

#include "base/memory.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static const char prefix[] = "generation_";

void fence_new_run(char run_id[RUN_ID_SIZE])
{
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    bits = (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec << 20 ^ (uint64_t)getpid();
  }
  snprintf(run_id, RUN_ID_SIZE, "%016" PRIx64, bits);
}

static char *path_of(const char *folder, int64_t generation)
{
  char name[48];
  snprintf(name, sizeof name, "%s%06" PRId64, prefix, generation);
  return file_join(folder, name);
}

/* The number in a file's name; 0 if it is none of ours. */
static int64_t number_of(const char *name)
{
  const int64_t number = file_number(name, prefix, 6, "");
  return number > 0 ? number : 0;
}

/* The run that a file of a generation names; false if it names none. An empty one was cut short: `empty`.
 */
static bool read_file(const char *path, char run_id[RUN_ID_SIZE], bool *empty)
{
  char *text = NULL, found[RUN_ID_SIZE] = "";
  const bool read = file_read(path, 4096, &text, NULL, NULL) == FIRN_OK;
  const bool whole = read && sscanf(text, "run %16[0-9a-f]", found) == 1 && strlen(found) == RUN_ID_SIZE - 1;
  *empty = read && !*text;
  if (whole) memcpy(run_id, found, RUN_ID_SIZE);
  mem_free(text);
  return whole;
}

static int64_t newest_of(const char *folder)
{
  struct file_list *list = NULL;
  int64_t newest = 0;
  if (file_list_create(&list, folder, prefix, "", NULL) != FIRN_OK) return 0;
  for (int k = 0; k < list->count; k++) {
    const int64_t number = number_of(list->names[k]);
    if (number > newest) newest = number;
  }
  file_list_destroy(&list);
  return newest;
}

void fence_look(const char *folder, char run_id[RUN_ID_SIZE], int64_t *generation)
{
  struct file_list *list = NULL;
  bool found = false, empty;
  run_id[0] = '\0';
  *generation = newest_of(folder);
  if (*generation == 0 || file_list_create(&list, folder, prefix, "", NULL) != FIRN_OK) return;
  for (int k = list->count - 1; k >= 0 && !found; k--) { /* the newest may have been cut short by a crash */
    if (number_of(list->names[k]) == 0) continue;
    char *path = file_join(folder, list->names[k]);
    found = read_file(path, run_id, &empty);
    mem_free(path);
  }
  file_list_destroy(&list);
}

/* A file of that name that names no run is someone else's, and stays. */
static void remove_older(const char *folder, int64_t generation)
{
  struct file_list *list = NULL;
  char run_id[RUN_ID_SIZE];
  bool empty;
  if (file_list_create(&list, folder, prefix, "", NULL) != FIRN_OK) return;
  for (int k = 0; k < list->count; k++) {
    const int64_t number = number_of(list->names[k]);
    if (number == 0 || number >= generation) continue;
    char *path = file_join(folder, list->names[k]);
    if (read_file(path, run_id, &empty) || empty) unlink(path);
    mem_free(path);
  }
  file_list_destroy(&list);
}

/* Makes the file unless it is there; 0 or an errno. */
static int make_file(const char *path, const char *run_id)
{
  char text[512], host[256] = "";
  gethostname(host, sizeof host - 1);
  const int length =
      snprintf(text, sizeof text, "run %s\nhost %s\nprocess %ld\n", run_id, host, (long)getpid());
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return errno;
  int reason = 0;
  if (write(fd, text, (size_t)length) != length) reason = errno ? errno : EIO;
  if (reason == 0 && fsync(fd) != 0 && errno != EINVAL) reason = errno;
  if (close(fd) != 0 && reason == 0) reason = errno;
  if (reason != 0) unlink(path);
  return reason;
}

/* One try above `above`: 0, an errno, or EEXIST where another start was faster. */
static int try_number(const char *folder, const char *run_id, int64_t above, int64_t *generation)
{
  const int64_t newest = newest_of(folder);
  *generation = (above > newest ? above : newest) + 1;
  char *path = path_of(folder, *generation);
  int reason = make_file(path, run_id);
  if (reason == 0 && newest_of(folder) > *generation) {
    unlink(path); /* it may have been someone's before, and removed by a newer one */
    reason = EEXIST;
  }
  mem_free(path);
  return reason;
}

int fence_take(struct fence **out, const char *folder, const char *run_id, int64_t above, int64_t seen,
               struct error *err)
{
  int code = file_make_folder(folder, err);
  if (code != FIRN_OK) return code;
  int64_t generation = above;
  int reason = EEXIST;
  while (reason == EEXIST) { /* another start may take a number between the look and the try */
    const bool taken = seen >= 0 && newest_of(folder) != seen;
    if (!taken) reason = try_number(folder, run_id, generation, &generation);
    if (taken || (seen >= 0 && reason == EEXIST))
      return error_set(
          err, FIRN_ESTALE,
          "another run has just started in %s: this one leaves without writing; choose another folder "
          "with --output",
          folder);
  }
  if (reason != 0)
    return error_set(err, FIRN_EIO, "cannot take the folder %s for this run: %s", folder, strerror(reason));
  remove_older(folder, generation);
  struct fence *fence = mem_alloc(1, sizeof *fence);
  fence->folder = mem_strdup(folder);
  fence->generation = generation;
  snprintf(fence->run_id, sizeof fence->run_id, "%s", run_id);
  *out = fence;
  return FIRN_OK;
}

void fence_destroy(struct fence **fence)
{
  if (!fence || !*fence) return;
  mem_free((*fence)->folder);
  mem_free(*fence);
  *fence = NULL;
}

int fence_check(const struct fence *fence, struct error *err)
{
  char *path = path_of(fence->folder, fence->generation);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const int reason = fd < 0 ? errno : 0;
  if (fd >= 0) close(fd);
  mem_free(path);
  const int64_t newest = newest_of(fence->folder);
  if (newest > fence->generation)
    return error_set(
        err, FIRN_ESTALE,
        "another start of this run (generation %lld, this one is %lld) has taken over %s: this one "
        "leaves without writing",
        (long long)newest, (long long)fence->generation, fence->folder);
  if (reason == 0) return FIRN_OK;
  if (!file_is_folder(fence->folder)) return error_set(err, FIRN_EIO, "the folder %s is gone", fence->folder);
  return error_set(err, FIRN_EIO, "the folder %s was emptied or replaced: %s of this run is gone (%s)",
                   fence->folder, prefix, strerror(reason));
}
