/* The schema of a scene, for io/scene.c. Each function reads one part of the tree into its struct, with
 * defaults, and fails through the reader. */
#ifndef FIRN_IO_SCENE_READ_H
#define FIRN_IO_SCENE_READ_H

#include "io/reader.h"
#include "io/scene.h"

/* Everything. scene->path and scene->name (the default one) are set before. */
void scene_read(struct reader *r, struct scene *scene);

/* The keys of the shapes, which a body or a snow source holds beside its others. */
#define SCENE_SHAPE_KEYS "plane", "sphere", "box", "capsule", "cylinder"

/* Reads the one shape in map. */
void scene_read_shape(struct reader *r, const struct yaml_item *map, struct shape *shape);

void scene_read_snow(struct reader *r, const struct yaml_item *root, struct scene *scene);
void scene_read_bodies(struct reader *r, const struct yaml_item *root, struct scene *scene);

#endif
