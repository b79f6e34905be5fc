/* What is written into a picture: the time, the mesh of the ground, a legend. */
#ifndef FIRN_RENDER_LABEL_H
#define FIRN_RENDER_LABEL_H

#include "io/scene/scene.h"
#include "render/image.h"
#include "render/preview/preview.h"

/* Time, or the caption unless it is NULL, in the lower left corner; for a preview also the mesh of the
 * ground, where there is ground, in the lower right, and where the snow has colours what they mean on the
 * right. */
void label_picture(struct image *image, const struct preview_stage *stage, const struct scene *scene,
                   double time, const char *caption, bool preview);

#endif
