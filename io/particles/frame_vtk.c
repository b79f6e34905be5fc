#include "io/particles/frame_vtk.h"

#include <stdio.h>
#include <string.h>

enum { VTK_VERTEX = 1 };

static void gather_numbers(const void *context, int32_t first, int32_t n, void *rows)
{
  int64_t *out = rows;
  for (int32_t i = 0; i < n; i++) out[i] = *(const int64_t *)context + first + i;
}

static void gather_types(const void *context, int32_t first, int32_t n, void *rows)
{
  (void)context;
  (void)first;
  memset(rows, VTK_VERTEX, (size_t)n);
}

void frame_vtk_add_columns(struct writer_plan *plan, const int64_t *first)
{
  plan->columns[plan->column_count++] = (struct writer_column){.name = "Offsets",
                                                               .group = "VTKHDF",
                                                               .type = H5T_NATIVE_INT64,
                                                               .components = 1,
                                                               .one_more = true,
                                                               .gather = gather_numbers,
                                                               .context = first};
  plan->columns[plan->column_count++] = (struct writer_column){
      .name = "Types", .group = "VTKHDF", .type = H5T_NATIVE_UINT8, .components = 1, .gather = gather_types};
}

/* The reader wants a text of fixed length, and the version as two integers. */
static bool put_attributes(hid_t group)
{
  static const char kind[] = "UnstructuredGrid";
  static const int64_t version[2] = {1, 0};
  const hsize_t two = 2;
  const hid_t type = H5Tcopy(H5T_C_S1), scalar = H5Screate(H5S_SCALAR),
              pair = H5Screate_simple(1, &two, NULL);
  H5Tset_size(type, sizeof kind - 1);
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  const hid_t word = H5Acreate2(group, "Type", type, scalar, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t numbers = H5Acreate2(group, "Version", H5T_NATIVE_INT64, pair, H5P_DEFAULT, H5P_DEFAULT);
  const bool fine = word >= 0 && numbers >= 0 && H5Awrite(word, type, kind) >= 0 &&
                    H5Awrite(numbers, H5T_NATIVE_INT64, version) >= 0;
  if (word >= 0) H5Aclose(word);
  if (numbers >= 0) H5Aclose(numbers);
  H5Tclose(type);
  H5Sclose(scalar);
  H5Sclose(pair);
  return fine;
}

/* Counts are lists with an entry per piece, of which there is one. */
static bool put_count(hid_t group, const char *name, int64_t count)
{
  const hsize_t one = 1;
  const hid_t space = H5Screate_simple(1, &one, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(creation, false);
  const hid_t dataset = H5Dcreate2(group, name, H5T_NATIVE_INT64, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  bool fine = dataset >= 0 && H5Dwrite(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &count) >= 0;
  if (dataset >= 0) fine = H5Dclose(dataset) >= 0 && fine;
  H5Pclose(creation);
  H5Sclose(space);
  return fine;
}

struct links {
  hid_t from, to;
  bool fine;
};

/* The reader knows scalars and vectors; tensors of 3 x 3 stay where they are. */
static herr_t link_field(hid_t particles, const char *name, const H5L_info_t *info, void *context)
{
  (void)info;
  struct links *links = context;
  const hid_t dataset = H5Dopen2(particles, name, H5P_DEFAULT);
  if (dataset < 0) return -1;
  const hid_t space = H5Dget_space(dataset);
  const bool shown = H5Sget_simple_extent_ndims(space) < 3 && strcmp(name, "position") != 0;
  H5Sclose(space);
  H5Dclose(dataset);
  if (shown)
    links->fine =
        links->fine && H5Lcreate_hard(particles, name, links->to, name, H5P_DEFAULT, H5P_DEFAULT) >= 0;
  return links->fine ? 0 : -1;
}

static bool link_fields(hid_t file, hid_t group)
{
  const hid_t creation = H5Pcreate(H5P_GROUP_CREATE);
  H5Pset_obj_track_times(creation, false);
  const hid_t data = H5Gcreate2(group, "PointData", H5P_DEFAULT, creation, H5P_DEFAULT);
  const hid_t particles = H5Gopen2(file, "particles", H5P_DEFAULT);
  struct links links = {particles, data, data >= 0 && particles >= 0};
  if (links.fine) H5Literate(particles, H5_INDEX_NAME, H5_ITER_INC, NULL, link_field, &links);
  if (particles >= 0) H5Gclose(particles);
  if (data >= 0) H5Gclose(data);
  H5Pclose(creation);
  return links.fine;
}

bool frame_vtk_link(hid_t file, int64_t particles)
{
  const hid_t group = H5Gopen2(file, "VTKHDF", H5P_DEFAULT);
  if (group < 0) return false;
  const bool fine =
      put_attributes(group) && put_count(group, "NumberOfPoints", particles) &&
      put_count(group, "NumberOfCells", particles) &&
      put_count(group, "NumberOfConnectivityIds", particles) &&
      H5Lcreate_hard(file, "particles/position", group, "Points", H5P_DEFAULT, H5P_DEFAULT) >= 0 &&
      H5Lcreate_hard(group, "Offsets", group, "Connectivity", H5P_DEFAULT, H5P_DEFAULT) >= 0 &&
      link_fields(file, group);
  H5Gclose(group);
  return fine;
}
