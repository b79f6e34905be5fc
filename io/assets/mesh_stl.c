/* STL, in text and in binary. Both may begin with "solid"; a binary file is as long as its count says. */
#include "io/assets/mesh_parts.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { HEAD = 84, FACET = 50 };

static int read_binary(struct mesh_source *s, uint32_t count)
{
  int code = FIRN_OK;
  for (uint32_t t = 0; t < count && !code; t++) {
    const char *facet = s->begin + HEAD + (size_t)FACET * t + 12; /* behind the normal */
    for (int k = 0; k < 3 && !code; k++) {
      float x[3];
      memcpy(x, facet + 12 * k, sizeof x);
      const double at[3] = {(double)x[0], (double)x[1], (double)x[2]};
      code = mesh_add_vertex(s, at);
    }
    const int64_t last = s->mesh->vertex_count;
    if (!code) code = mesh_add_triangle(s, last - 3, last - 2, last - 1);
  }
  return code;
}

static bool is_word(const char *word, size_t length, const char *wanted)
{
  return length == strlen(wanted) && strncmp(word, wanted, length) == 0;
}

static int read_text(struct mesh_source *s)
{
  const char *word;
  size_t length;
  int corners = 0, code = FIRN_OK;
  bool ended = false;
  while (!code && mesh_word(s, &word, &length)) {
    if (is_word(word, length, "vertex")) {
      double x[3];
      for (int d = 0; d < 3 && !code; d++) code = mesh_number(s, &x[d]);
      if (!code) code = mesh_add_vertex(s, x);
      corners++;
    } else if (is_word(word, length, "endfacet")) {
      if (corners != 3) return mesh_fail(s, "a facet of %d vertices", corners);
      const int64_t last = s->mesh->vertex_count;
      code = mesh_add_triangle(s, last - 3, last - 2, last - 1);
      corners = 0;
    } else if (is_word(word, length, "endsolid")) {
      ended = true;
    }
  }
  if (!code && (!ended || corners)) return mesh_fail(s, "the file is cut short: 'endsolid' is missing");
  return code;
}

int mesh_read_stl(struct mesh_source *s)
{
  const size_t size = (size_t)(s->end - s->begin);
  uint32_t count = 0;
  const bool text = size >= 5 && strncmp(s->begin, "solid", 5) == 0;
  if (size >= HEAD) memcpy(&count, s->begin + 80, sizeof count);
  const size_t wanted = HEAD + (size_t)FACET * count;
  if (size >= HEAD && wanted == size) return read_binary(s, count);
  if (text) return read_text(s);
  if (size < HEAD)
    return error_set(s->err, FIRN_EINPUT, "%s: too short for an STL file (%zu bytes)", s->path, size);
  return error_set(s->err, FIRN_EINPUT,
                   "%s: damaged or cut short: %u triangles take %zu bytes, the file has %zu", s->path, count,
                   wanted, size);
}
