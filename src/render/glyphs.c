/* The label font: 5x7 pixels per character, one byte per row, bit 4 leftmost. Drawn for Firn; only what
 * labels use. */
#include "render/image.h"

#include <string.h>

enum { GLYPH_WIDTH = 5, GLYPH_HEIGHT = 7, ADVANCE = 6 };

struct glyph {
  char character;
  uint8_t rows[GLYPH_HEIGHT];
};

static const struct glyph glyphs[] = {
    {'0', {14, 17, 19, 21, 25, 17, 14}}, {'1', {4, 12, 4, 4, 4, 4, 14}},
    {'2', {14, 17, 1, 6, 8, 16, 31}},    {'3', {14, 17, 1, 6, 1, 17, 14}},
    {'4', {2, 6, 10, 18, 31, 2, 2}},     {'5', {31, 16, 30, 1, 1, 17, 14}},
    {'6', {6, 8, 16, 30, 17, 17, 14}},   {'7', {31, 1, 2, 4, 8, 8, 8}},
    {'8', {14, 17, 17, 14, 17, 17, 14}}, {'9', {14, 17, 17, 15, 1, 2, 12}},
    {'.', {0, 0, 0, 0, 0, 12, 12}},      {',', {0, 0, 0, 0, 12, 4, 8}},
    {'-', {0, 0, 0, 14, 0, 0, 0}},       {'+', {0, 4, 4, 31, 4, 4, 0}},
    {'=', {0, 0, 31, 0, 31, 0, 0}},      {'/', {1, 2, 2, 4, 8, 8, 16}},
    {':', {0, 12, 12, 0, 12, 12, 0}},    {'a', {0, 0, 14, 1, 15, 17, 15}},
    {'b', {16, 16, 30, 17, 17, 17, 30}}, {'c', {0, 0, 14, 17, 16, 17, 14}},
    {'d', {1, 1, 15, 17, 17, 17, 15}},   {'e', {0, 0, 14, 17, 31, 16, 14}},
    {'f', {6, 8, 28, 8, 8, 8, 8}},       {'g', {0, 15, 17, 17, 15, 1, 14}},
    {'h', {16, 16, 30, 17, 17, 17, 17}}, {'i', {4, 0, 12, 4, 4, 4, 14}},
    {'j', {2, 0, 6, 2, 2, 18, 12}},      {'k', {16, 18, 20, 24, 20, 18, 17}},
    {'l', {12, 4, 4, 4, 4, 4, 14}},      {'m', {0, 0, 26, 21, 21, 21, 21}},
    {'n', {0, 0, 30, 17, 17, 17, 17}},   {'o', {0, 0, 14, 17, 17, 17, 14}},
    {'p', {0, 30, 17, 17, 30, 16, 16}},  {'q', {0, 15, 17, 17, 15, 1, 1}},
    {'r', {0, 0, 22, 25, 16, 16, 16}},   {'s', {0, 0, 15, 16, 14, 1, 30}},
    {'t', {8, 8, 28, 8, 8, 9, 6}},       {'u', {0, 0, 17, 17, 17, 17, 15}},
    {'v', {0, 0, 17, 17, 17, 10, 4}},    {'w', {0, 0, 17, 17, 21, 21, 10}},
    {'x', {0, 0, 17, 10, 4, 10, 17}},    {'y', {0, 17, 17, 17, 15, 1, 14}},
    {'z', {0, 0, 31, 2, 4, 8, 31}},
};

static const struct glyph *find(char character)
{
  if (character >= 'A' && character <= 'Z') character = (char)(character - 'A' + 'a');
  for (size_t i = 0; i < sizeof glyphs / sizeof *glyphs; i++)
    if (glyphs[i].character == character) return &glyphs[i];
  return NULL;
}

void image_letters(struct image *image, int x, int y, int scale, const uint8_t rgb[3], const char *text)
{
  for (; *text; text++, x += ADVANCE * scale) {
    const struct glyph *glyph = find(*text);
    if (glyph == NULL) continue;
    for (int row = 0; row < GLYPH_HEIGHT; row++)
      for (int column = 0; column < GLYPH_WIDTH; column++)
        if (glyph->rows[row] >> (GLYPH_WIDTH - 1 - column) & 1)
          image_box(image, x + column * scale, y + row * scale, scale, scale, rgb);
  }
}

int image_text_width(int scale, const char *text)
{
  return (int)strlen(text) * ADVANCE * scale;
}
