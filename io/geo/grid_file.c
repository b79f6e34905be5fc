#include "io/geo/grid_file.h"

#include "base/memory.h"
#include "io/file.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_CELLS = 1 << 28, MOST_SIDE = 1 << 20 };
static const size_t longest = (size_t)1 << 32; /* bytes of a text */

struct header {
  double columns, rows, x, y, cell, no_data;
  bool center_x, center_y;
  unsigned given; /* one bit a word, in the order of `words` */
};

static const char *const words[] = {"ncols",     "nrows",    "xllcorner",    "xllcenter", "yllcorner",
                                    "yllcenter", "cellsize", "nodata_value", "dx",        "dy"};
enum { COLUMNS, ROWS, X_CORNER, X_CENTER, Y_CORNER, Y_CENTER, CELL, NO_DATA, DX, DY, WORDS };

/* One line of the header; false where the text goes on with numbers. */
static bool take_word(char **at, struct header *h)
{
  char *p = *at;
  while (isspace((unsigned char)*p)) p++;
  if (!isalpha((unsigned char)*p)) return false;
  for (int k = 0; k < WORDS; k++) {
    const size_t length = strlen(words[k]);
    if (strncasecmp(p, words[k], length) != 0 || !isspace((unsigned char)p[length])) continue;
    double *const to[WORDS] = {&h->columns, &h->rows, &h->x,       &h->x,    &h->y,
                               &h->y,       &h->cell, &h->no_data, &h->cell, &h->cell};
    char *end;
    const double value = strtod(p + length, &end);
    if (end == p + length || (k == DY && h->given & 1u << DX && value != h->cell)) return false;
    *to[k] = value;
    h->center_x |= k == X_CENTER;
    h->center_y |= k == Y_CENTER;
    h->given |= 1u << k;
    *at = end;
    return true;
  }
  return false;
}

static int check_header(const struct header *h, const char *path, struct error *err)
{
  const unsigned x = 1u << X_CORNER | 1u << X_CENTER, y = 1u << Y_CORNER | 1u << Y_CENTER;
  if (!(h->given & 1u << COLUMNS) || !(h->given & 1u << ROWS) || !(h->given & x) || !(h->given & y) ||
      !(h->given & (1u << CELL | 1u << DX)))
    return error_set(
        err, FIRN_EINPUT,
        "%s is no ESRI ASCII grid: expected ncols, nrows, xllcorner (or xllcenter), yllcorner and "
        "cellsize in its first lines",
        path);
  if (!(h->columns >= 2.0 && h->rows >= 2.0 && h->columns <= MOST_SIDE && h->rows <= MOST_SIDE &&
        h->columns * h->rows <= MOST_CELLS && h->columns == floor(h->columns) && h->rows == floor(h->rows)))
    return error_set(err, FIRN_EINPUT, "%s: %g x %g cells; expected 2 to %d a side and at most %d in all",
                     path, h->columns, h->rows, MOST_SIDE, MOST_CELLS);
  if (h->cell < 0.0)
    return error_set(err, FIRN_EINPUT,
                     "%s: its cell size is %g, so it is upside down; turn it north up (gdalwarp does)", path,
                     h->cell);
  if (!(h->cell > 0.0 && isfinite(h->cell) && isfinite(h->x) && isfinite(h->y)))
    return error_set(err, FIRN_EINPUT, "%s: its cell size or corner is no number", path);
  return FIRN_OK;
}

static int parse_ascii(struct raster **out, const char *path, char *text, struct error *err)
{
  struct header h = {.no_data = GRID_FILE_NO_DATA};
  while (take_word(&text, &h)) {
  }
  const int code = check_header(&h, path, err);
  if (code) return code;
  const double half = 0.5 * h.cell, west = h.x + (h.center_x ? 0.0 : half),
               south = h.y + (h.center_y ? 0.0 : half);
  struct raster *r =
      raster_create((int64_t)h.columns, (int64_t)h.rows, west, south + (h.rows - 1.0) * h.cell, h.cell);
  for (int64_t k = 0; k < r->columns * r->rows; k++) {
    char *end;
    const double value = strtod(text, &end);
    if (end == text) {
      raster_destroy(&r);
      return error_set(err, FIRN_EINPUT,
                       "%s: %g x %g values are announced, and value %lld is missing or no "
                       "number",
                       path, h.columns, h.rows, (long long)k + 1);
    }
    r->value[k] = value == h.no_data || !isfinite(value) ? NAN : (float)value;
    text = end;
  }
  *out = r;
  return FIRN_OK;
}

static bool has_suffix(const char *path, const char *suffix)
{
  const size_t length = strlen(path), tail = strlen(suffix);
  return length >= tail && strcasecmp(path + length - tail, suffix) == 0;
}

int grid_file_read(struct raster **out, const char *path, struct error *err)
{
  char *text = NULL;
  size_t size;
  *out = NULL;
  if (!has_suffix(path, ".asc") && !has_suffix(path, ".txt")) {
#ifdef FIRN_HAVE_GDAL
    return gdal_grid_read(out, path, err);
#else
    return error_set(
        err, FIRN_EINPUT,
        "%s: this Firn was built without GDAL and reads ESRI ASCII grids (.asc) only; convert it "
        "with 'gdal_translate -of AAIGrid', or build with libgdal-dev",
        path);
#endif
  }
  int code = file_read(path, longest, &text, &size, err);
  if (!code) code = parse_ascii(out, path, text, err);
  mem_free(text);
  return code;
}

static bool is_whole(const struct raster *r, int64_t k)
{
  return !isnan(r->value[k]);
}

int grid_file_write_ascii(const char *path, const struct raster *r, struct error *err)
{
  enum { NUMBER = 20, HEAD = 512 };
  const int64_t count = r->columns * r->rows;
  char *text = mem_alloc((size_t)count * NUMBER + HEAD, 1);
  size_t used = (size_t)snprintf(text, HEAD,
                                 "ncols %lld\nnrows %lld\nxllcenter %.17g\nyllcenter %.17g\ncellsize "
                                 "%.17g\nNODATA_value %g\n",
                                 (long long)r->columns, (long long)r->rows, r->west,
                                 r->north - (double)(r->rows - 1) * r->cell, r->cell, GRID_FILE_NO_DATA);
  for (int64_t k = 0; k < count; k++)
    used += (size_t)snprintf(text + used, NUMBER, "%.7g%c",
                             is_whole(r, k) ? (double)r->value[k] : GRID_FILE_NO_DATA,
                             (k + 1) % r->columns ? ' ' : '\n');
  const int code = file_write(path, 0, text, used, err);
  mem_free(text);
  return code;
}

/* --- polygons --- */

void polygons_free(struct polygons *p)
{
  mem_free(p->point);
  mem_free(p->ring);
  *p = (struct polygons){0};
}

/* A line: a point, or the end of a ring. Returns false for a line that is neither. */
static bool take_line(const char *line, double point[2], bool *empty)
{
  char *end, *last;
  while (*line == ' ' || *line == '\t' || *line == '\r') line++;
  *empty = *line == '\0' || *line == '#';
  if (*empty) return true;
  point[0] = strtod(line, &end);
  if (end == line) return false;
  while (*end == ' ' || *end == '\t' || *end == ',' || *end == ';') end++;
  point[1] = strtod(end, &last);
  if (last == end) return false;
  while (isspace((unsigned char)*last)) last++;
  return *last == '\0' && isfinite(point[0]) && isfinite(point[1]);
}

static void end_ring(struct polygons *p, int64_t count)
{
  const int64_t first = p->ring[p->rings];
  if (count == first) return;
  p->ring = mem_resize(p->ring, (size_t)p->rings + 1, (size_t)p->rings + 2, sizeof *p->ring);
  p->ring[++p->rings] = count;
}

static int parse_polygons(struct polygons *p, const char *path, char *text, struct error *err)
{
  int64_t count = 0, capacity = 0, line = 0;
  p->ring = mem_alloc(1, sizeof *p->ring);
  for (char *at = text, *next; at; at = next) {
    double point[2];
    bool empty;
    next = strchr(at, '\n');
    if (next) *next++ = '\0';
    line++;
    if (!take_line(at, point, &empty)) {
      if (count == 0 && line == 1) continue; /* the names of the columns */
      return error_set(err, FIRN_EINPUT, "%s:%lld: expected east and north of a point in metres", path,
                       (long long)line);
    }
    if (empty) {
      end_ring(p, count);
      continue;
    }
    p->point = mem_reserve(p->point, &capacity, count + 1, sizeof *p->point);
    memcpy(p->point[count++], point, sizeof point);
  }
  end_ring(p, count);
  for (int k = 0; k < p->rings; k++)
    if (p->ring[k + 1] - p->ring[k] < 3)
      return error_set(err, FIRN_EINPUT, "%s: a ring of %lld points has no area; expected at least 3", path,
                       (long long)(p->ring[k + 1] - p->ring[k]));
  if (p->rings == 0) return error_set(err, FIRN_EINPUT, "%s holds no polygon", path);
  return FIRN_OK;
}

int polygons_read(struct polygons *out, const char *path, struct error *err)
{
  char *text = NULL;
  size_t size;
  *out = (struct polygons){0};
  if (!has_suffix(path, ".csv") && !has_suffix(path, ".txt") && !has_suffix(path, ".xy")) {
#ifdef FIRN_HAVE_GDAL
    return gdal_polygons_read(out, path, err);
#else
    return error_set(err, FIRN_EINPUT,
                     "%s: this Firn was built without GDAL and reads polygons as text (.csv, .xy) only: east "
                     "and north of a point per line; or build with libgdal-dev",
                     path);
#endif
  }
  int code = file_read(path, longest, &text, &size, err);
  if (!code) code = parse_polygons(out, path, text, err);
  mem_free(text);
  if (code) polygons_free(out);
  return code;
}
