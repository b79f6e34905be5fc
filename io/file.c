/* See file.h. A rename is atomic but not durable by itself: the data must be on the disk before the
 * rename (else a crash leaves an empty file under the good name), and the folder after it (else the name is
 * lost). */
#include "io/file.h"

#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char temp_suffix[] = ".part";

static bool ends_with(const char *text, const char *suffix)
{
  const size_t length = strlen(text), tail = strlen(suffix);
  return length >= tail && strcmp(text + length - tail, suffix) == 0;
}

bool file_is_folder(const char *path)
{
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

char *file_join(const char *folder, const char *name)
{
  const size_t size = strlen(folder) + strlen(name) + 2;
  char *path = mem_alloc(size, 1);
  snprintf(path, size, "%s%s%s", folder, ends_with(folder, "/") ? "" : "/", name);
  return path;
}

/* The process and the clock tell writers apart, on one machine or on several: an orphan of a lost node must
 * not write into the file of the run that replaced it. */
char *file_temp_name(const char *target)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const size_t size = strlen(target) + 64;
  char *name = mem_alloc(size, 1);
  snprintf(name, size, "%s.%lx-%llx%s", target, (unsigned long)getpid(),
           (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec, temp_suffix);
  return name;
}

static int sync_path(const char *path, int flags, struct error *err)
{
  const int fd = open(path, flags | O_CLOEXEC);
  if (fd < 0) return error_set(err, FIRN_EIO, "cannot open %s: %s", path, strerror(errno));
  int code = FIRN_OK;
  /* Some file systems cannot sync a folder and say EINVAL: there is nothing more to be done then. */
  if (fsync(fd) != 0 && errno != EINVAL)
    code = error_set(err, FIRN_EIO, "cannot bring %s to the disk: %s", path, strerror(errno));
  if (close(fd) != 0 && code == FIRN_OK)
    code = error_set(err, FIRN_EIO, "cannot close %s: %s", path, strerror(errno));
  return code;
}

static int sync_folder_of(const char *path, struct error *err)
{
  char *folder = mem_strdup(path);
  char *slash = strrchr(folder, '/');
  if (slash) slash[slash == folder] = '\0';
  const int code = sync_path(slash ? folder : ".", O_RDONLY | O_DIRECTORY, err);
  mem_free(folder);
  return code;
}

static int make_one_folder(const char *path, struct error *err)
{
  if (mkdir(path, 0777) == 0) return sync_folder_of(path, err); /* what will be in it needs its name */
  const int reason = errno;
  if (file_is_folder(path)) return FIRN_OK;
  return error_set(err, FIRN_EIO, "cannot make the folder %s: %s", path,
                   reason == EEXIST ? "a file of that name is in the way" : strerror(reason));
}

int file_make_folder(const char *path, struct error *err)
{
  if (!*path) return error_set(err, FIRN_EINPUT, "cannot make a folder without a name");
  char *partial = mem_strdup(path);
  int code = FIRN_OK;
  for (char *slash = strchr(partial + 1, '/'); slash && code == FIRN_OK; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    code = make_one_folder(partial, err);
    *slash = '/';
  }
  if (code == FIRN_OK) code = make_one_folder(partial, err);
  mem_free(partial);
  return code;
}

int file_sync(const char *path, struct error *err)
{
  return sync_path(path, O_RDONLY, err);
}

int file_commit(const char *temp, const char *target, struct error *err)
{
  int code = file_sync(temp, err);
  if (code == FIRN_OK && rename(temp, target) != 0)
    code = error_set(err, FIRN_EIO, "cannot rename %s to %s: %s", temp, target, strerror(errno));
  if (code != FIRN_OK) {
    unlink(temp);
    return code;
  }
  return sync_folder_of(target, err);
}

static int write_bytes(int fd, const char *bytes, size_t size)
{
  while (size > 0) {
    const ssize_t written = write(fd, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes += written;
    size -= (size_t)written;
  }
  return 0;
}

int file_write(const char *target, const void *bytes, size_t size, struct error *err)
{
  char *temp = file_temp_name(target);
  int code = FIRN_OK;
  const int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  int reason = fd < 0 ? errno : write_bytes(fd, bytes, size);
  if (fd >= 0 && close(fd) != 0 && reason == 0) reason = errno;
  if (reason != 0) {
    code = error_set(err, FIRN_EIO, "cannot write %s: %s", target, strerror(reason));
    if (fd >= 0) unlink(temp);
  } else {
    code = file_commit(temp, target, err);
  }
  mem_free(temp);
  return code;
}

int file_remove_stale(const char *folder)
{
  struct file_list *stale = NULL;
  if (file_list_create(&stale, folder, "", temp_suffix, NULL) != FIRN_OK) return 0;
  int removed = 0;
  for (int i = 0; i < stale->count; i++) {
    char *path = file_join(folder, stale->names[i]);
    removed += unlink(path) == 0;
    mem_free(path);
  }
  file_list_destroy(&stale);
  return removed;
}

/* Opens for reading and looks at what was opened, so that no other file can slip in between. O_NONBLOCK keeps
 * a named pipe from blocking the open. */
static int open_regular(const char *path, int *fd, size_t *size, struct error *err)
{
  *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (*fd < 0) return error_set(err, FIRN_EINPUT, "cannot open %s: %s", path, strerror(errno));
  struct stat status;
  int code = FIRN_OK;
  if (fstat(*fd, &status) != 0)
    code = error_set(err, FIRN_EIO, "cannot look at %s: %s", path, strerror(errno));
  else if (S_ISDIR(status.st_mode))
    code = error_set(err, FIRN_EINPUT, "%s is a folder, not a file", path);
  else if (!S_ISREG(status.st_mode))
    code = error_set(err, FIRN_EINPUT, "%s is not a regular file", path);
  if (code != FIRN_OK)
    close(*fd);
  else
    *size = (size_t)status.st_size;
  return code;
}

int file_check_readable(const char *path, struct error *err)
{
  int fd;
  size_t size;
  const int code = open_regular(path, &fd, &size, err);
  if (code == FIRN_OK) close(fd);
  return code;
}

int file_read(const char *path, size_t limit, char **out, size_t *size, struct error *err)
{
  int fd;
  size_t expected = 0;
  int code = open_regular(path, &fd, &expected, err);
  if (code != FIRN_OK) return code;
  if (expected > limit) {
    close(fd);
    return error_set(err, FIRN_ELIMIT, "%s has %zu bytes, more than the %zu that such a file may have", path,
                     expected, limit);
  }
  char *bytes = mem_alloc(expected + 1, 1);
  size_t done = 0;
  while (done < expected) {
    const ssize_t got = read(fd, bytes + done, expected - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) code = error_set(err, FIRN_EIO, "cannot read %s: %s", path, strerror(errno));
    if (got <= 0) break;
    done += (size_t)got;
  }
  close(fd);
  if (code != FIRN_OK) {
    mem_free(bytes);
    return code;
  }
  bytes[done] = '\0';
  *out = bytes;
  if (size) *size = done;
  return FIRN_OK;
}

int file_name_order(const char *a, const char *b)
{
  const size_t n = strlen(a), m = strlen(b);
  return n != m ? (n < m ? -1 : 1) : strcmp(a, b);
}

static int compare_names(const void *a, const void *b)
{
  return file_name_order(*(char *const *)a, *(char *const *)b);
}

int file_list_create(struct file_list **out, const char *folder, const char *prefix, const char *suffix,
                     struct error *err)
{
  DIR *stream = opendir(folder);
  if (!stream) return error_set(err, FIRN_EIO, "cannot read the folder %s: %s", folder, strerror(errno));
  struct file_list *list = mem_alloc(1, sizeof *list);
  size_t capacity = 0;
  for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream)) {
    const char *name = entry->d_name;
    if (strlen(name) < strlen(prefix) + strlen(suffix) || strncmp(name, prefix, strlen(prefix)) != 0 ||
        !ends_with(name, suffix))
      continue;
    if ((size_t)list->count == capacity) {
      list->names = mem_resize(list->names, capacity, 2 * capacity + 16, sizeof *list->names);
      capacity = 2 * capacity + 16;
    }
    list->names[list->count++] = mem_strdup(name);
  }
  closedir(stream);
  if (list->count > 0) qsort(list->names, (size_t)list->count, sizeof *list->names, compare_names);
  *out = list;
  return FIRN_OK;
}

void file_list_destroy(struct file_list **list)
{
  if (!list || !*list) return;
  for (int i = 0; i < (*list)->count; i++) mem_free((*list)->names[i]);
  mem_free((*list)->names);
  mem_free(*list);
  *list = NULL;
}
