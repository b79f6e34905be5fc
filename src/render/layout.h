/* A scene before its run, as a frame: its snow is seeded, its bodies stand where they begin. */
#ifndef FIRN_RENDER_LAYOUT_H
#define FIRN_RENDER_LAYOUT_H

#include "io/particles/frame.h"

#include <stdbool.h>

/* Whether the file is a scene by its name (.yml, .yaml) and not a frame. */
bool layout_is_scene(const char *path);

/* Reads the scene and seeds its snow; not collective. For frame_destroy(). */
int layout_read(struct frame **out, const char *path, struct error *err);

#endif
