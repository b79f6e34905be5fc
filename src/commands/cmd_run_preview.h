/* firn run --preview: a picture of every frame, as it is written. */
#ifndef FIRN_CMD_RUN_PREVIEW_H
#define FIRN_CMD_RUN_PREVIEW_H

#include "io/scene/scene.h"

#include <stdint.h>

struct run_preview {
  bool started;
  struct scene_camera camera; /* of the first picture, kept for the others */
};

/* Rank 0. Draws the frame that was just written to <output>/pictures/000012.png. A picture that cannot be
 * drawn is a warning: it must not end a run. */
void run_preview_draw(struct run_preview *preview, const struct scene *scene, int64_t frame);

#endif
