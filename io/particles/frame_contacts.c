#include "io/particles/frame_contacts.h"

#include "base/memory.h"
#include "io/particles/hdf5.h"

#include <inttypes.h>
#include <string.h>

static const struct column {
  const char *name, *unit;
  int components;
} columns[CONTACT_COLUMNS] = {
    {"position", "m", 3}, {"force", "N", 3}, {"pressure", "Pa", 1}, {"area", "m^2", 1}, {"body", "1", 1}};
enum { BODY = CONTACT_COLUMNS - 1 };

static bool put_column(hid_t group, const struct column *column, hid_t type, int64_t rows, const void *values)
{
  const hsize_t dims[2] = {(hsize_t)rows, 3};
  const hid_t space = H5Screate_simple(column->components == 1 ? 1 : 2, dims, NULL),
              creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(creation, false);
  H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
  const hid_t dataset = H5Dcreate2(group, column->name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  bool fine = dataset >= 0 && hdf5_put_text(dataset, "unit", column->unit);
  if (fine && rows > 0) fine = H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
  if (dataset >= 0) fine = H5Dclose(dataset) >= 0 && fine;
  H5Pclose(creation);
  H5Sclose(space);
  return fine;
}

/* Names of all bodies, a line each: `body` counts them. */
static bool put_names(hid_t group, const struct scene *scene)
{
  char *names = mem_alloc((size_t)scene->body_count * sizeof scene->bodies->name + 1, 1), *at = names;
  for (int k = 0; k < scene->body_count; k++) at += sprintf(at, "%s%s", k ? "\n" : "", scene->bodies[k].name);
  const bool fine = hdf5_put_text(group, "bodies", names);
  mem_free(names);
  return fine;
}

bool frame_put_contacts(hid_t file, const struct scene *scene, const struct contact_table *table)
{
  const void *const values[CONTACT_COLUMNS] = {table->position, table->force, table->pressure, table->area,
                                               table->body};
  const hid_t creation = H5Pcreate(H5P_GROUP_CREATE);
  H5Pset_obj_track_times(creation, false);
  const hid_t group = H5Gcreate2(file, "contacts", H5P_DEFAULT, creation, H5P_DEFAULT);
  H5Pclose(creation);
  bool fine = group >= 0 && put_names(group, scene) && hdf5_put_f64(group, "span", table->span);
  for (int c = 0; c < CONTACT_COLUMNS && fine; c++)
    fine = put_column(group, &columns[c], c == BODY ? H5T_NATIVE_UINT32 : H5T_NATIVE_DOUBLE, table->count,
                      values[c]);
  if (group >= 0) H5Gclose(group);
  return fine;
}

int64_t frame_count_contacts(hid_t file)
{
  if (!hdf5_has(file, "contacts")) return 0;
  struct hdf5_table table;
  if (hdf5_table_open(&table, file, "contacts/body", "", NULL) != FIRN_OK) return 0;
  hdf5_table_close(&table);
  return table.rows;
}

int frame_read_contacts(hid_t file, const char *path, int k, const char **name, int64_t *values, double **out,
                        struct error *err)
{
  struct hdf5_table table;
  char where[32];
  snprintf(where, sizeof where, "contacts/%s", columns[k].name);
  *name = columns[k].name;
  int code = hdf5_table_open(&table, file, where, path, err);
  if (code) return code;
  *values = table.rows * table.components;
  *out = mem_alloc((size_t)*values, sizeof **out);
  if (!hdf5_table_read(&table, H5T_NATIVE_DOUBLE, 0, table.rows, *out)) {
    code = hdf5_error(err, FIRN_EIO, "cannot read %s of %s", where, path);
    mem_free(*out);
    *out = NULL;
  }
  hdf5_table_close(&table);
  return code;
}

static void put_item(FILE *out, const char *path, const struct column *column, int64_t rows)
{
  fprintf(out,
          "<DataItem Format=\"HDF\" NumberType=\"%s\" Precision=\"%d\" Dimensions=\"%" PRId64
          "%s\">%s:/contacts/%s</DataItem>",
          column == &columns[BODY] ? "UInt" : "Float", column == &columns[BODY] ? 4 : 8, rows,
          column->components == 3 ? " 3" : "", path, column->name);
}

void frame_put_contact_grid(FILE *out, const char *path, double time, int64_t rows)
{
  fprintf(out, "      <Grid Name=\"contacts\" GridType=\"Uniform\">\n        <Time Value=\"%.17g\"/>\n",
          time);
  fprintf(out, "        <Topology TopologyType=\"Polyvertex\" NumberOfElements=\"%" PRId64 "\"/>\n", rows);
  fputs("        <Geometry GeometryType=\"XYZ\">", out);
  put_item(out, path, &columns[0], rows);
  fputs("</Geometry>\n", out);
  for (int c = 1; c < CONTACT_COLUMNS; c++) {
    fprintf(out, "        <Attribute Name=\"%s\" AttributeType=\"%s\" Center=\"Node\">", columns[c].name,
            columns[c].components == 3 ? "Vector" : "Scalar");
    put_item(out, path, &columns[c], rows);
    fputs("</Attribute>\n", out);
  }
  fputs("      </Grid>\n", out);
}
