/* See seal.h. */
#include "io/run/seal.h"

#include "base/memory.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL /* rows are short: a call would cost as much as the hash */
#include <xxhash.h>

enum { VERSION = 1, BLOCK_BYTES = 65536 };

static const char blocks_name[] = "blocks";

static const char headline[] = "firn sealed file";

void seal_add_rows(struct seal_entry *entry, int64_t first, int64_t n, const void *rows)
{
  const size_t size = (size_t)entry->row_size;
  const char *row = rows;
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; i++, row += size)
    sum += XXH3_64bits_withSeed(row, size, (XXH64_hash_t)(first + i));
  entry->sum += sum;
}

bool seal_add_entry(struct seal *seal, const struct seal_entry *entry)
{
  if (seal->count == SEAL_ENTRIES) return false;
  seal->entries[seal->count++] = *entry;
  return true;
}

const struct seal_entry *seal_find(const struct seal *seal, const char *name)
{
  for (int k = 0; k < seal->count; k++)
    if (strcmp(seal->entries[k].name, name) == 0) return &seal->entries[k];
  return NULL;
}

static int compare_places(const void *a, const void *b)
{
  const int64_t left = (*(const struct seal_entry *const *)a)->offset,
                right = (*(const struct seal_entry *const *)b)->offset;
  return left < right ? -1 : left > right;
}

/* The tables in the order of the file; false if they overlap, reach over its end or into the seal. */
static bool sort_places(const struct seal *seal, int64_t size, const struct seal_entry **places)
{
  for (int k = 0; k < seal->count; k++) places[k] = &seal->entries[k];
  qsort(places, (size_t)seal->count, sizeof *places, compare_places);
  int64_t at = SEAL_BYTES;
  for (int k = 0; k < seal->count; k++) {
    int64_t bytes;
    if (places[k]->rows < 0 || places[k]->row_size <= 0 || places[k]->offset < at ||
        __builtin_mul_overflow(places[k]->rows, places[k]->row_size, &bytes) || places[k]->offset > size ||
        bytes > size - places[k]->offset)
      return false;
    at = places[k]->offset + bytes;
  }
  return true;
}

/* 0; -1 where the file ends before; or an errno. */
static int hash_range(int fd, int64_t from, int64_t to, XXH3_state_t *state)
{
  enum { PIECE = 1 << 16 };
  char piece[PIECE];
  while (from < to) {
    const size_t wanted = to - from < PIECE ? (size_t)(to - from) : PIECE;
    const ssize_t got = pread(fd, piece, wanted, from);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : -1;
    XXH3_64bits_update(state, piece, (size_t)got);
    from += got;
  }
  return 0;
}

/* Of all bytes that are neither seal nor rows; as hash_range(). */
static int hash_rest(int fd, int64_t size, const struct seal *seal, uint64_t *hash)
{
  const struct seal_entry *places[SEAL_ENTRIES];
  if (!sort_places(seal, size, places)) return -1;
  XXH3_state_t *state = XXH3_createState();
  XXH3_64bits_reset(state);
  int64_t at = SEAL_BYTES;
  int reason = 0;
  for (int k = 0; k < seal->count && reason == 0; k++) {
    reason = hash_range(fd, at, places[k]->offset, state);
    at = places[k]->offset + places[k]->rows * places[k]->row_size;
  }
  if (reason == 0) reason = hash_range(fd, at, size, state);
  *hash = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  return reason;
}

/* The text of a seal, padded with zeros; false if it does not fit. */
static bool print_seal(const struct seal *seal, int64_t size, uint64_t rest, char block[SEAL_BYTES])
{
  memset(block, 0, SEAL_BYTES);
  size_t used = (size_t)snprintf(block, SEAL_BYTES, "%s %d\nbytes %" PRId64 "\n", headline, VERSION, size);
  for (int k = 0; k < seal->count && used < SEAL_BYTES; k++) {
    const struct seal_entry *e = &seal->entries[k];
    used += (size_t)snprintf(block + used, SEAL_BYTES - used,
                             "rows %s %" PRId64 " %" PRId64 " %" PRId64 " %016" PRIx64 "\n", e->name,
                             e->offset, e->rows, e->row_size, e->sum);
  }
  if (used < SEAL_BYTES)
    used += (size_t)snprintf(block + used, SEAL_BYTES - used, "rest %016" PRIx64 "\n", rest);
  if (used + 32 >= SEAL_BYTES) return false;
  const uint64_t own = XXH3_64bits(block, used);
  snprintf(block + used, SEAL_BYTES - used, "seal %016" PRIx64 "\n", own);
  return true;
}

static int write_block(int fd, const char *path, const char block[SEAL_BYTES], struct error *err)
{
  for (size_t done = 0; done < SEAL_BYTES;) {
    const ssize_t written = pwrite(fd, block + done, SEAL_BYTES - done, (off_t)done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return error_set(err, FIRN_EIO, "cannot write %s: %s", path, strerror(errno));
    done += (size_t)written;
  }
  return FIRN_OK;
}

bool seal_has_blocks(const struct seal *seal)
{
  return seal->count > 0 && strcmp(seal->entries[0].name, blocks_name) == 0;
}

int seal_plan_blocks(struct seal_entry *entry, const char *path, struct error *err)
{
  struct stat status;
  if (stat(path, &status) != 0)
    return error_set(err, FIRN_EIO, "cannot look at %s: %s", path, strerror(errno));
  *entry = (struct seal_entry){.offset = SEAL_BYTES, .row_size = BLOCK_BYTES};
  if (status.st_size > SEAL_BYTES) entry->rows = (status.st_size - SEAL_BYTES) / BLOCK_BYTES;
  memcpy(entry->name, blocks_name, sizeof blocks_name);
  return FIRN_OK;
}

int seal_write(const struct seal *seal, const char *path, struct error *err)
{
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return error_set(err, FIRN_EIO, "cannot open %s: %s", path, strerror(errno));
  struct stat status;
  uint64_t rest = 0;
  char block[SEAL_BYTES];
  int code = FIRN_OK;
  if (fstat(fd, &status) != 0 || hash_rest(fd, status.st_size, seal, &rest) != 0)
    code = error_set(err, FIRN_EIO, "cannot read %s back to seal it", path);
  else if (!print_seal(seal, status.st_size, rest, block))
    code = error_set(err, FIRN_ELIMIT, "%s has more tables than its seal can hold", path);
  else
    code = write_block(fd, path, block, err);
  if (close(fd) != 0 && code == FIRN_OK)
    code = error_set(err, FIRN_EIO, "cannot write %s: %s", path, strerror(errno));
  return code;
}

/* As hash_range(). */
static int read_bytes(int fd, char *bytes, size_t size, int64_t from)
{
  size_t done = 0;
  while (done < size) {
    const ssize_t got = pread(fd, bytes + done, size - done, from + (int64_t)done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : -1;
    done += (size_t)got;
  }
  return 0;
}

/* Reads the tables and what the seal says of the rest; the text ends within the block. */
static bool scan_seal(const char *text, struct seal *seal, int64_t *size, uint64_t *rest)
{
  int used = 0;
  char first[32];
  *seal = (struct seal){0};
  snprintf(first, sizeof first, "%s %d\n", headline, VERSION);
  if (strncmp(text, first, strlen(first)) != 0) return false;
  text += strlen(first);
  if (sscanf(text, "bytes %" SCNd64 "%n", size, &used) != 1 || text[used] != '\n') return false;
  text += used + 1;
  struct seal_entry e = {.rows = 0};
  while (sscanf(text, "rows %31s %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNx64 "%n", e.name, &e.offset,
                &e.rows, &e.row_size, &e.sum, &used) == 5) {
    if (text[used] != '\n' || !seal_add_entry(seal, &e)) return false;
    text += used + 1;
  }
  return sscanf(text, "rest %" SCNx64, rest) == 1;
}

/* The version that a whole seal has, by its first line; 0 if its own hash, the last line, does not fit. A
 * flipped digit is damage and no version. */
static int version_of(const char block[SEAL_BYTES + 1])
{
  int version = 0;
  char last[32];
  const char *line = strstr(block, "\nseal ");
  if (!line || strncmp(block, headline, sizeof headline - 1) != 0) return 0;
  line++;
  snprintf(last, sizeof last, "seal %016" PRIx64 "\n", (uint64_t)XXH3_64bits(block, (size_t)(line - block)));
  if (strcmp(line, last) != 0 || sscanf(block + sizeof headline - 1, " %d", &version) != 1) return 0;
  return version;
}

/* The seal, and the length of the file; *rest as the seal has it. */
static int read_seal(int fd, struct seal *seal, int64_t *length, uint64_t *rest, const char *path,
                     struct error *err)
{
  char block[SEAL_BYTES + 1] = "", again[SEAL_BYTES];
  int64_t size = 0;
  struct stat status;
  if (fstat(fd, &status) != 0)
    return error_set(err, FIRN_EIO, "cannot look at %s: %s", path, strerror(errno));
  if (!S_ISREG(status.st_mode)) return error_set(err, FIRN_EDAMAGED, "%s is not a regular file", path);
  int reason = read_bytes(fd, block, SEAL_BYTES, 0);
  if (reason > 0) return error_set(err, FIRN_EIO, "cannot read %s: %s", path, strerror(reason));
  const int version = reason == 0 ? version_of(block) : 0;
  if (version > 0 && version != VERSION)
    return error_set(err, FIRN_EFORMAT, "%s has a seal of version %d and this Firn reads version %d", path,
                     version, VERSION);
  if (reason < 0 || !scan_seal(block, seal, &size, rest))
    return error_set(err, FIRN_EDAMAGED, "%s does not begin with a whole seal", path);
  /* Printing what was read gives the same block, hash and padding too, or something was changed. */
  if (!print_seal(seal, size, *rest, again) || memcmp(block, again, SEAL_BYTES) != 0)
    return error_set(err, FIRN_EDAMAGED, "%s is damaged: its seal is broken", path);
  if (status.st_size != size)
    return error_set(err, FIRN_EDAMAGED, "%s is damaged: it has %lld bytes and should have %lld", path,
                     (long long)status.st_size, (long long)size);
  *length = size;
  return FIRN_OK;
}

/* Adds rows first .. first + n - 1 of a table to its sum; as hash_range(). */
static int sum_rows(int fd, struct seal_entry *entry, int64_t first, int64_t n)
{
  const int64_t piece = 1 << 20, most = piece > entry->row_size ? piece / entry->row_size : 1;
  char *rows = mem_alloc((size_t)most, (size_t)entry->row_size);
  int reason = 0;
  for (int64_t row = first; row < first + n && reason == 0; row += most) {
    const int64_t count = first + n - row < most ? first + n - row : most;
    reason = read_bytes(fd, rows, (size_t)(count * entry->row_size), entry->offset + row * entry->row_size);
    if (reason == 0) seal_add_rows(entry, row, count, rows);
  }
  mem_free(rows);
  return reason;
}

/* As hash_range(); -1 also if the sum is another one. */
static int compare_rows(int fd, const struct seal_entry *entry)
{
  struct seal_entry found = *entry;
  found.sum = 0;
  const int reason = sum_rows(fd, &found, 0, entry->rows);
  return reason == 0 && found.sum != entry->sum ? -1 : reason;
}

static int check_open(int fd, struct seal *seal, const char *path, struct error *err)
{
  int64_t size;
  uint64_t rest = 0, found = 0;
  const int code = read_seal(fd, seal, &size, &rest, path, err);
  if (code != FIRN_OK) return code;
  int reason = hash_rest(fd, size, seal, &found);
  if (reason == 0 && seal_has_blocks(seal)) reason = compare_rows(fd, &seal->entries[0]);
  if (reason > 0) return error_set(err, FIRN_EIO, "cannot read %s: %s", path, strerror(reason));
  if (reason < 0 || found != rest)
    return error_set(err, FIRN_EDAMAGED, "%s is damaged: what is around its rows has changed", path);
  return FIRN_OK;
}

/* Opens for reading; a missing file is damage, since another one may do instead. */
static int open_sealed(const char *path, int *fd, struct error *err)
{
  *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (*fd >= 0) return FIRN_OK;
  return error_set(err, errno == ENOENT ? FIRN_EDAMAGED : FIRN_EIO, "cannot open %s: %s", path,
                   strerror(errno));
}

int seal_check(struct seal *seal, const char *path, struct error *err)
{
  int fd;
  int code = open_sealed(path, &fd, err);
  if (code != FIRN_OK) return code;
  code = check_open(fd, seal, path, err);
  close(fd);
  return code;
}

int seal_read(struct seal *seal, const char *path, struct error *err)
{
  int fd;
  int64_t size;
  uint64_t rest;
  int code = open_sealed(path, &fd, err);
  if (code != FIRN_OK) return code;
  code = read_seal(fd, seal, &size, &rest, path, err);
  close(fd);
  return code;
}

int seal_sum_blocks(struct seal_entry *entry, const char *path, int64_t first, int64_t n, struct error *err)
{
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const int reason = fd < 0 ? errno : sum_rows(fd, entry, first, n);
  if (fd >= 0) close(fd);
  if (reason == 0) return FIRN_OK;
  return error_set(err, FIRN_EIO, "cannot read %s back to seal it: %s", path,
                   reason > 0 ? strerror(reason) : "it is shorter than it was");
}

int seal_check_rows(const struct seal_entry *entry, const char *path, struct error *err)
{
  int fd;
  const int code = open_sealed(path, &fd, err);
  if (code != FIRN_OK) return code;
  const int reason = compare_rows(fd, entry);
  close(fd);
  if (reason > 0) return error_set(err, FIRN_EIO, "cannot read %s: %s", path, strerror(reason));
  if (reason == 0) return FIRN_OK;
  return error_set(err, FIRN_EDAMAGED, "%s is damaged: the rows of %s have changed", path, entry->name);
}

int seal_check_all(const char *path, struct error *err)
{
  struct seal seal = {0};
  int code = seal_check(&seal, path, err);
  for (int k = seal_has_blocks(&seal); k < seal.count && code == FIRN_OK; k++)
    code = seal_check_rows(&seal.entries[k], path, err);
  return code;
}

/* HDF5 that begins where a seal ends: whatever is in the seal's place now, it was one. */
static bool is_remnant(const char block[SEAL_BYTES + 8])
{
  static const char signature[] = "\211HDF\r\n\032\n";
  return memcmp(block + SEAL_BYTES, signature, 8) == 0 && memcmp(block, signature, 8) != 0;
}

bool seal_is_there(const char *path)
{
  char block[SEAL_BYTES + 8];
  if (file_begins_with(path, headline, sizeof headline - 1)) return true;
  int fd;
  if (open_sealed(path, &fd, NULL) != FIRN_OK) return false;
  struct stat status;
  const bool remnant = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                       read_bytes(fd, block, sizeof block, 0) == 0 && is_remnant(block);
  close(fd);
  return remnant;
}
