#include "render/letters.h"

#include "base/memory.h"
#include "io/assets/font.h"

#include <ft2build.h>
#include <math.h>
#include <string.h>
#include FT_FREETYPE_H

struct letters {
  FT_Library library;
  FT_Face face; /* NULL: built-in letters */
};

struct letters *letters_open(void)
{
  static const char *const names[] = {"DejaVuSans", "DejaVuSans-Bold", "LiberationSans-Regular", NULL};
  struct letters *l = mem_alloc(1, sizeof *l);
  if (FT_Init_FreeType(&l->library)) {
    l->library = NULL;
    return l;
  }
  for (int k = 0; names[k] && !l->face; k++) {
    char *path = NULL;
    if (font_find(&path, names[k], NULL) == FIRN_OK && FT_New_Face(l->library, path, 0, &l->face))
      l->face = NULL;
    mem_free(path);
  }
  return l;
}

void letters_close(struct letters **letters)
{
  struct letters *l = *letters;
  if (!l) return;
  if (l->face) FT_Done_Face(l->face);
  if (l->library) FT_Done_FreeType(l->library);
  mem_free(l);
  *letters = NULL;
}

/* The built-in letters are 7 pixels high; a line of `size` has capitals of 0.7 of it. */
static int plain_scale(double size)
{
  const int scale = (int)(0.1 * size + 0.5);
  return scale > 0 ? scale : 1;
}

/* Next character; bytes that are no UTF-8 count as themselves. */
static FT_ULong next_character(const char **text)
{
  const unsigned char *c = (const unsigned char *)*text;
  const int more = *c < 0xc0 ? 0 : *c < 0xe0 ? 1 : *c < 0xf0 ? 2 : 3;
  FT_ULong code = more ? (FT_ULong)(*c & (0x3f >> more)) : *c;
  for (int k = 1; k <= more; k++) {
    if ((c[k] & 0xc0) != 0x80) {
      *text += 1;
      return *c;
    }
    code = code << 6 | (FT_ULong)(c[k] & 0x3f);
  }
  *text += more + 1;
  return code;
}

/* DejaVu's lines are 1.17 times as far apart as its em. */
static void set_size(struct letters *l, double size)
{
  const double em = fmax(size / 1.17, 4.0);
  FT_Set_Char_Size(l->face, 0, (FT_F26Dot6)(64.0 * em + 0.5), 72, 72);
}

double letters_width(struct letters *l, double size, const char *text)
{
  if (!l->face) return image_text_width(plain_scale(size), text);
  double width = 0.0;
  set_size(l, size);
  while (*text)
    if (!FT_Load_Char(l->face, next_character(&text), FT_LOAD_NO_HINTING))
      width += (double)l->face->glyph->advance.x / 64.0;
  return width;
}

static void blend(struct image *image, int x, int y, const uint8_t rgb[3], int cover)
{
  if (x < 0 || y < 0 || x >= image->width || y >= image->height) return;
  uint8_t *to = image->rgb + 3 * ((size_t)y * (size_t)image->width + (size_t)x);
  for (int c = 0; c < 3; c++) to[c] = (uint8_t)(to[c] + ((int)rgb[c] - (int)to[c]) * cover / 255);
  if (!image->alpha) return;
  uint8_t *alpha = image->alpha + (size_t)y * (size_t)image->width + (size_t)x;
  *alpha = (uint8_t)(*alpha + (255 - *alpha) * cover / 255);
}

static void draw_glyph(const FT_GlyphSlot glyph, struct image *image, double x, double y,
                       const uint8_t rgb[3])
{
  const FT_Bitmap *map = &glyph->bitmap;
  const int left = (int)floor(x + 0.5), top = (int)floor(y + 0.5);
  for (int row = 0; row < (int)map->rows; row++)
    for (int column = 0; column < (int)map->width; column++) {
      const int cover = map->buffer[row * map->pitch + column];
      const int along = glyph->bitmap_left + column, above = glyph->bitmap_top - row;
      if (cover) blend(image, left + along, top - above, rgb, cover);
    }
}

void letters_draw(struct letters *l, struct image *image, double x, double y, double size,
                  const uint8_t rgb[3], const char *text)
{
  if (!l->face) {
    const int scale = plain_scale(size);
    image_letters(image, (int)x, (int)y - 7 * scale, scale, rgb, text);
    return;
  }
  set_size(l, size);
  while (*text) {
    if (FT_Load_Char(l->face, next_character(&text), FT_LOAD_RENDER | FT_LOAD_NO_HINTING)) continue;
    draw_glyph(l->face->glyph, image, x, y, rgb);
    x += (double)l->face->glyph->advance.x / 64.0;
  }
}
