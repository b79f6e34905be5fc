/* PLY, in text and in binary of either byte order. Elements are read one by one as the header describes them;
 * of all their properties only the vertices' x, y, z and the faces' list of vertices are kept. */
#include "io/assets/mesh_parts.h"

#include "base/memory.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum type { I8, U8, I16, U16, I32, U32, F32, F64, TYPES };
enum role { OTHER, X, Y, Z, CORNERS };
enum { MOST_ELEMENTS = 16, MOST_PROPERTIES = 64, MOST_CORNERS = 1 << 16 };

static const size_t type_size[TYPES] = {1, 1, 2, 2, 4, 4, 4, 8};

struct property {
  enum type type, count; /* count: of a list's length */
  bool list;
  enum role role;
};

struct element {
  bool vertex, face;
  int64_t rows;
  struct property property[MOST_PROPERTIES];
  int properties;
};

struct ply {
  struct mesh_source *s;
  bool text, swap;
  struct element element[MOST_ELEMENTS];
  int elements;
};

static int find_type(const char *word)
{
  static const char *const names[TYPES][2] = {{"char", "int8"},     {"uchar", "uint8"},   {"short", "int16"},
                                              {"ushort", "uint16"}, {"int", "int32"},     {"uint", "uint32"},
                                              {"float", "float32"}, {"double", "float64"}};
  for (int t = 0; t < TYPES; t++)
    if (!strcmp(word, names[t][0]) || !strcmp(word, names[t][1])) return t;
  return -1;
}

/* The next line of the header in buffer, without its end. */
static int next_line(struct ply *p, char buffer[256])
{
  struct mesh_source *s = p->s;
  const char *stop = memchr(s->at, '\n', (size_t)(s->end - s->at));
  size_t length = stop ? (size_t)(stop - s->at) : 0;
  if (!stop) return mesh_fail(s, "the header has no end");
  if (length >= 256) length = 255;
  memcpy(buffer, s->at, length);
  buffer[length] = '\0';
  if (length && buffer[length - 1] == '\r') buffer[length - 1] = '\0';
  s->at = stop + 1;
  return FIRN_OK;
}

static int read_format(struct ply *p, const char *word)
{
  p->text = !strcmp(word, "ascii");
  const bool big = !strcmp(word, "binary_big_endian");
  if (!p->text && !big && strcmp(word, "binary_little_endian"))
    return mesh_fail(p->s, "unknown format '%s'", word);
  p->swap = big == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  return FIRN_OK;
}

static int read_element(struct ply *p, const char *name, const char *rows)
{
  char *stop;
  if (p->elements == MOST_ELEMENTS) return mesh_fail(p->s, "more than %d elements", MOST_ELEMENTS);
  struct element *e = &p->element[p->elements++];
  *e = (struct element){.vertex = !strcmp(name, "vertex"), .face = !strcmp(name, "face")};
  e->rows = strtoll(rows, &stop, 10);
  /* Each row has a byte at least: a damaged count must not keep us busy for hours. */
  if (*stop || e->rows < 0 || e->rows > p->s->end - p->s->begin)
    return mesh_fail(p->s, "%s claims %s rows, more than the file can hold", name, rows);
  return FIRN_OK;
}

static int read_property(struct ply *p, char word[4][64], int words)
{
  struct element *e = p->elements ? &p->element[p->elements - 1] : NULL;
  if (!e || e->properties == MOST_PROPERTIES) return mesh_fail(p->s, "a property out of place");
  const bool list = !strcmp(word[0], "list");
  const int type = find_type(word[list ? 2 : 0]), count = list ? find_type(word[1]) : I8;
  const char *name = word[list ? 3 : 1];
  if (words != (list ? 4 : 2) || type < 0 || count < 0 || count >= F32)
    return mesh_fail(p->s, "a property of unknown type");
  struct property *q = &e->property[e->properties++];
  *q = (struct property){.type = (enum type)type, .count = (enum type)count, .list = list};
  if (e->vertex && !list && strlen(name) == 1 && *name >= 'x' && *name <= 'z')
    q->role = (enum role)(X + (*name - 'x'));
  if (e->face && list && (!strcmp(name, "vertex_indices") || !strcmp(name, "vertex_index")))
    q->role = CORNERS;
  return FIRN_OK;
}

static int read_header(struct ply *p)
{
  char line[256], key[64], word[4][64];
  int code = next_line(p, line);
  if (!code && strcmp(line, "ply")) return mesh_fail(p->s, "does not begin with 'ply'");
  bool format = false;
  while (!code && !(code = next_line(p, line)) && strcmp(line, "end_header")) {
    const int words = sscanf(line, "%63s %63s %63s %63s %63s", key, word[0], word[1], word[2], word[3]) - 1;
    if (words < 0 || !strcmp(key, "comment") || !strcmp(key, "obj_info")) continue;
    if (!strcmp(key, "format") && words >= 1) {
      code = read_format(p, word[0]);
      format = true;
    } else if (!strcmp(key, "element") && words == 2)
      code = read_element(p, word[0], word[1]);
    else if (!strcmp(key, "property"))
      code = read_property(p, word, words);
    else
      code = mesh_fail(p->s, "unknown line '%.40s' in the header", line);
  }
  return code ? code : format ? FIRN_OK : mesh_fail(p->s, "the header names no format");
}

static double decode(const unsigned char *b, enum type type)
{
  union {
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    float f32;
    double f64;
  } v;
  memcpy(&v, b, type_size[type]);
  switch (type) {
  case I8: return v.i8;
  case U8: return v.u8;
  case I16: return v.i16;
  case U16: return v.u16;
  case I32: return v.i32;
  case U32: return v.u32;
  case F32: return (double)v.f32;
  default: return v.f64;
  }
}

static int read_value(struct ply *p, enum type type, double *out)
{
  struct mesh_source *s = p->s;
  if (p->text) return mesh_number(s, out);
  const size_t size = type_size[type];
  unsigned char bytes[8];
  if ((size_t)(s->end - s->at) < size)
    return error_set(s->err, FIRN_EINPUT, "%s: the file is cut short", s->path);
  for (size_t k = 0; k < size; k++) bytes[k] = (unsigned char)s->at[p->swap ? size - 1 - k : k];
  s->at += size;
  *out = decode(bytes, type);
  return FIRN_OK;
}

static int read_list(struct ply *p, const struct property *q)
{
  double count, corner, first = 0.0, last = 0.0;
  int code = read_value(p, q->count, &count);
  if (!code && !(count >= 0.0 && count <= MOST_CORNERS && count == floor(count)))
    return error_set(p->s->err, FIRN_EINPUT, "%s: a list of %g entries", p->s->path, count);
  if (!code && q->role == CORNERS && count < 3.0)
    return error_set(p->s->err, FIRN_EINPUT, "%s: a face of %g corners", p->s->path, count);
  for (int k = 0; k < (int)count && !code; k++) {
    code = read_value(p, q->type, &corner);
    if (code || q->role != CORNERS) continue;
    if (!(corner >= 0.0 && corner < 0x1p30 && corner == floor(corner)))
      return error_set(p->s->err, FIRN_EINPUT, "%s: a face names vertex %g", p->s->path, corner);
    if (k >= 2) code = mesh_add_triangle(p->s, (int64_t)first, (int64_t)last, (int64_t)corner);
    if (k == 0) first = corner;
    last = corner;
  }
  return code;
}

static int read_rows(struct ply *p, const struct element *e)
{
  int code = FIRN_OK;
  for (int64_t row = 0; row < e->rows && !code; row++) {
    double x[3] = {0.0, 0.0, 0.0}, value;
    for (int k = 0; k < e->properties && !code; k++) {
      const struct property *q = &e->property[k];
      if (q->list) {
        code = read_list(p, q);
        continue;
      }
      code = read_value(p, q->type, &value);
      if (!code && q->role >= X && q->role <= Z) x[q->role - X] = value;
    }
    if (!code && e->vertex) code = mesh_add_vertex(p->s, x);
  }
  return code;
}

int mesh_read_ply(struct mesh_source *s)
{
  struct ply *p = mem_alloc(1, sizeof *p);
  p->s = s;
  int code = read_header(p), places = 0;
  for (int e = 0; e < p->elements; e++)
    for (int k = 0; k < p->element[e].properties; k++)
      places += p->element[e].property[k].role >= X && p->element[e].property[k].role <= Z;
  if (!code && places != 3)
    code = error_set(s->err, FIRN_EINPUT, "%s: the vertices need x, y and z, each once", s->path);
  for (int e = 0; e < p->elements && !code; e++) code = read_rows(p, &p->element[e]);
  mem_free(p);
  return code;
}
