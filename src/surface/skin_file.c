#include "surface/skin_file.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "surface/skin_vdb.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void put_ply(struct text *t, const struct skin *s, double time)
{
  const struct mesh *mesh = s->mesh;
  text_put(t,
           "ply\nformat binary_little_endian 1.0\ncomment firn surface, time %.9g s\nelement vertex %" PRId64
           "\nproperty float x\nproperty float y\nproperty float z\nproperty float nx\nproperty float ny\n"
           "property float nz\nproperty float vx\nproperty float vy\nproperty float vz\nelement face %" PRId64
           "\nproperty list uchar int vertex_indices\nend_header\n",
           time, mesh->vertex_count, mesh->triangle_count);
  for (int64_t v = 0; v < mesh->vertex_count; v++) {
    const float x[3] = {(float)mesh->vertex[v][0], (float)mesh->vertex[v][1], (float)mesh->vertex[v][2]};
    text_add(t, (const char *)x, sizeof x);
    text_add(t, (const char *)s->normal[v], sizeof s->normal[v]);
    text_add(t, (const char *)s->velocity[v], sizeof s->velocity[v]);
  }
  for (int64_t k = 0; k < mesh->triangle_count; k++) {
    text_add(t, "\3", 1);
    text_add(t, (const char *)mesh->triangle[k], sizeof mesh->triangle[k]);
  }
}

/* OBJ has no place for velocities. */
static void put_obj(struct text *t, const struct skin *s, double time)
{
  const struct mesh *mesh = s->mesh;
  text_put(t, "# firn surface, time %.9g s\n", time);
  for (int64_t v = 0; v < mesh->vertex_count; v++)
    text_put(t, "v %.7g %.7g %.7g\n", mesh->vertex[v][0], mesh->vertex[v][1], mesh->vertex[v][2]);
  for (int64_t v = 0; v < mesh->vertex_count; v++)
    text_put(t, "vn %.4f %.4f %.4f\n", (double)s->normal[v][0], (double)s->normal[v][1],
             (double)s->normal[v][2]);
  for (int64_t k = 0; k < mesh->triangle_count; k++) {
    const int a = mesh->triangle[k][0] + 1, b = mesh->triangle[k][1] + 1, c = mesh->triangle[k][2] + 1;
    text_put(t, "f %d//%d %d//%d %d//%d\n", a, a, b, b, c, c);
  }
}

static void put_block(struct text *t, const void *bytes, uint64_t size)
{
  text_add(t, (const char *)&size, sizeof size);
  text_add(t, bytes, size);
}

static void put_vtp(struct text *t, const struct skin *s, double time)
{
  const struct mesh *mesh = s->mesh;
  const size_t vertices = (size_t)mesh->vertex_count, triangles = (size_t)mesh->triangle_count;
  const uint64_t vectors = 12 * vertices + 8, corners = 12 * triangles + 8;
  text_put(
      t,
      "<?xml version=\"1.0\"?>\n<VTKFile type=\"PolyData\" version=\"1.0\" byte_order=\"LittleEndian\" "
      "header_type=\"UInt64\">\n<!-- firn surface -->\n<PolyData>\n<FieldData><DataArray type=\"Float64\" "
      "Name=\"TimeValue\" NumberOfTuples=\"1\" format=\"ascii\">%.17g</DataArray></FieldData>\n"
      "<Piece NumberOfPoints=\"%zu\" NumberOfPolys=\"%zu\">\n<Points><DataArray type=\"Float32\" "
      "Name=\"position\" NumberOfComponents=\"3\" format=\"appended\" offset=\"0\"/></Points>\n",
      time, vertices, triangles);
  text_put(
      t,
      "<Polys><DataArray type=\"Int32\" Name=\"connectivity\" format=\"appended\" offset=\"%" PRIu64 "\"/>"
      "<DataArray type=\"Int32\" Name=\"offsets\" format=\"appended\" offset=\"%" PRIu64 "\"/></Polys>\n",
      vectors, vectors + corners);
  const uint64_t normals = vectors + corners + 4 * triangles + 8;
  text_put(t,
           "<PointData Normals=\"Normals\" Vectors=\"velocity\"><DataArray type=\"Float32\" Name=\"Normals\" "
           "NumberOfComponents=\"3\" format=\"appended\" offset=\"%" PRIu64 "\"/><DataArray type=\"Float32\" "
           "Name=\"velocity\" NumberOfComponents=\"3\" format=\"appended\" offset=\"%" PRIu64
           "\"/></PointData>\n</Piece>\n</PolyData>\n<AppendedData encoding=\"raw\">\n_",
           normals, normals + vectors);
  float(*x)[3] = mem_alloc(vertices, sizeof *x);
  int32_t *ends = mem_alloc(triangles, sizeof *ends);
  for (size_t v = 0; v < vertices; v++)
    for (int d = 0; d < 3; d++) x[v][d] = (float)mesh->vertex[v][d];
  for (size_t k = 0; k < triangles; k++) ends[k] = 3 * (int32_t)k + 3;
  put_block(t, x, vertices * sizeof *x);
  put_block(t, mesh->triangle, triangles * sizeof *mesh->triangle);
  put_block(t, ends, triangles * sizeof *ends);
  put_block(t, s->normal, vertices * sizeof *s->normal);
  put_block(t, s->velocity, vertices * sizeof *s->velocity);
  text_put(t, "\n</AppendedData>\n</VTKFile>\n");
  mem_free(x);
  mem_free(ends);
}

static const struct {
  const char *suffix, *start;
  void (*put)(struct text *, const struct skin *, double); /* NULL: VDB */
} formats[] = {{".ply", "ply\nformat binary_little_endian 1.0\ncomment firn surface", put_ply},
               {".obj", "# firn surface", put_obj},
               {".vtp", "<?xml version=\"1.0\"?>\n<VTKFile type=\"PolyData\"", put_vtp},
               {".vdb", " BDV", NULL}};
enum { FORMATS = sizeof formats / sizeof *formats };

static int format_of(const char *path)
{
  const char *dot = strrchr(path, '.');
  int k = 0;
  while (dot && k < FORMATS && strcmp(dot, formats[k].suffix) != 0) k++;
  return dot ? k : FORMATS;
}

int skin_file_check(const char *path, struct error *err)
{
  const int format = format_of(path);
  if (format == FORMATS)
    return error_set(err, FIRN_EINPUT, "%s: the suffix must be .ply, .obj, .vtp or .vdb", path);
  return formats[format].put ? FIRN_OK : skin_vdb_check(path, err);
}

int skin_file_write(const char *path, const struct skin *skin, double time, double voxel, struct error *err)
{
  struct text text = {NULL, 0, 0};
  int code = skin_file_check(path, err);
  if (code) return code;
  const int format = format_of(path);
  const char *start = formats[format].start;
  code = file_check_replaceable(path, file_begins_with(path, start, strlen(start)), "a surface", err);
  if (code || !formats[format].put) return code ? code : skin_vdb_write(path, skin, voxel, err);
  formats[format].put(&text, skin, time);
  code = file_write(path, 0, text.bytes, text.length, err);
  mem_free(text.bytes);
  return code;
}
