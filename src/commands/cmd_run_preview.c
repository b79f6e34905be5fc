#include "commands/cmd_run_preview.h"

#include "base/log.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/particles/frame.h"
#include "render/shot.h"

#include <stdio.h>

enum { WIDTH = 960, HEIGHT = 540 };

static int draw(struct run_preview *preview, const struct scene *scene, char *frame, const char *picture,
                struct error *err)
{
  struct shot_options options = {.frames = &frame,
                                 .frame_count = 1,
                                 .ready = scene,
                                 .aspect = (double)WIDTH / HEIGHT,
                                 .aperture = -1.0,
                                 .focus = -1.0,
                                 .labels = true};
  struct shot *shot = NULL;
  struct image *image = image_create(WIDTH, HEIGHT);
  if (preview->started) options.camera = preview->camera;
  int code = shot_open(&shot, NULL, &options, err);
  if (!code) {
    preview->camera = shot_camera(shot);
    preview->started = true;
    code = shot_paint(shot, 0, image, NULL, NULL, err);
  }
  if (!code) code = image_write_png(image, picture, err);
  shot_close(&shot);
  image_destroy(&image);
  return code;
}

void run_preview_draw(struct run_preview *preview, const struct scene *scene, int64_t number)
{
  char name[32];
  char *folder = file_join(scene->output, "pictures"), *frame = frame_path(scene->output, number);
  struct error err = {.code = FIRN_OK};
  snprintf(name, sizeof name, "%06lld.png", (long long)number);
  char *picture = file_join(folder, name);
  int code = file_make_folder(folder, &err);
  if (!code) code = draw(preview, scene, frame, picture, &err);
  if (code) log_warn("no picture of frame %lld: %s", (long long)number, err.text);
  mem_free(folder);
  mem_free(frame);
  mem_free(picture);
}
