/* The schema of a scene, for io/scene/scene.c. Each function reads one part of the tree into its struct, with
 * defaults, and fails through the reader. */
#ifndef FIRN_IO_SCENE_READ_H
#define FIRN_IO_SCENE_READ_H

#include "io/scene/reader.h"
#include "io/scene/scene.h"

/* Everything. scene->path and scene->name (the default one) are set before. */
void scene_read(struct reader *r, struct scene *scene);

/* Applies what the scene keeps for the size and variant that are chosen, by its own keys or the last --set,
 * and takes these keys out of the tree. A choice that is not the first of its kind is added to the name. */
int scene_apply_choices(struct yaml *yaml, const char *const *overrides, int count, char *name, size_t size,
                        struct error *err);

/* Whether an override makes such a choice: scene_apply_choices() has dealt with it. */
bool scene_is_choice(const char *override);

/* The keys of the shapes, in the order of enum shape_kind, which a body or a snow source holds beside its
 * others. */
#define SCENE_SHAPE_KEYS                                                                                     \
  "plane", "sphere", "box", "capsule", "cylinder", "cone", "wedge", "heightfield", "mesh", "levelset",       \
      "union", "intersection", "difference", "smooth_union", "shell", "offset", "layer", "text", "release"

/* Reads the one shape in map, which shape_destroy() frees whether it failed or not. A shape without files is
 * settled here; others are by scene_load(). */
void scene_read_shape(struct reader *r, const struct yaml_item *map, const struct scene *scene,
                      struct shape *shape);

/* The shape `text` of map. */
void scene_read_letters(struct reader *r, const struct yaml_item *map, const struct scene *scene,
                        struct shape *shape);

/* The shape `release` of map; and the section `terrain`, whose body is the scene's last (scene_terrain.c). */
void scene_read_release(struct reader *r, const struct yaml_item *map, const struct scene *scene,
                        struct shape *shape);
void scene_read_terrain(struct reader *r, const struct yaml_item *root, struct scene *scene);

/* Collective: the files of the section, whose shapes are ready then. */
int scene_load_terrain(struct scene *scene, const struct comm *comm, struct error *err);

/* A relative path seen from the scene's folder, to be freed with mem_free(). */
char *scene_path_beside(const char *scene, const char *file);

/* Scales to length one; fails where rounding, or a zero, leaves no direction. */
void scene_read_direction(struct reader *r, const struct yaml_item *map, const char *key, double out[3]);

/* The key `rotate` ({axis, degrees}) of map as axis and angle; no turn where it is missing. */
void scene_read_rotate(struct reader *r, const struct yaml_item *map, double axis[3], double *degrees);

/* The same as the shape's frame. */
void scene_read_frame(struct reader *r, const struct yaml_item *map, struct shape *shape);

/* The section `motion` of map: NULL where it is missing or something failed. */
struct motion *scene_read_motion(struct reader *r, const struct yaml_item *map);

/* What makes the body of this map free, and how it meets other bodies; whether the scene has a free body. */
void scene_read_free(struct reader *r, const struct yaml_item *map, const struct scene *s, struct body *body);
bool scene_has_free(const struct yaml_item *root);

/* The section `air`, after the bodies. */
void scene_read_air(struct reader *r, const struct yaml_item *root, struct scene *s);

/* Whether the body or bone of this map has a spin, or keys that turn it: without either its pivot is nothing.
 */
bool scene_turns(const struct yaml_item *map);

/* Whether a finished shape can hold this snow, and this body can move as it shall. If not, *text says why and
 * *key names the key at fault, or is NULL. */
bool scene_snow_fits(const struct scene *scene, const struct snow_source *snow, const char **key,
                     char text[256]);
bool scene_body_fits(const struct body *body, const char **key, char text[256]);

/* What a body's friction has beyond one coefficient (scene_ground.c); `friction` is read before. */
#define SCENE_GROUND_KEYS "turbulence", "cohesion", "fast_friction", "friction_speed"
void scene_read_ground(struct reader *r, const struct yaml_item *map, const struct scene *scene,
                       struct body *body);

/* Friction, instruments and colour of a body that does not move. */
void scene_read_ground_body(struct reader *r, const struct yaml_item *map, const struct scene *scene,
                            struct body *body);

/* The law of a zone, with its own `friction`. */
void scene_read_zone_law(struct reader *r, const struct yaml_item *map, const struct scene *scene,
                         double friction, struct ground_law *law);

/* The key `color` of map, where it has one: three numbers from 0 to 1 as a colour picker shows them (sRGB),
 * brought to linear reflectance. Returns whether it is there. */
bool scene_read_color(struct reader *r, const struct yaml_item *map, double out[3]);

/* The key of map as a temperature in kelvin. */
double scene_read_kelvin(struct reader *r, const struct yaml_item *map, const char *key, double fallback);

/* The key `temperature` of map: kelvin, which are returned, or keys along time (s) or depth (m), which become
 * the ramp and whose first one is returned. */
double scene_read_temperature(struct reader *r, const struct yaml_item *map, const char *along,
                              double fallback, struct ramp *ramp);

/* Whether the scene has `heat`. If not, an error for each of these keys (ended by NULL) that map has. */
bool scene_needs_heat(struct reader *r, const struct yaml_item *map, const struct scene *scene,
                      const char *const *keys);

void scene_read_heat(struct reader *r, const struct yaml_item *root, struct scene *scene);
void scene_read_camera(struct reader *r, const struct yaml_item *root, struct scene_camera *camera);
void scene_read_sun(struct reader *r, const struct yaml_item *root, struct scene_sun *sun);
void scene_read_materials(struct reader *r, const struct yaml_item *root, struct scene *scene);
void scene_read_snow(struct reader *r, const struct yaml_item *root, struct scene *scene);
void scene_read_bodies(struct reader *r, const struct yaml_item *root, struct scene *scene);
void scene_read_sources(struct reader *r, const struct yaml_item *root, struct scene *scene);
void scene_read_probes(struct reader *r, const struct yaml_item *root, struct scene *scene);
void scene_read_window(struct reader *r, const struct yaml_item *root, struct scene *scene);

/* The axis along which copies of the scene lie: that of the slabs, or the domain's longest. */
enum scene_axis scene_copy_axis(const struct scene *scene);

/* The last part of scene_load(). */
int scene_make_copies(struct scene *scene, struct error *err);

#endif
