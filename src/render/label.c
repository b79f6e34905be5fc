#include "render/label.h"

#include "render/letters.h"
#include "render/preview/palette.h"
#include "render/tone.h"

#include <math.h>
#include <stdio.h>

/* What writes: the letters, their size (pixels from line to line), and where. */
struct writer {
  struct letters *letters;
  struct image *image;
  double size;
};

static double size_for(const struct image *image)
{
  const double size = 0.038 * image->height;
  return size < 11.0 ? 11.0 : size > 64.0 ? 64.0 : size;
}

/* White with a dark rim, readable on snow and on ground; (x, y) is the upper left corner. */
static void write_text(const struct writer *w, double x, double y, const char *text)
{
  static const uint8_t dark[3] = {38, 42, 48}, light[3] = {250, 250, 250};
  const double base = y + 0.78 * w->size, rim = w->size > 28.0 ? 2.0 : 1.0;
  for (int k = 0; k < 9; k++)
    if (k != 4)
      letters_draw(w->letters, w->image, x + rim * (k % 3 - 1), base + rim * (k / 3 - 1), w->size, dark,
                   text);
  letters_draw(w->letters, w->image, x, base, w->size, light, text);
}

static double text_width(const struct writer *w, const char *text)
{
  return letters_width(w->letters, w->size, text);
}

static void to_bytes(const float color[3], uint8_t out[3])
{
  for (int c = 0; c < 3; c++) out[c] = (uint8_t)(255.0f * tone_srgb(fminf(color[c], 1.0f)) + 0.5f);
}

/* A bar of colours with numbers beside it. */
static void label_bar(const struct writer *w, const struct preview_stage *stage)
{
  struct image *image = w->image;
  const int width = (int)(0.7 * w->size), height = image->height / 2, y = image->height / 4;
  const int x = (int)(image->width - 5.0 * w->size);
  for (int row = 0; row < height; row++) {
    const double t = 1.0 - (row + 0.5) / height;
    float color[3];
    uint8_t bytes[3];
    palette_color(stage->color, stage->range,
                  (float)(stage->range[0] + t * (stage->range[1] - stage->range[0])), color);
    to_bytes(color, bytes);
    image_box(image, x, y + row, width, 1, bytes);
  }
  for (int tick = 0; tick <= 4; tick++) {
    char text[32];
    snprintf(text, sizeof text, "%.4g", stage->range[0] + 0.25 * tick * (stage->range[1] - stage->range[0]));
    write_text(w, x + 1.2 * width, y + 0.25 * height * (4 - tick) - 0.5 * w->size, text);
  }
  const char *title = palette_title(stage->color);
  const double edge = image->width - text_width(w, title) - 0.5 * w->size;
  write_text(w, edge < x ? edge : x, y - 1.9 * w->size, title);
}

static void label_materials(const struct writer *w, const struct scene *scene)
{
  static const double all[2] = {0.0, 1.0};
  for (int k = 0; scene && k < scene->material_count && k < 8; k++) {
    const char *name = scene->materials[k].name;
    const double y = 0.25 * w->image->height + 1.4 * w->size * k;
    const double x = w->image->width - text_width(w, name) - 0.6 * w->size;
    float color[3];
    uint8_t bytes[3];
    palette_color(COLOR_MATERIAL, all, (float)k, color);
    to_bytes(color, bytes);
    image_box(w->image, (int)(x - 1.1 * w->size), (int)(y + 0.15 * w->size), (int)(0.75 * w->size),
              (int)(0.75 * w->size), bytes);
    write_text(w, x, y, name);
  }
}

static bool has_plane(const struct scene *scene)
{
  for (int b = 0; scene && b < scene->body_count; b++)
    if (scene->bodies[b].shape.kind == SHAPE_PLANE) return true;
  return false;
}

void label_picture(struct image *image, const struct preview_stage *stage, const struct scene *scene,
                   double time, const char *caption, bool preview)
{
  char text[128], mesh[64];
  struct writer w = {letters_open(), image, size_for(image)};
  const double margin = 0.5 * w.size, y = image->height - 1.4 * w.size;
  if (caption)
    snprintf(text, sizeof text, "%s", caption);
  else
    snprintf(text, sizeof text, fabs(time) < 1e3 ? "%.3f s" : "%.6g s", time);
  write_text(&w, margin, y, text);
  if (preview && stage->color == COLOR_MATERIAL) label_materials(&w, scene);
  if (preview && stage->color != COLOR_MATERIAL && stage->color != COLOR_SNOW) label_bar(&w, stage);
  snprintf(mesh, sizeof mesh, "grid %g m", stage->grid);
  const double width = text_width(&w, mesh);
  if (preview && has_plane(scene) && width + text_width(&w, text) + 4.0 * margin < image->width)
    write_text(&w, image->width - width - margin, y, mesh);
  letters_close(&w.letters);
}
