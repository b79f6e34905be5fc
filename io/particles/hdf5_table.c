/* Tables of particles in HDF5 files that others may have written: nothing about them is taken on trust. */
#include "io/particles/hdf5.h"

#include <limits.h>

/* Elements the dataset claims to have, times their size, must fit into the file; deflate shrinks by 1032 at
 * the best. Datasets whose bytes live elsewhere (external, virtual) fall through this too. */
static bool is_believable(const struct hdf5_table *table)
{
  hsize_t file_bytes = 0, bytes = table->bytes;
  const hid_t file = H5Iget_file_id(table->dataset), creation = H5Dget_create_plist(table->dataset);
  const bool known = H5Fget_filesize(file, &file_bytes) >= 0;
  const bool filtered = H5Pget_nfilters(creation) > 0, chunked = H5Pget_layout(creation) == H5D_CHUNKED;
  H5Pclose(creation);
  H5Fclose(file);
  bool fits = known && !__builtin_mul_overflow(file_bytes, filtered ? 1032u : 1u, &file_bytes);
  for (int a = 0; a < table->axes && fits; a++) fits = !__builtin_mul_overflow(bytes, table->dims[a], &bytes);
  /* HDF5 1.10 trusts the shape and reads beyond what a damaged file gave it. */
  if (fits && !chunked) fits = H5Dget_storage_size(table->dataset) >= bytes;
  return fits && bytes <= file_bytes;
}

static int look_at(struct hdf5_table *table, const char *name, const char *path, struct error *err)
{
  const hid_t type = H5Dget_type(table->dataset), space = H5Dget_space(table->dataset);
  table->class = H5Tget_class(type);
  table->is_signed = table->class == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_2;
  table->bytes = H5Tget_size(type);
  table->axes = H5Sget_simple_extent_type(space) == H5S_SIMPLE ? H5Sget_simple_extent_ndims(space) : 0;
  const bool shaped = table->axes >= 1 && table->axes <= 3;
  if (shaped) H5Sget_simple_extent_dims(space, table->dims, NULL);
  H5Sclose(space);
  H5Tclose(type);
  if (table->class != H5T_INTEGER && table->class != H5T_FLOAT)
    return error_set(err, FIRN_EINPUT, "%s: %s does not hold numbers", path, name);
  if (!shaped)
    return error_set(err, FIRN_EINPUT, "%s: %s has %d dimensions, expected 1 to 3", path, name, table->axes);
  hsize_t components = 1;
  for (int a = 1; a < table->axes; a++)
    if (table->dims[a] == 0 || __builtin_mul_overflow(components, table->dims[a], &components) ||
        components > 1024)
      return error_set(err, FIRN_EINPUT, "%s: a row of %s must have 1 to 1024 elements", path, name);
  if (!is_believable(table))
    return error_set(err, FIRN_EINPUT, "%s: %s claims more rows (%llu) than the file can hold: it is damaged",
                     path, name, (unsigned long long)table->dims[0]);
  table->components = (int)components;
  table->rows = (int64_t)table->dims[0];
  return FIRN_OK;
}

int hdf5_table_open(struct hdf5_table *table, hid_t group, const char *name, const char *path,
                    struct error *err)
{
  *table = (struct hdf5_table){.dataset = -1};
  if (!hdf5_has(group, name)) return error_set(err, FIRN_EINPUT, "%s: the dataset %s is missing", path, name);
  const hid_t object = H5Oopen(group, name, H5P_DEFAULT);
  if (object < 0) return hdf5_error(err, FIRN_EINPUT, "%s: cannot open %s", path, name);
  if (H5Iget_type(object) != H5I_DATASET) {
    H5Oclose(object);
    return error_set(err, FIRN_EINPUT, "%s: %s is not a dataset", path, name);
  }
  table->dataset = object;
  const int code = look_at(table, name, path, err);
  if (code != FIRN_OK) hdf5_table_close(table);
  return code;
}

void hdf5_table_close(struct hdf5_table *table)
{
  if (table->dataset >= 0) H5Dclose(table->dataset);
  table->dataset = -1;
}

bool hdf5_table_read(const struct hdf5_table *table, hid_t memory_type, int64_t first, int64_t count,
                     void *rows)
{
  if (count == 0) return true;
  const hsize_t start[3] = {(hsize_t)first, 0, 0};
  const hsize_t extent[3] = {(hsize_t)count, table->dims[1], table->dims[2]};
  const hid_t disk = H5Dget_space(table->dataset), memory = H5Screate_simple(table->axes, extent, NULL);
  const bool got = H5Sselect_hyperslab(disk, H5S_SELECT_SET, start, NULL, extent, NULL) >= 0 &&
                   H5Dread(table->dataset, memory_type, memory, disk, H5P_DEFAULT, rows) >= 0;
  H5Sclose(memory);
  H5Sclose(disk);
  return got;
}

hid_t hdf5_particle_group(hid_t file, const char *path, struct error *err)
{
  static const char *const places[] = {"particles", "initial", "."};
  for (int k = 0; k < 3; k++) {
    if (k < 2 && !hdf5_has(file, places[k])) continue;
    const hid_t group = H5Gopen2(file, places[k], H5P_DEFAULT);
    if (group >= 0 && hdf5_has(group, "position")) return group;
    if (group >= 0) H5Gclose(group);
  }
  error_set(err, FIRN_EINPUT, "%s: no dataset position at the root, in /particles or in /initial", path);
  return -1;
}
