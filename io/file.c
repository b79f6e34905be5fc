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
#include <xxhash.h>

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

bool file_is_writable(const char *path)
{
  struct stat status;
  return stat(path, &status) == 0 && (status.st_mode & 0222) != 0;
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
char *file_temp_name(const char *target, int64_t generation)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const size_t size = strlen(target) + 96;
  char *name = mem_alloc(size, 1);
  snprintf(name, size, "%s.%lld-%lx-%llx%s", target, (long long)generation, (unsigned long)getpid(),
           (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec, temp_suffix);
  return name;
}

/* The generation in a temporary's name, and its target; false where file_temp_name() made no such name. */
static bool parse_temp_name(const char *name, int64_t *generation, char *target, size_t size)
{
  long long number;
  unsigned long process;
  unsigned long long clock;
  char again[96];
  const char *dot = ends_with(name, temp_suffix) ? name + strlen(name) - strlen(temp_suffix) : NULL;
  while (dot && dot > name && *--dot != '.') continue;
  if (!dot || dot == name || (size_t)(dot - name) >= size ||
      sscanf(dot, ".%lld-%lx-%llx", &number, &process, &clock) != 3)
    return false;
  snprintf(again, sizeof again, ".%lld-%lx-%llx%s", number, process, clock, temp_suffix);
  snprintf(target, size, "%.*s", (int)(dot - name), name);
  *generation = number;
  return strcmp(again, dot) == 0;
}

int64_t file_number(const char *name, const char *prefix, int width, const char *suffix)
{
  char again[256];
  if (strncmp(name, prefix, strlen(prefix)) != 0) return -1;
  errno = 0;
  const long long number = strtoll(name + strlen(prefix), NULL, 10);
  if (errno != 0 || number < 0) return -1;
  snprintf(again, sizeof again, "%s%0*lld%s", prefix, width, number, suffix);
  return strcmp(name, again) == 0 ? number : -1;
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

int file_write(const char *target, int64_t generation, const void *bytes, size_t size, struct error *err)
{
  char *temp = file_temp_name(target, generation);
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

int file_remove_stale(const char *folder, int64_t generation, bool (*is_target)(const char *name))
{
  struct file_list *stale = NULL;
  if (file_list_create(&stale, folder, "", temp_suffix, NULL) != FIRN_OK) return 0;
  int removed = 0;
  for (int i = 0; i < stale->count; i++) {
    char target[256];
    int64_t writer;
    if (!parse_temp_name(stale->names[i], &writer, target, sizeof target) || writer < 1 ||
        writer >= generation || !is_target(target))
      continue;
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

/* Reads on until size bytes or the end; how many, or -1 with errno. */
static ssize_t read_fully(int fd, char *bytes, size_t size)
{
  size_t done = 0;
  while (done < size) {
    const ssize_t got = read(fd, bytes + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += (size_t)got;
  }
  return (ssize_t)done;
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
  const ssize_t done = read_fully(fd, bytes, expected);
  if (done < 0) code = error_set(err, FIRN_EIO, "cannot read %s: %s", path, strerror(errno));
  close(fd);
  if (code != FIRN_OK) {
    mem_free(bytes);
    return code;
  }
  bytes[done] = '\0';
  *out = bytes;
  if (size) *size = (size_t)done;
  return FIRN_OK;
}

bool file_begins_with(const char *path, const void *bytes, size_t size)
{
  char found[1024];
  int fd;
  size_t length;
  if (size > sizeof found || open_regular(path, &fd, &length, NULL) != FIRN_OK) return false;
  const bool same = read_fully(fd, found, size) == (ssize_t)size && memcmp(found, bytes, size) == 0;
  close(fd);
  return same;
}

int file_check_replaceable(const char *path, bool known, const char *what, struct error *err)
{
  struct stat status;
  if (known || stat(path, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return FIRN_OK;
  return error_set(err, FIRN_EINPUT,
                   "refusing to overwrite %s: it is not %s; give another name, or remove it", path, what);
}

int file_hash(const char *path, size_t most, uint64_t *hash, struct error *err)
{
  const size_t size = 1 << 20;
  int fd;
  size_t length;
  const int code = open_regular(path, &fd, &length, err);
  if (code != FIRN_OK) return code;
  char *piece = mem_alloc(size, 1);
  XXH3_state_t *state = XXH3_createState();
  XXH3_64bits_reset(state);
  ssize_t got;
  while ((got = read_fully(fd, piece, size < most ? size : most)) > 0) {
    XXH3_64bits_update(state, piece, (size_t)got);
    most -= (size_t)got;
  }
  const int reason = got < 0 ? errno : 0;
  *hash = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  mem_free(piece);
  close(fd);
  return reason ? error_set(err, FIRN_EIO, "cannot read %s: %s", path, strerror(reason)) : FIRN_OK;
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
