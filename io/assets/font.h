/* Text as an outline, from a font file through FreeType. */
#ifndef FIRN_IO_FONT_H
#define FIRN_IO_FONT_H

#include "base/error.h"
#include "levelset/outline.h"

/* The file of a font: `font` itself where it is a path (it has a slash or a suffix .ttf, .otf, .pfb, .ttc),
 * else the first file of that name with one of these suffixes in the system's font folders. To be freed with
 * mem_free(). */
int font_find(char **out, const char *font, struct error *err);

/* True if `font` is a path rather than a name. */
int font_is_path(const char *font);

/* One line of UTF-8 text, in units of the font. Characters that the font lacks are an error. */
int font_outline(struct outline **out, const char *path, const char *text, struct error *err);

#endif
