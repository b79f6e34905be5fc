/* NumPy's NPZ: a zip archive of .npy files, stored without compression. Sizes always come in the fields of 64
 * bits (zip64), so that there is one form for all sizes. */
#include "io/particles/export.h"

#include "base/memory.h"

#include <inttypes.h>
#include <string.h>
#include <zlib.h>

enum { MOST_HEADER = 256 };

/* One file of the archive. */
struct entry {
  char name[80];
  uint64_t offset, size;
  uint32_t sum;
};

static void put16(FILE *file, unsigned value)
{
  const uint8_t bytes[2] = {(uint8_t)value, (uint8_t)(value >> 8)};
  fwrite(bytes, 1, 2, file);
}

static void put32(FILE *file, uint32_t value)
{
  put16(file, value & 0xffff);
  put16(file, value >> 16);
}

static void put64(FILE *file, uint64_t value)
{
  put32(file, (uint32_t)value);
  put32(file, (uint32_t)(value >> 32));
}

/* The head of a .npy file: a dictionary in Python's notation, padded to a multiple of 64 bytes. */
static size_t npy_header(const struct export_data *d, const struct export_field *f, char out[MOST_HEADER])
{
  static const char *const types[] = {"<f4", "<f8", "<u4", "<u8"};
  char shape[64];
  if (f->components == 1)
    snprintf(shape, sizeof shape, "(%" PRId64 ",)", d->count);
  else if (f->components == 9)
    snprintf(shape, sizeof shape, "(%" PRId64 ", 3, 3)", d->count);
  else
    snprintf(shape, sizeof shape, "(%" PRId64 ", %d)", d->count, f->components);
  const int text = snprintf(out + 10, MOST_HEADER - 10,
                            "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", types[f->type], shape);
  const size_t all = (10 + (size_t)text + 1 + 63) / 64 * 64, body = all - 10;
  memcpy(out, "\x93NUMPY\x01\x00", 8);
  out[8] = (char)(body & 0xff);
  out[9] = (char)(body >> 8);
  memset(out + 10 + text, ' ', body - (size_t)text);
  out[all - 1] = '\n';
  return all;
}

static uint32_t sum_of(const void *head, size_t head_size, const char *rows, uint64_t size)
{
  uLong sum = crc32(0, head, (uInt)head_size);
  for (uint64_t at = 0; at < size; at += 1 << 30)
    sum = crc32(sum, (const Bytef *)rows + at, (uInt)(size - at < 1 << 30 ? size - at : 1 << 30));
  return (uint32_t)sum;
}

/* What local and central headers share, from "version needed" to the length of the extra field. */
static void put_common(FILE *file, const struct entry *e, unsigned extra)
{
  put16(file, 45); /* zip64 */
  put16(file, 0);
  put16(file, 0);           /* stored */
  put32(file, 0x00210000u); /* 1980-01-01: no clock in the file */
  put32(file, e->sum);
  put32(file, 0xffffffffu);
  put32(file, 0xffffffffu);
  put16(file, (unsigned)strlen(e->name));
  put16(file, extra);
}

static void put_local(FILE *file, const struct entry *e)
{
  put32(file, 0x04034b50u);
  put_common(file, e, 20);
  fputs(e->name, file);
  put16(file, 1);
  put16(file, 16);
  put64(file, e->size);
  put64(file, e->size);
}

static void put_central(FILE *file, const struct entry *e)
{
  put32(file, 0x02014b50u);
  put16(file, 45);
  put_common(file, e, 28);
  put16(file, 0);
  put16(file, 0);
  put16(file, 0);
  put32(file, 0);
  put32(file, 0xffffffffu);
  fputs(e->name, file);
  put16(file, 1);
  put16(file, 24);
  put64(file, e->size);
  put64(file, e->size);
  put64(file, e->offset);
}

static void put_end(FILE *file, int count, uint64_t from, uint64_t to)
{
  put32(file, 0x06064b50u); /* zip64 end of central directory */
  put64(file, 44);
  put16(file, 45);
  put16(file, 45);
  put32(file, 0);
  put32(file, 0);
  put64(file, (uint64_t)count);
  put64(file, (uint64_t)count);
  put64(file, to - from);
  put64(file, from);
  put32(file, 0x07064b50u); /* and where it is */
  put32(file, 0);
  put64(file, to);
  put32(file, 1);
  put32(file, 0x06054b50u); /* the old one, which points there */
  put16(file, 0);
  put16(file, 0);
  put16(file, 0xffff);
  put16(file, 0xffff);
  put32(file, 0xffffffffu);
  put32(file, 0xffffffffu);
  put16(file, 0);
}

void export_npz(FILE *file, const struct export_data *d)
{
  struct entry *entries = mem_alloc((size_t)d->field_count + 1, sizeof *entries);
  const struct export_data once = {.count = 1};
  double time = d->time;
  const struct export_field clock = {.name = "time", .components = 1, .type = EXPORT_F64, .rows = &time};
  for (int k = 0; k <= d->field_count; k++) {
    const struct export_field *f = k < d->field_count ? &d->field[k] : &clock;
    const struct export_data *of = k < d->field_count ? d : &once;
    struct entry *e = &entries[k];
    char head[MOST_HEADER];
    const size_t head_size = npy_header(of, f, head);
    const uint64_t bytes = (uint64_t)of->count * (uint64_t)f->components * export_size(f->type);
    snprintf(e->name, sizeof e->name, "%s.npy", f->name);
    e->offset = (uint64_t)ftello(file);
    e->size = head_size + bytes;
    e->sum = sum_of(head, head_size, f->rows, bytes);
    put_local(file, e);
    fwrite(head, 1, head_size, file);
    fwrite(f->rows, 1, bytes, file);
  }
  const uint64_t from = (uint64_t)ftello(file);
  for (int k = 0; k <= d->field_count; k++) put_central(file, &entries[k]);
  put_end(file, d->field_count + 1, from, (uint64_t)ftello(file));
  mem_free(entries);
}
