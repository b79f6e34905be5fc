/* Rows without MPI-IO: each rank writes its own with pwrite(). Nothing is collective, so an error on one rank
 * can hang no other. */
#include "io/particles/writer_parts.h"

#include "base/log.h"
#include "base/memory.h"
#include "io/run/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { STAGING_BYTES = 8 << 20 };

int writer_put_bytes(int fd, const char *bytes, size_t size, int64_t at)
{
  while (size > 0) {
    const ssize_t written = pwrite(fd, bytes, size, at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    bytes += written;
    at += written;
    size -= (size_t)written;
  }
  return 0;
}

/* This rank's rows of one column; 0 or an errno. */
static int write_rows(struct writer *w, int fd, int c, void *staging)
{
  const struct writer_column *column = &w->plan->columns[c];
  const size_t size = writer_row_size(column);
  const int64_t slice = (int64_t)(STAGING_BYTES / size);
  struct seal_entry entry = {.row_size = (int64_t)size};
  const int64_t all = writer_rows(w, c);
  int reason = 0;
  for (int64_t from = 0; from < all && reason == 0; from += slice) {
    const int64_t left = all - from, rows = left < slice ? left : slice;
    column->gather(column->context, (int32_t)from, (int32_t)rows, staging);
    if (w->plan->sealed) seal_add_rows(&entry, w->first + from, rows, staging);
    const int64_t at = w->offset[c] + (w->first + from) * (int64_t)size;
    reason = writer_put_bytes(fd, staging, (size_t)rows * size, at);
    /* The disk begins now, while the next rows are gathered. Only a hint: errors show at the sync. */
    if (reason == 0) sync_file_range(fd, at, rows * (int64_t)size, SYNC_FILE_RANGE_WRITE);
    log_heartbeat(w->plan->what);
  }
  w->sum[c] = entry.sum;
  return reason;
}

/* Every rank brings its own bytes to the disk: another machine's cache is not rank 0's to flush. */
int writer_write_direct(struct writer *w, struct error *err)
{
  const int fd = open(w->temp, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return error_set(err, FIRN_EIO, "rank %d cannot open %s: %s; all ranks must see one file system",
                     w->comm->rank, w->temp, strerror(errno));
  int reason = 0;
  void *staging = mem_alloc(STAGING_BYTES, 1);
  for (int c = 0; c < w->plan->column_count && reason == 0; c++) reason = write_rows(w, fd, c, staging);
  mem_free(staging);
  if (reason == 0 && fsync(fd) != 0 && errno != EINVAL) reason = errno;
  if (close(fd) != 0 && reason == 0) reason = errno;
  if (reason == 0) return FIRN_OK;
  return error_set(err, FIRN_EIO, "rank %d cannot write %s: %s", w->comm->rank, w->plan->target,
                   strerror(reason));
}
