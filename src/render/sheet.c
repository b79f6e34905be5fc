/* Several frames are read twice rather than held: the camera must know all of them before the first is drawn,
 * and a hundred frames of ten million particles do not fit into memory. A single frame is read once. */
#include "render/sheet.h"

#include "base/log.h"
#include "base/memory.h"
#include "io/frame.h"
#include "render/image.h"
#include "render/preview.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { GAP = 4, SMALLEST_SIDE = 16, LARGEST_SIDE = 8192, LARGEST_SHEET = 65500 };

int sheet_layout(const struct sheet_request *request, struct sheet_layout *layout, struct error *err)
{
  const int count = request->frame_count;
  int columns = request->columns > 0 ? request->columns : (int)ceil(sqrt((double)count));
  columns = columns < count ? columns : count;
  const int rows = (count + columns - 1) / columns;
  const bool given = request->width != 0 || request->height != 0;
  const int width = given       ? request->width
                    : count > 1 ? 640
                                : 1280,
            height = given ? request->height : width * 9 / 16;
  if (width < SMALLEST_SIDE || height < SMALLEST_SIDE || width > LARGEST_SIDE || height > LARGEST_SIDE)
    return error_set(err, FIRN_EINPUT,
                     "a picture of %dx%d pixels cannot be drawn: each side must be %d to %d", width, height,
                     SMALLEST_SIDE, LARGEST_SIDE);
  const int64_t all_width = (int64_t)columns * (width + GAP) - GAP,
                all_height = (int64_t)rows * (height + GAP) - GAP;
  if (all_width > LARGEST_SHEET || all_height > LARGEST_SHEET)
    return error_set(
        err, FIRN_ELIMIT,
        "a sheet of %d frames would be %lldx%lld pixels, more than %d: give fewer frames or a smaller --size",
        count, (long long)all_width, (long long)all_height, LARGEST_SHEET);
  *layout = (struct sheet_layout){columns, rows, width, height, GAP, (int)all_width, (int)all_height};
  return FIRN_OK;
}

/* A frame does not say where its scene lay, and so where the files are that its shapes are made of: beside
 * the frame, here, or in scenes/. Bodies whose files are nowhere are left out. */
static void read_stored(const char *stored, const char *frame, struct scene **out)
{
  const char *const places[] = {frame, "scene.yml", "scenes/scene.yml", NULL};
  struct error why = {.code = FIRN_OK};
  for (int k = 0; places[k]; k++) {
    scene_destroy(out);
    if (scene_parse(out, places[k], stored, NULL, 0, &why) != FIRN_OK) {
      log_warn("no bodies are drawn, since the scene in the frame cannot be read: %s", why.text);
      return;
    }
    if (scene_load(*out, NULL, &why) == FIRN_OK) return;
  }
  for (int b = 0; b < (*out)->body_count; b++) {
    struct body *body = &(*out)->bodies[b];
    if (shape_is_ready(&body->shape)) continue;
    log_warn("the body '%s' is not drawn, since its file is not found; give --scene", body->name);
    shape_destroy(&body->shape);
  }
}

/* The scene that the request names, or else the first frame's own; *out may stay NULL in the second case. */
static int find_scene(const struct sheet_request *request, const struct frame *first, struct scene **out,
                      struct error *err)
{
  char *text = NULL;
  int code;
  if (request->scene) {
    code = scene_read_text(&text, request->scene, err);
    if (code == FIRN_OK) code = scene_parse(out, request->scene, text, NULL, 0, err);
    if (code == FIRN_OK) code = scene_load(*out, NULL, err);
    mem_free(text);
    return code;
  }
  const char *stored = first->resolved ? first->resolved : first->scene;
  if (stored) read_stored(stored, request->frames[0], out);
  return FIRN_OK;
}

/* "0.500 s" in the lower left corner; the mesh of the ground in the lower right where there is ground. */
static void put_labels(struct image *panel, const struct preview_stage *stage, const struct scene *scene,
                       double time)
{
  char text[64];
  const int scale = panel->width >= 1600 ? 4 : panel->width >= 900 ? 3 : panel->width >= 400 ? 2 : 1;
  const int margin = 6 * scale, y = panel->height - margin - 7 * scale;
  snprintf(text, sizeof text, fabs(time) < 1e3 ? "%.3f s" : "%.6g s", time);
  image_text(panel, margin, y, scale, text);
  bool plane = false;
  for (int b = 0; scene && b < scene->body_count; b++)
    plane = plane || scene->bodies[b].shape.kind == SHAPE_PLANE;
  if (!plane) return;
  snprintf(text, sizeof text, "grid %g m", stage->grid);
  const int width = image_text_width(scale, text);
  if (width + image_text_width(scale, "0.000 s") + 4 * margin < panel->width)
    image_text(panel, panel->width - width - margin, y, scale, text);
}

struct sheet {
  const struct sheet_request *request;
  struct sheet_layout layout;
  struct preview_stage stage;
  struct scene *scene;
  struct frame *only; /* the frame, where there is but one */
  double *times;      /* s, of the frames */
};

static int survey(struct sheet *sheet, struct error *err)
{
  const struct sheet_request *request = sheet->request;
  for (int i = 0; i < request->frame_count; i++) {
    struct frame *frame = NULL;
    int code = frame_read(&frame, request->frames[i], err);
    if (code == FIRN_OK && frame->count > (int64_t)UINT32_MAX)
      code = error_set(err, FIRN_ELIMIT, "%s: a preview draws at most %u particles", request->frames[i],
                       UINT32_MAX);
    if (code == FIRN_OK && i == 0) {
      code = find_scene(request, frame, &sheet->scene, err);
      preview_stage_init(&sheet->stage, sheet->scene ? sheet->scene->gravity : NULL);
    }
    if (code == FIRN_OK) {
      preview_stage_add(&sheet->stage, frame);
      sheet->times[i] = frame->info.time;
    }
    if (code == FIRN_OK && request->frame_count == 1)
      sheet->only = frame;
    else
      frame_destroy(&frame);
    if (code != FIRN_OK) return code;
  }
  return FIRN_OK;
}

static void aim(struct sheet *sheet)
{
  const struct sheet_request *request = sheet->request;
  const struct body *bodies = sheet->scene ? sheet->scene->bodies : NULL;
  const int count = sheet->scene ? sheet->scene->body_count : 0;
  const struct scene_camera *camera = request->camera.given ? &request->camera
                                      : sheet->scene        ? &sheet->scene->camera
                                                            : NULL;
  for (int i = 0; i < request->frame_count; i++)
    preview_stage_add_bodies(&sheet->stage, bodies, count, sheet->times[i]);
  preview_stage_aim(&sheet->stage, bodies, count, camera,
                    (double)sheet->layout.panel_width / (double)sheet->layout.panel_height);
}

static int draw_panels(struct sheet *sheet, struct image *image, struct error *err)
{
  const struct sheet_layout *layout = &sheet->layout;
  struct image *panel = image_create(layout->panel_width, layout->panel_height);
  int code = FIRN_OK;
  for (int i = 0; i < sheet->request->frame_count && code == FIRN_OK; i++) {
    struct frame *read = NULL;
    if (!sheet->only) code = frame_read(&read, sheet->request->frames[i], err);
    if (code != FIRN_OK) break;
    const struct frame *frame = sheet->only ? sheet->only : read;
    preview_render(&sheet->stage, frame, sheet->scene ? sheet->scene->bodies : NULL,
                   sheet->scene ? sheet->scene->body_count : 0, panel);
    put_labels(panel, &sheet->stage, sheet->scene, frame->info.time);
    image_paste(image, panel, i % layout->columns * (layout->panel_width + layout->gap),
                i / layout->columns * (layout->panel_height + layout->gap));
    frame_destroy(&read);
  }
  image_destroy(&panel);
  return code;
}

int sheet_draw(const struct sheet_request *request, struct sheet_layout *layout, struct error *err)
{
  static const uint8_t background[3] = {24, 27, 32};
  struct sheet sheet = {.request = request};
  int code = sheet_layout(request, &sheet.layout, err);
  if (code != FIRN_OK) return code;
  *layout = sheet.layout;
  sheet.times = mem_alloc((size_t)request->frame_count, sizeof *sheet.times);
  code = survey(&sheet, err);
  if (code == FIRN_OK) {
    aim(&sheet);
    struct image *image = image_create(layout->width, layout->height);
    image_fill(image, background);
    code = draw_panels(&sheet, image, err);
    if (code == FIRN_OK) code = image_write_png(image, request->output, err);
    image_destroy(&image);
  }
  frame_destroy(&sheet.only);
  preview_stage_destroy(&sheet.stage);
  scene_destroy(&sheet.scene);
  mem_free(sheet.times);
  return code;
}
