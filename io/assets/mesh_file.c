/* See mesh_file.h. Here: what all kinds share, the check of what was read, and OBJ. */
#include "io/assets/mesh_file.h"

#include "base/memory.h"
#include "io/assets/mesh_parts.h"
#include "io/file.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const int64_t most_elements = (int64_t)1 << 30;
static const double farthest = 1e15; /* m, as for all lengths of a scene */

int mesh_file_load(const char *path, char **bytes, size_t *size, struct error *err)
{
  return file_read(path, (size_t)16 << 30, bytes, size, err);
}

static void *room_for(void *list, int64_t *room, int64_t count, size_t size)
{
  if (count < *room) return list;
  const int64_t wanted = 2 * *room + 1024;
  list = mem_resize(list, (size_t)*room, (size_t)wanted, size);
  *room = wanted;
  return list;
}

int mesh_add_vertex(struct mesh_source *s, const double x[3])
{
  struct mesh *m = s->mesh;
  if (m->vertex_count >= most_elements) return mesh_fail(s, "more than 2^30 vertices");
  m->vertex = room_for(m->vertex, &s->vertex_room, m->vertex_count, sizeof *m->vertex);
  memcpy(m->vertex[m->vertex_count++], x, 3 * sizeof *x);
  return FIRN_OK;
}

int mesh_add_triangle(struct mesh_source *s, int64_t a, int64_t b, int64_t c)
{
  struct mesh *m = s->mesh;
  const int64_t corner[3] = {a, b, c};
  if (m->triangle_count >= most_elements) return mesh_fail(s, "more than 2^30 triangles");
  m->triangle = room_for(m->triangle, &s->triangle_room, m->triangle_count, sizeof *m->triangle);
  for (int k = 0; k < 3; k++) {
    if (corner[k] < 0 || corner[k] >= most_elements)
      return mesh_fail(s, "a face names vertex %lld, which does not exist", (long long)corner[k]);
    m->triangle[m->triangle_count][k] = (int32_t)corner[k];
  }
  m->triangle_count++;
  return FIRN_OK;
}

long mesh_line(const struct mesh_source *s)
{
  long line = 1;
  for (const char *c = s->begin; c < s->at; c++) line += *c == '\n';
  return line;
}

int mesh_fail(const struct mesh_source *s, const char *format, ...)
{
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  for (char *c = text; *c; c++)
    if ((unsigned char)*c < 32 || (unsigned char)*c > 126) *c = '?';
  return error_set(s->err, FIRN_EINPUT, "%s:%ld: %s", s->path, mesh_line(s), text);
}

bool mesh_word(struct mesh_source *s, const char **word, size_t *length)
{
  while (s->at < s->end && isspace((unsigned char)*s->at)) s->at++;
  *word = s->at;
  while (s->at < s->end && !isspace((unsigned char)*s->at)) s->at++;
  *length = (size_t)(s->at - *word);
  return *length > 0;
}

int mesh_number(struct mesh_source *s, double *out)
{
  const char *word;
  size_t length;
  char *stop;
  if (!mesh_word(s, &word, &length)) return mesh_fail(s, "the file ends where a number is expected");
  *out = strtod(word, &stop); /* a zero byte follows the file */
  if (stop != word + length)
    return mesh_fail(s, "expected a number, found '%.*s'", (int)(length < 40 ? length : 40), word);
  if (!isfinite(*out)) return mesh_fail(s, "a coordinate is not finite");
  return FIRN_OK;
}

/* --- OBJ --- */

/* The vertex of one corner, "7", "7/1", "7//3" or "-1", from 0. */
static int read_corner(struct mesh_source *s, const char *word, size_t length, int64_t *out)
{
  char *stop;
  const long long index = strtoll(word, &stop, 10);
  if (stop == word || (stop != word + length && *stop != '/') || index == 0)
    return mesh_fail(s, "expected a vertex number, found '%.*s'", (int)(length < 40 ? length : 40), word);
  *out = index > 0 ? index - 1 : s->mesh->vertex_count + index;
  return *out < 0 ? mesh_fail(s, "a face names vertex %lld, which does not exist", index) : FIRN_OK;
}

static int read_face(struct mesh_source *line)
{
  int64_t first = 0, last = 0, corner = 0;
  int count = 0;
  const char *word;
  size_t length;
  for (; mesh_word(line, &word, &length); count++) {
    int code = read_corner(line, word, length, &corner);
    if (!code && count >= 2) code = mesh_add_triangle(line, first, last, corner);
    if (code) return code;
    if (count == 0) first = corner;
    last = corner;
  }
  return count < 3 ? mesh_fail(line, "a face of %d corners", count) : FIRN_OK;
}

int mesh_read_obj(struct mesh_source *s)
{
  const char *word;
  size_t length;
  int code = FIRN_OK;
  while (s->at < s->end && !code) {
    const char *stop = memchr(s->at, '\n', (size_t)(s->end - s->at));
    struct mesh_source line = *s; /* words end with the line */
    line.end = stop ? stop : s->end;
    const bool some = mesh_word(&line, &word, &length);
    if (some && length == 1 && *word == 'v') {
      double x[3];
      for (int d = 0; d < 3 && !code; d++) code = mesh_number(&line, &x[d]);
      if (!code) code = mesh_add_vertex(&line, x);
    } else if (some && length == 1 && *word == 'f') {
      code = read_face(&line);
    }
    s->vertex_room = line.vertex_room;
    s->triangle_room = line.triangle_room;
    s->at = stop ? stop + 1 : s->end;
  }
  return code;
}

/* --- all kinds --- */

static int check(struct mesh_source *s, double scale)
{
  struct mesh *m = s->mesh;
  if (m->triangle_count == 0)
    return error_set(s->err, FIRN_EINPUT, "%s: holds no triangles; expected a surface", s->path);
  for (int64_t v = 0; v < m->vertex_count; v++)
    for (int d = 0; d < 3; d++) {
      m->vertex[v][d] *= scale;
      if (!(fabs(m->vertex[v][d]) <= farthest))
        return error_set(s->err, FIRN_EINPUT, "%s: vertex %lld is not a finite place", s->path, (long long)v);
    }
  for (int64_t t = 0; t < m->triangle_count; t++)
    for (int k = 0; k < 3; k++)
      if (m->triangle[t][k] >= m->vertex_count)
        return error_set(s->err, FIRN_EINPUT, "%s: face %lld names vertex %d of %lld", s->path, (long long)t,
                         m->triangle[t][k], (long long)m->vertex_count);
  return FIRN_OK;
}

static int parse(struct mesh_source *s)
{
  static const struct {
    const char *suffix;
    int (*read)(struct mesh_source *);
  } kinds[] = {{".obj", mesh_read_obj}, {".stl", mesh_read_stl}, {".ply", mesh_read_ply}};
  const char *dot = strrchr(s->path, '.');
  for (size_t k = 0; dot && k < sizeof kinds / sizeof *kinds; k++)
    if (strcasecmp(dot, kinds[k].suffix) == 0) return kinds[k].read(s);
  return error_set(s->err, FIRN_EINPUT, "%s: of no known kind; expected a mesh in .obj, .stl or .ply",
                   s->path);
}

int mesh_file_parse(struct mesh **out, const char *path, const char *bytes, size_t size, double scale,
                    struct error *err)
{
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  const locale_t before = uselocale(plain); /* numbers have points, whatever the host program says */
  struct mesh_source s = {.path = path, .begin = bytes, .at = bytes, .end = bytes + size, .err = err};
  s.mesh = mesh_create(0, 0);
  mem_free(s.mesh->vertex);
  mem_free(s.mesh->triangle);
  s.mesh->vertex = NULL;
  s.mesh->triangle = NULL;
  int code = parse(&s);
  if (!code) code = check(&s, scale);
  uselocale(before);
  if (plain) freelocale(plain);
  if (code) mesh_destroy(&s.mesh);
  *out = s.mesh;
  return code;
}
