/* FreeType walks a glyph's contours; curves are cut into eight chords each, which keeps them within a
 * thousandth of the letter's height. Glyphs stand side by side by their advance and the font's kerning. */
#include "io/assets/font.h"

#include "base/memory.h"

#include <errno.h>
#include <ft2build.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include FT_FREETYPE_H
#include FT_OUTLINE_H

enum { CHORDS = 8, MOST_POINTS = 1 << 22 };

static const char *const suffixes[] = {".ttf", ".otf", ".ttc", ".pfb", NULL};

int font_is_path(const char *font)
{
  if (strchr(font, '/')) return true;
  const size_t length = strlen(font);
  for (int k = 0; suffixes[k]; k++)
    if (length > 4 && !strcmp(font + length - 4, suffixes[k])) return true;
  return false;
}

/* nftw() hands nothing on to its callback. The search is made by one thread of one rank. */
static _Thread_local struct {
  const char *name;
  char *found;
} search;

static int visit(const char *path, const struct stat *info, int type, struct FTW *at)
{
  (void)info;
  if (type != FTW_F) return 0;
  const char *file = path + at->base;
  const size_t length = strlen(search.name);
  if (strncmp(file, search.name, length)) return 0;
  for (int k = 0; suffixes[k]; k++) {
    if (strcmp(file + length, suffixes[k])) continue;
    /* Folders come in any order: the first path by name is the answer. */
    if (search.found && strcmp(search.found, path) <= 0) continue;
    mem_free(search.found);
    search.found = mem_strdup(path);
  }
  return 0;
}

int font_find(char **out, const char *font, struct error *err)
{
  *out = NULL;
  if (font_is_path(font)) {
    *out = mem_strdup(font);
    return FIRN_OK;
  }
  static const char *const folders[] = {"/usr/local/share/fonts", "/usr/share/fonts", NULL};
  search.name = font;
  search.found = NULL;
  const char *home = getenv("HOME");
  if (home) {
    char *own = mem_alloc(strlen(home) + 32, 1);
    sprintf(own, "%s/.local/share/fonts", home);
    nftw(own, visit, 16, FTW_PHYS);
    mem_free(own);
  }
  for (int k = 0; folders[k] && !search.found; k++) nftw(folders[k], visit, 16, FTW_PHYS);
  *out = search.found;
  search.found = NULL;
  if (*out) return FIRN_OK;
  return error_set(err, FIRN_EINPUT,
                   "no font file is called '%.100s'; give a path, or install it (fonts-dejavu-core has "
                   "DejaVuSans-Bold)",
                   font);
}

/* The contours so far, and the pen. */
struct pen {
  int *start;
  double *point;
  int contours, contour_capacity;
  int points, point_capacity;
  double x;     /* of the present glyph's origin */
  double at[2]; /* where the present curve begins */
};

static void add_point(struct pen *pen, double x, double y)
{
  if (pen->points == pen->point_capacity) {
    const size_t old = (size_t)pen->point_capacity, wanted = 2 * old + 256;
    pen->point = mem_resize(pen->point, 2 * old, 2 * wanted, sizeof *pen->point);
    pen->point_capacity = (int)wanted;
  }
  pen->point[2 * pen->points] = pen->x + x;
  pen->point[2 * pen->points + 1] = y;
  pen->points++;
  pen->at[0] = x;
  pen->at[1] = y;
}

/* Ends the contour that is open; one that repeats its first point at its end loses it again. */
static void end_contour(struct pen *pen)
{
  const int first = pen->start[pen->contours];
  if (pen->points == first) return;
  const double *a = pen->point + 2 * first, *b = pen->point + 2 * (pen->points - 1);
  if (pen->points > first + 1 && a[0] == b[0] && a[1] == b[1]) pen->points--;
  if (pen->points < first + 3) {
    pen->points = first;
    return;
  }
  if (pen->contours + 2 > pen->contour_capacity) {
    const size_t old = (size_t)pen->contour_capacity, wanted = 2 * old + 16;
    pen->start = mem_resize(pen->start, old, wanted, sizeof *pen->start);
    pen->contour_capacity = (int)wanted;
  }
  pen->start[++pen->contours] = pen->points;
}

static int move_to(const FT_Vector *to, void *user)
{
  struct pen *pen = user;
  end_contour(pen);
  add_point(pen, (double)to->x, (double)to->y);
  return 0;
}

static int line_to(const FT_Vector *to, void *user)
{
  add_point(user, (double)to->x, (double)to->y);
  return 0;
}

static int conic_to(const FT_Vector *control, const FT_Vector *to, void *user)
{
  struct pen *pen = user;
  const double from[2] = {pen->at[0], pen->at[1]};
  for (int k = 1; k <= CHORDS; k++) {
    const double t = (double)k / CHORDS, u = 1.0 - t;
    add_point(pen, u * u * from[0] + 2.0 * u * t * (double)control->x + t * t * (double)to->x,
              u * u * from[1] + 2.0 * u * t * (double)control->y + t * t * (double)to->y);
  }
  return 0;
}

static int cubic_to(const FT_Vector *a, const FT_Vector *b, const FT_Vector *to, void *user)
{
  struct pen *pen = user;
  const double from[2] = {pen->at[0], pen->at[1]};
  for (int k = 1; k <= CHORDS; k++) {
    const double t = (double)k / CHORDS, u = 1.0 - t;
    const double w[4] = {u * u * u, 3.0 * u * u * t, 3.0 * u * t * t, t * t * t};
    add_point(pen, w[0] * from[0] + w[1] * (double)a->x + w[2] * (double)b->x + w[3] * (double)to->x,
              w[0] * from[1] + w[1] * (double)a->y + w[2] * (double)b->y + w[3] * (double)to->y);
  }
  return 0;
}

/* The next character of UTF-8 text; 0 at its end, -1 where it is broken. */
static int64_t next_character(const char **text)
{
  const unsigned char *c = (const unsigned char *)*text;
  if (!*c) return 0;
  const int more = *c < 0x80 ? 0 : *c >= 0xf0 ? 3 : *c >= 0xe0 ? 2 : *c >= 0xc0 ? 1 : -1;
  if (more < 0) return -1;
  int64_t code = more ? *c & (0x3f >> more) : *c;
  for (int k = 1; k <= more; k++) {
    if ((c[k] & 0xc0) != 0x80) return -1;
    code = code << 6 | (c[k] & 0x3f);
  }
  *text += more + 1;
  return code;
}

static int draw_glyph(FT_Face face, FT_UInt glyph, struct pen *pen)
{
  static const FT_Outline_Funcs funcs = {move_to, line_to, conic_to, cubic_to, 0, 0};
  if (FT_Load_Glyph(face, glyph, FT_LOAD_NO_SCALE) || face->glyph->format != FT_GLYPH_FORMAT_OUTLINE)
    return -1;
  if (FT_Outline_Decompose(&face->glyph->outline, &funcs, pen)) return -1;
  end_contour(pen);
  pen->x += (double)face->glyph->metrics.horiAdvance;
  return 0;
}

static int draw_text(FT_Face face, const char *path, const char *text, struct pen *pen, struct error *err)
{
  FT_UInt before = 0;
  for (const char *at = text;;) {
    const int64_t code = next_character(&at);
    if (code == 0) return FIRN_OK;
    if (code < 0) return error_set(err, FIRN_EINPUT, "the text is not UTF-8");
    const FT_UInt glyph = FT_Get_Char_Index(face, (FT_ULong)code);
    if (!glyph) return error_set(err, FIRN_EINPUT, "%s has no letter for U+%04llX", path, (long long)code);
    FT_Vector kerning;
    if (before && !FT_Get_Kerning(face, before, glyph, FT_KERNING_UNSCALED, &kerning))
      pen->x += (double)kerning.x;
    if (draw_glyph(face, glyph, pen))
      return error_set(err, FIRN_EINPUT, "%s has no outline for U+%04llX; expected a font of curves", path,
                       (long long)code);
    if (pen->points > MOST_POINTS) return error_set(err, FIRN_ELIMIT, "the text is too long");
    before = glyph;
  }
}

int font_outline(struct outline **out, const char *path, const char *text, struct error *err)
{
  *out = NULL;
  FT_Library library;
  FT_Face face;
  if (access(path, R_OK)) return error_set(err, FIRN_EIO, "%s: cannot be read: %s", path, strerror(errno));
  if (FT_Init_FreeType(&library)) return error_set(err, FIRN_ELIMIT, "FreeType does not start");
  if (FT_New_Face(library, path, 0, &face)) {
    FT_Done_FreeType(library);
    return error_set(err, FIRN_EINPUT, "%s: not a font that FreeType can read", path);
  }
  struct pen pen = {.start = mem_alloc(16, sizeof(int)), .contour_capacity = 16};
  int code = draw_text(face, path, text, &pen, err);
  if (!code && !pen.contours) code = error_set(err, FIRN_EINPUT, "the text has nothing but blanks");
  if (!code) *out = outline_create(pen.contours, pen.start, pen.point);
  mem_free(pen.start);
  mem_free(pen.point);
  FT_Done_Face(face);
  FT_Done_FreeType(library);
  return code;
}
