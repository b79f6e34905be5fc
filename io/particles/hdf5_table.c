/* Tables and grids of numbers in HDF5 files that others may have written: nothing about them is taken on
 * trust.
 *
 * HDF5 itself checks little. A chunk that is shorter than its shape says is read beyond its end, a strange
 * number format is converted bit by bit as a damaged header describes it, unknown filters are looked for as
 * programs on the disk, and the bytes of a dataset may be those of any other file of the machine. So only
 * plain numbers are read, which lie in this very file, in one piece or in chunks with the two filters that
 * Firn writes; and chunks are unpacked here. */
#include "io/particles/hdf5.h"

#include "base/memory.h"

#include <string.h>
#include <zlib.h>

enum { MOST_EXPANSION = 1032 }; /* of deflate */
static const hsize_t most_chunk_bytes = (hsize_t)1 << 31;

/* --- what may be read --- */

static bool is_plain_number(hid_t type)
{
  const hid_t plain[] = {H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_STD_I8LE,  H5T_STD_I16LE, H5T_STD_I32LE,
                         H5T_STD_I64LE,  H5T_STD_U8LE,   H5T_STD_U16LE, H5T_STD_U32LE, H5T_STD_U64LE,
                         H5T_IEEE_F32BE, H5T_IEEE_F64BE, H5T_STD_I8BE,  H5T_STD_I16BE, H5T_STD_I32BE,
                         H5T_STD_I64BE,  H5T_STD_U8BE,   H5T_STD_U16BE, H5T_STD_U32BE, H5T_STD_U64BE};
  for (size_t k = 0; k < sizeof plain / sizeof *plain; k++)
    if (H5Tequal(type, plain[k]) > 0) return true;
  return false;
}

/* Shuffle, deflate, or both in this order. */
static bool knows_filters(struct hdf5_table *table, hid_t creation)
{
  const int count = H5Pget_nfilters(creation);
  for (int k = 0; k < count; k++) {
    unsigned flags, values[8] = {0};
    size_t value_count = 8;
    const H5Z_filter_t filter =
        H5Pget_filter2(creation, (unsigned)k, &flags, &value_count, values, 0, NULL, NULL);
    if (filter == H5Z_FILTER_SHUFFLE && !table->shuffled && !table->deflated && values[0] == table->bytes)
      table->shuffled = true;
    else if (filter == H5Z_FILTER_DEFLATE && !table->deflated)
      table->deflated = true;
    else
      return false;
  }
  return count >= 0;
}

static bool multiply(hsize_t *product, hsize_t factor)
{
  return !__builtin_mul_overflow(*product, factor, product);
}

/* The shape of a chunk, and that a file of so many bytes can have chunks like this. */
static bool has_sound_chunks(struct hdf5_table *table, hid_t creation, hsize_t file_bytes)
{
  hsize_t bytes = table->bytes, count = 1;
  if (H5Pget_chunk(creation, 4, table->chunk) != table->axes) return false;
  for (int a = 0; a < table->axes; a++) {
    if (table->chunk[a] == 0 || !multiply(&bytes, table->chunk[a])) return false;
    if (table->dims[a] > 0 && !multiply(&count, (table->dims[a] - 1) / table->chunk[a] + 1)) return false;
  }
  for (int a = table->axes; a < 4; a++) table->chunk[a] = 1;
  if (bytes > most_chunk_bytes || bytes > file_bytes * (table->deflated ? MOST_EXPANSION : 1)) return false;
  table->chunk_bytes = (size_t)bytes;
  return count <= 1000000 + file_bytes / 16; /* chunks that were never written take no room */
}

/* Elements that the dataset claims to have, times their size, must fit into the file. */
static bool is_believable(const struct hdf5_table *table, hsize_t file_bytes)
{
  hsize_t bytes = table->bytes;
  bool fits = multiply(&file_bytes, table->deflated ? MOST_EXPANSION : 1);
  for (int a = 0; a < table->axes && fits; a++) fits = multiply(&bytes, table->dims[a]);
  /* HDF5 1.10 trusts the shape and reads beyond what a damaged file gave it. */
  if (fits && !table->chunk_bytes) fits = H5Dget_storage_size(table->dataset) >= bytes;
  return fits && bytes <= file_bytes;
}

static int check_storage(struct hdf5_table *table, hid_t creation, const char *name, const char *path,
                         struct error *err)
{
  const H5D_layout_t layout = H5Pget_layout(creation);
  const hid_t file = H5Iget_file_id(table->dataset);
  hsize_t file_bytes = 0;
  const bool known = H5Fget_filesize(file, &file_bytes) >= 0;
  H5Fclose(file);
  if (layout == H5D_VIRTUAL || H5Pget_external_count(creation) != 0)
    return error_set(err, FIRN_EINPUT,
                     "%s: %s lies in other files, which are not read; copy it into this one", path, name);
  if (layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED)
    return error_set(err, FIRN_EINPUT, "%s: %s is stored neither in one piece nor in chunks; store it so",
                     path, name);
  if (!knows_filters(table, creation))
    return error_set(err, FIRN_EINPUT,
                     "%s: %s is stored with a filter that is not read; store it plainly, or with gzip", path,
                     name);
  if (!known || (layout == H5D_CHUNKED && !has_sound_chunks(table, creation, file_bytes)))
    return error_set(err, FIRN_EINPUT, "%s: the chunks of %s do not fit its shape or the file: it is damaged",
                     path, name);
  if (!is_believable(table, file_bytes))
    return error_set(err, FIRN_EINPUT, "%s: %s claims more rows (%llu) than the file can hold: it is damaged",
                     path, name, (unsigned long long)table->dims[0]);
  return FIRN_OK;
}

static int look_at(struct hdf5_table *table, int most_axes, const char *name, const char *path,
                   struct error *err)
{
  const hid_t type = H5Dget_type(table->dataset), space = H5Dget_space(table->dataset);
  table->class = H5Tget_class(type);
  table->is_signed = table->class == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_2;
  table->bytes = H5Tget_size(type);
  table->axes = H5Sget_simple_extent_type(space) == H5S_SIMPLE ? H5Sget_simple_extent_ndims(space) : 0;
  const bool shaped = table->axes >= 1 && table->axes <= most_axes, plain = is_plain_number(type);
  for (int a = 0; a < 4; a++) table->dims[a] = 1;
  if (shaped) H5Sget_simple_extent_dims(space, table->dims, NULL);
  H5Sclose(space);
  H5Tclose(type);
  if (table->class != H5T_INTEGER && table->class != H5T_FLOAT)
    return error_set(err, FIRN_EINPUT, "%s: %s does not hold numbers", path, name);
  if (!plain)
    return error_set(
        err, FIRN_EINPUT,
        "%s: %s holds numbers of a format that is not read; expected integers of 8 to 64 bits or "
        "floats of 32 or 64",
        path, name);
  if (!shaped)
    return error_set(err, FIRN_EINPUT, "%s: %s has %d dimensions, expected 1 to %d", path, name, table->axes,
                     most_axes);
  table->rows = (int64_t)table->dims[0];
  const hid_t creation = H5Dget_create_plist(table->dataset);
  const int code = check_storage(table, creation, name, path, err);
  H5Pclose(creation);
  return code;
}

static int no_such_dataset(hid_t group, const char *name, const char *path, struct error *err)
{
  H5L_info_t link;
  if (H5Lget_info(group, name, &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_EXTERNAL)
    return error_set(err, FIRN_EINPUT,
                     "%s: %s is a link to another file, which is not followed; copy it into "
                     "this one",
                     path, name);
  return error_set(err, FIRN_EINPUT, "%s: the dataset %s is missing", path, name);
}

int hdf5_array_open(struct hdf5_table *table, hid_t group, const char *name, int most_axes, const char *path,
                    struct error *err)
{
  *table = (struct hdf5_table){.dataset = -1};
  if (!hdf5_has(group, name)) return no_such_dataset(group, name, path, err);
  const hid_t object = hdf5_object_open(group, name);
  if (object < 0) return hdf5_error(err, FIRN_EINPUT, "%s: cannot open %s", path, name);
  if (H5Iget_type(object) != H5I_DATASET) {
    H5Oclose(object);
    return error_set(err, FIRN_EINPUT, "%s: %s is not a dataset", path, name);
  }
  table->dataset = object;
  const int code = look_at(table, most_axes, name, path, err);
  if (code != FIRN_OK) hdf5_table_close(table);
  return code;
}

int hdf5_table_open(struct hdf5_table *table, hid_t group, const char *name, const char *path,
                    struct error *err)
{
  hsize_t components = 1;
  const int code = hdf5_array_open(table, group, name, 3, path, err);
  if (code != FIRN_OK) return code;
  for (int a = 1; a < table->axes; a++)
    if (table->dims[a] == 0 || !multiply(&components, table->dims[a]) || components > 1024) {
      hdf5_table_close(table);
      return error_set(err, FIRN_EINPUT, "%s: a row of %s must have 1 to 1024 elements", path, name);
    }
  table->components = (int)components;
  return FIRN_OK;
}

void hdf5_table_close(struct hdf5_table *table)
{
  if (table->dataset >= 0) H5Dclose(table->dataset);
  table->dataset = -1;
  mem_free(table->unpacked);
  table->unpacked = NULL;
}

/* --- reading --- */

/* A chunk as it is in the file. */
struct packed {
  unsigned char *bytes; /* NULL for one that was never written */
  hsize_t size;
  bool deflated;
};

/* False if the chunk cannot be what its dataset says. */
static bool fetch_chunk(const struct hdf5_table *table, const hsize_t at[4], struct packed *packed)
{
  uint32_t skipped = 0; /* a bit for each filter that HDF5 left out, as it does where deflate gains nothing */
  *packed = (struct packed){.bytes = NULL};
  if (H5Dget_chunk_storage_size(table->dataset, at, &packed->size) < 0) return false;
  if (packed->size == 0) return true;
  if (packed->size > table->chunk_bytes + table->chunk_bytes / 100 + 1024) return false;
  packed->bytes = mem_alloc((size_t)packed->size, 1);
  bool good = H5Dread_chunk(table->dataset, H5P_DEFAULT, at, &skipped, packed->bytes) >= 0;
  const bool raw = table->deflated && skipped == (table->shuffled ? 2u : 1u);
  packed->deflated = table->deflated && !raw;
  good = good && (raw || skipped == 0) && (packed->deflated || packed->size == table->chunk_bytes);
  if (!good) mem_free(packed->bytes);
  return good;
}

/* All of `packed` must become exactly the chunk. */
static bool inflate_chunk(const struct packed *packed, unsigned char *out, size_t size)
{
  uLongf got = (uLongf)size;
  return uncompress(out, &got, packed->bytes, (uLong)packed->size) == Z_OK && got == (uLongf)size;
}

/* Byte b of all elements, for each b, becomes the elements. */
static void unshuffle(const unsigned char *from, unsigned char *to, size_t count, size_t bytes)
{
  for (size_t b = 0; b < bytes; b++)
    for (size_t k = 0; k < count; k++) to[k * bytes + b] = from[b * count + k];
}

/* What a chunk that was never written holds, in the file's type. */
static bool fill_chunk(const struct hdf5_table *table, hid_t type, unsigned char *out)
{
  const hid_t creation = H5Dget_create_plist(table->dataset);
  const bool good = H5Pget_fill_value(creation, type, out) >= 0;
  H5Pclose(creation);
  for (size_t k = table->bytes; k < table->chunk_bytes; k++) out[k] = out[k - table->bytes];
  return good;
}

/* A chunk's elements in the file's type. */
static bool decode_chunk(const struct hdf5_table *table, const hsize_t at[4], hid_t type, unsigned char *out)
{
  struct packed packed;
  if (!fetch_chunk(table, at, &packed)) return false;
  if (!packed.bytes) return fill_chunk(table, type, out);
  unsigned char *mixed = table->shuffled ? mem_alloc(table->chunk_bytes, 1) : out;
  bool good = true;
  if (packed.deflated)
    good = inflate_chunk(&packed, mixed, table->chunk_bytes);
  else
    memcpy(mixed, packed.bytes, table->chunk_bytes);
  if (table->shuffled) {
    unshuffle(mixed, out, table->chunk_bytes / table->bytes, table->bytes);
    mem_free(mixed);
  }
  mem_free(packed.bytes);
  return good;
}

/* One chunk as elements of the memory's type, in table->unpacked: rows are often read in smaller pieces. */
static bool unpack_chunk(struct hdf5_table *table, const hsize_t at[4], hid_t type, hid_t memory_type)
{
  const size_t count = table->chunk_bytes / table->bytes, wide = H5Tget_size(memory_type);
  mem_free(table->unpacked);
  table->unpacked = mem_alloc(count, wide > table->bytes ? wide : table->bytes);
  table->unpacked_type = memory_type;
  memcpy(table->unpacked_at, at, sizeof table->unpacked_at);
  if (decode_chunk(table, at, type, table->unpacked) &&
      H5Tconvert(type, memory_type, count, table->unpacked, NULL, H5P_DEFAULT) >= 0)
    return true;
  mem_free(table->unpacked);
  table->unpacked = NULL;
  return false;
}

static hsize_t least(hsize_t a, hsize_t b)
{
  return a < b ? a : b;
}

/* The part of a chunk that lies within the wanted rows. */
static void copy_chunk(const struct hdf5_table *table, const hsize_t at[4], size_t wide, hsize_t first,
                       hsize_t count, char *rows)
{
  const hsize_t *dims = table->dims, *chunk = table->chunk;
  const hsize_t from = at[0] > first ? at[0] : first,
                to = least(least(at[0] + chunk[0], dims[0]), first + count);
  const size_t run = (size_t)least(chunk[3], dims[3] - at[3]) * wide;
  for (hsize_t i = from; i < to; i++)
    for (hsize_t j = at[1]; j < least(at[1] + chunk[1], dims[1]); j++)
      for (hsize_t k = at[2]; k < least(at[2] + chunk[2], dims[2]); k++) {
        const hsize_t target = (((i - first) * dims[1] + j) * dims[2] + k) * dims[3] + at[3],
                      source = (((i - at[0]) * chunk[1] + (j - at[1])) * chunk[2] + (k - at[2])) * chunk[3];
        memcpy(rows + target * wide, table->unpacked + source * wide, run);
      }
}

static bool read_chunks(struct hdf5_table *table, hid_t memory_type, hsize_t first, hsize_t count, char *rows)
{
  const hsize_t *dims = table->dims, *chunk = table->chunk;
  const hid_t type = H5Dget_type(table->dataset);
  const size_t wide = H5Tget_size(memory_type);
  bool good = true;
  hsize_t at[4];
  for (at[0] = first / chunk[0] * chunk[0]; at[0] < first + count && good; at[0] += chunk[0])
    for (at[1] = 0; at[1] < dims[1] && good; at[1] += chunk[1])
      for (at[2] = 0; at[2] < dims[2] && good; at[2] += chunk[2])
        for (at[3] = 0; at[3] < dims[3] && good; at[3] += chunk[3]) {
          const bool kept = table->unpacked && table->unpacked_type == memory_type &&
                            memcmp(table->unpacked_at, at, sizeof at) == 0;
          good = kept || unpack_chunk(table, at, type, memory_type);
          if (good) copy_chunk(table, at, wide, first, count, rows);
        }
  H5Tclose(type);
  return good;
}

/* HDF5 gives up collective calls if it has to convert, so that is done afterwards and in place. */
static bool read_together(const struct hdf5_table *table, hid_t memory_type, hid_t memory, hid_t disk,
                          int64_t count, void *rows)
{
  const hid_t type = H5Dget_type(table->dataset);
  const bool narrow = H5Tget_size(memory_type) < table->bytes;
  const size_t elements = (size_t)count * (size_t)(table->dims[1] * table->dims[2] * table->dims[3]);
  bool got = H5Dread(table->dataset, narrow ? memory_type : type, memory, disk, table->transfer, rows) >= 0;
  if (got && !narrow) got = H5Tconvert(type, memory_type, elements, rows, NULL, H5P_DEFAULT) >= 0;
  H5Tclose(type);
  return got;
}

bool hdf5_table_read(struct hdf5_table *table, hid_t memory_type, int64_t first, int64_t count, void *rows)
{
  const bool alone = table->chunk_bytes || table->transfer <= 0;
  if (count == 0 && alone) return true;
  if (table->chunk_bytes) return read_chunks(table, memory_type, (hsize_t)first, (hsize_t)count, rows);
  const hsize_t start[4] = {(hsize_t)first, 0, 0, 0};
  const hsize_t extent[4] = {(hsize_t)count, table->dims[1], table->dims[2], table->dims[3]};
  const hid_t disk = H5Dget_space(table->dataset), memory = H5Screate_simple(table->axes, extent, NULL);
  bool got = true;
  if (count > 0)
    got = H5Sselect_hyperslab(disk, H5S_SELECT_SET, start, NULL, extent, NULL) >= 0;
  else
    got = H5Sselect_none(disk) >= 0 && H5Sselect_none(memory) >= 0;
  if (got)
    got = alone ? H5Dread(table->dataset, memory_type, memory, disk, H5P_DEFAULT, rows) >= 0
                : read_together(table, memory_type, memory, disk, count, rows);
  H5Sclose(memory);
  H5Sclose(disk);
  return got;
}

void hdf5_table_scan(const struct hdf5_table *table)
{
  const hsize_t *dims = table->dims, *chunk = table->chunk;
  hsize_t at[4], size;
  if (!table->chunk_bytes) return;
  for (at[0] = 0; at[0] < dims[0]; at[0] += chunk[0])
    for (at[1] = 0; at[1] < dims[1]; at[1] += chunk[1])
      for (at[2] = 0; at[2] < dims[2]; at[2] += chunk[2])
        for (at[3] = 0; at[3] < dims[3]; at[3] += chunk[3])
          H5Dget_chunk_storage_size(table->dataset, at, &size);
}

hid_t hdf5_particle_group(hid_t file, const char *path, struct error *err)
{
  static const char *const places[] = {"particles", "initial", "."};
  for (int k = 0; k < 3; k++) {
    if (k < 2 && !hdf5_has(file, places[k])) continue;
    const hid_t group = hdf5_object_open(file, places[k]);
    if (group >= 0 && H5Iget_type(group) == H5I_GROUP && hdf5_has(group, "position")) return group;
    if (group >= 0) H5Oclose(group);
  }
  error_set(err, FIRN_EINPUT, "%s: no dataset position at the root, in /particles or in /initial", path);
  return -1;
}
