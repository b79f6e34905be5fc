/* See shot.h. Rank 0 looks through the frames and aims; the others get the result. Each picture uses the
 * scene of its own frame, so that frames of several runs can be put side by side. */
#include "render/shot.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/vec.h"
#include "bodies/free_body.h"
#include "io/file.h"
#include "io/run/run_yml.h"
#include "io/scene/scene_files.h"
#include "render/label.h"
#include "render/layout.h"

#include <math.h>
#include <string.h>

enum { MOST_SCENES = 8, SURVEYED = 24 };

/* A scene and the text it was read from. */
struct shot_scene {
  char *text;
  struct scene *scene;
};

struct shot {
  const struct comm *comm;
  struct shot_options options;
  struct shot_scene
      scenes[MOST_SCENES]; /* the first is that of the first frame, which camera and sun come from */
  int scene_count;
  struct preview_stage stage; /* aimed */
  struct scene_camera camera; /* the one that is used; its keys belong to the scene */
  struct scene_sun sun;
  struct frame *first; /* rank 0 keeps it where there is but one */
};

static bool alone(const struct shot *shot)
{
  return !shot->comm || shot->comm->size == 1;
}

/* Reads a frame as the kind of picture wants it. */
static int read_frame(const struct shot *shot, int index, struct frame **frame, struct error *err)
{
  const char *path = shot->options.frames[index];
  if (layout_is_scene(path)) return layout_read(frame, path, err);
  return shot->options.trace && !alone(shot) ? frame_read_shared(frame, shot->comm, path, err)
                                             : frame_read(frame, path, err);
}

/* The folder of a run that a frame lies in, for mem_free(): two levels up. */
static char *run_folder(const char *frame)
{
  char *folder = mem_strdup(frame);
  for (int level = 0; level < 2; level++) {
    char *slash = strrchr(folder, '/');
    if (!slash) {
      mem_free(folder);
      return mem_strdup(level == 0 ? ".." : ".");
    }
    *slash = '\0';
  }
  if (!*folder) strcpy(folder, "/");
  return folder;
}

/* Where the run says that its scene lay, for mem_free(); NULL if it does not. */
static char *recorded_scene(const char *frame)
{
  char *folder = run_folder(frame), *path = NULL;
  struct run_record *record = NULL;
  if (run_record_read(&record, folder, NULL) == FIRN_OK && record) path = mem_strdup(record->scene);
  run_record_destroy(&record);
  mem_free(folder);
  return path;
}

/* A frame does not say where its scene lay, and so where the files are that its shapes are made of: where the
 * run was started from, beside the frame, here, or in scenes/. */
void shot_stored_scene(const char *stored, const char *frame, struct scene **out)
{
  char *recorded = recorded_scene(frame);
  const char *const places[] = {recorded ? recorded : frame, frame, "scene.yml", "scenes/scene.yml"};
  struct error why = {.code = FIRN_OK};
  bool loaded = false;
  for (size_t k = 0; k < sizeof places / sizeof *places && !loaded; k++) {
    scene_destroy(out);
    if (scene_parse_stored(out, places[k], stored, &why) != FIRN_OK) {
      log_warn("no bodies are drawn, since the scene in the frame cannot be read: %s", why.text);
      mem_free(recorded);
      return;
    }
    loaded = scene_load(*out, NULL, &why) == FIRN_OK;
  }
  mem_free(recorded);
  for (int b = 0; b < (*out)->body_count; b++) {
    struct body *body = &(*out)->bodies[b];
    if (shape_is_ready(&body->shape)) continue;
    log_warn("the body '%s' is not drawn, since its file is not found; give --scene", body->name);
    shape_destroy(&body->shape);
  }
}

static void warn_changed(const char *name, void *context)
{
  (void)context;
  log_warn("%s has changed since the frame was written: what is drawn of it is not what the snow met", name);
}

static int read_given(const char *path, struct scene **out, struct error *err)
{
  char *text = NULL;
  int code = scene_file_text(&text, path, err);
  if (!code) code = scene_parse(out, path, text, NULL, 0, err);
  if (!code) code = scene_load(*out, NULL, err);
  mem_free(text);
  return code;
}

/* The scene of a text, or the one that is ready; *out may stay NULL where there is none. Owned by the shot.
 */
static int find_scene(struct shot *shot, const struct frame *frame, int index, const struct scene **out,
                      struct error *err)
{
  const char *given = shot->options.scene;
  const char *text = given ? given : frame->resolved ? frame->resolved : frame->scene;
  *out = shot->options.ready;
  if (shot->options.ready || !text) return FIRN_OK;
  for (int k = 0; k < shot->scene_count; k++)
    if (strcmp(shot->scenes[k].text, text) == 0) {
      *out = shot->scenes[k].scene;
      return FIRN_OK;
    }
  struct shot_scene *slot =
      &shot->scenes[shot->scene_count < MOST_SCENES ? shot->scene_count : MOST_SCENES - 1];
  scene_destroy(&slot->scene);
  mem_free(slot->text);
  slot->text = NULL;
  int code = FIRN_OK;
  if (given)
    code = read_given(given, &slot->scene, err);
  else
    shot_stored_scene(text, shot->options.frames[index], &slot->scene);
  if (!given && slot->scene) scene_compare_files(frame->files, slot->scene->files, warn_changed, NULL);
  if (code) return code;
  slot->text = mem_strdup(text);
  if (shot->scene_count < MOST_SCENES) shot->scene_count++;
  *out = slot->scene;
  return FIRN_OK;
}

/* The scene of a frame, with its free bodies where they were. */
static int scene_of(struct shot *shot, const struct frame *frame, int index, const struct scene **out,
                    struct error *err)
{
  const int code = find_scene(shot, frame, index, out, err);
  if (!code && *out)
    free_bodies_place((*out)->bodies, (*out)->body_count, frame->free_bodies, frame->info.time);
  return code;
}

static const struct body *bodies_of(const struct scene *scene, int *count)
{
  *count = scene ? scene->body_count : 0;
  return scene ? scene->bodies : NULL;
}

/* Camera and sun: what the options give, else the scene's. */
static void choose_view(struct shot *shot, const struct scene *scene)
{
  const struct shot_options *o = &shot->options;
  preview_stage_init(&shot->stage, scene ? scene->gravity : NULL);
  shot->stage.color = o->color;
  shot->stage.transparent = o->transparent;
  if (o->camera.given)
    shot->camera = o->camera;
  else if (scene)
    shot->camera = scene->camera;
  if (scene) shot->sun = scene->sun;
  if (!(shot->sun.turbidity > 0.0)) shot->sun.turbidity = 2.0;
  if (o->sun.given) memcpy(shot->sun.direction, o->sun.direction, sizeof shot->sun.direction);
  if (o->sun.turbidity > 0.0) shot->sun.turbidity = o->sun.turbidity;
  if (o->sun.size > 0.0) shot->sun.size = o->sun.size;
  if (o->sun.strength > 0.0) shot->sun.strength = o->sun.strength;
  if (o->sky_given) shot->sun.sky = o->sun.sky;
  if (o->sun.given || shot->sun.given)
    memcpy(shot->stage.sun, shot->sun.direction, sizeof shot->stage.sun);
  else
    memcpy(shot->sun.direction, shot->stage.sun, sizeof shot->stage.sun);
}

/* Whether frame `index` is one of those that are looked through: all, or some spread evenly. */
static bool is_surveyed(const struct shot *shot, int index)
{
  const int count = shot->options.frame_count;
  if (count <= SURVEYED || index == 0 || index == count - 1) return true;
  return (int64_t)index * SURVEYED / count != (int64_t)(index - 1) * SURVEYED / count;
}

/* Rank 0: bounds, particle spacing and ranges of colour, then the camera. */
static int survey(struct shot *shot, struct error *err)
{
  const struct shot_options *o = &shot->options;
  const struct scene *scene = NULL;
  int code = FIRN_OK;
  for (int i = 0; i < o->frame_count && !code; i++) {
    struct frame *frame = NULL;
    if (!is_surveyed(shot, i)) continue;
    code = layout_is_scene(o->frames[i]) ? layout_read(&frame, o->frames[i], err)
                                         : frame_read(&frame, o->frames[i], err);
    if (!code && frame->count > (int64_t)UINT32_MAX)
      code =
          error_set(err, FIRN_ELIMIT, "%s: a picture draws at most %u particles", o->frames[i], UINT32_MAX);
    if (!code) code = scene_of(shot, frame, i, &scene, err);
    if (!code && i == 0) choose_view(shot, scene);
    if (!code) {
      int count;
      const struct body *bodies = bodies_of(scene, &count);
      preview_stage_add(&shot->stage, frame);
      preview_stage_add_bodies(&shot->stage, bodies, count, frame->info.time);
      code = preview_stage_add_colors(&shot->stage, frame, o->frames[i], err);
    }
    if (!code && o->frame_count == 1 && alone(shot))
      shot->first = frame;
    else
      frame_destroy(&frame);
  }
  if (code) return code;
  int count;
  const struct body *bodies = bodies_of(o->ready ? o->ready : shot->scenes[0].scene, &count);
  preview_stage_aim(&shot->stage, bodies, count, &shot->camera, o->aspect);
  return FIRN_OK;
}

/* The others: scene and view of the first frame, and rank 0's stage. */
static int follow(struct shot *shot, struct frame *first, struct error *err)
{
  const struct scene *scene = NULL;
  const int code = scene_of(shot, first, 0, &scene, err);
  if (!code) choose_view(shot, scene);
  return code;
}

/* Hands rank 0's aimed stage and the texts of its first frame to all. */
static int share(struct shot *shot, struct error *err)
{
  struct frame text = {.count = 0};
  const struct comm *comm = shot->comm;
  if (comm->rank == 0 && shot->scene_count > 0 && !shot->options.scene)
    text.resolved = mem_strdup(shot->scenes[0].text);
  comm_broadcast_text(comm, &text.resolved);
  int code = comm->rank == 0 ? FIRN_OK : follow(shot, &text, err);
  mem_free(text.resolved);
  code = comm_agree(comm, code, err);
  if (code) return code;
  struct preview_stage stage = shot->stage;
  stage.points = NULL;
  stage.point_count = stage.point_capacity = 0;
  comm_broadcast(comm, &stage, sizeof stage);
  if (comm->rank != 0) shot->stage = stage;
  return FIRN_OK;
}

/* Where nobody says where the sun is, a traced picture has it low and beside the first camera: light that
 * grazes shows what the snow is like. */
static void place_sun(struct shot *shot)
{
  static const double azimuth = 1.66, height = 0.47; /* rad, from the view to the left; above the horizon */
  const struct shot_options *o = &shot->options;
  const double *up = shot->stage.up;
  double ahead[3], left[3];
  if (!o->trace || o->sun.given || shot->sun.given) return;
  memcpy(ahead, shot->stage.camera.forward, sizeof ahead);
  vec_axpy(ahead, -vec_dot(ahead, up), up, ahead);
  if (!(vec_normalize(ahead) > 1e-3)) return; /* it looks straight down: the preview's sun will do */
  vec_cross(up, ahead, left);
  for (int d = 0; d < 3; d++)
    shot->sun.direction[d] =
        cos(height) * (cos(azimuth) * ahead[d] + sin(azimuth) * left[d]) + sin(height) * up[d];
}

int shot_open(struct shot **out, const struct comm *comm, const struct shot_options *options,
              struct error *err)
{
  struct shot *shot = mem_alloc(1, sizeof *shot);
  shot->comm = comm;
  shot->options = *options;
  int code = !comm || comm->rank == 0 ? survey(shot, err) : FIRN_OK;
  if (comm) code = comm_agree(comm, code, err);
  if (!code && !alone(shot)) code = share(shot, err);
  if (!code) place_sun(shot);
  if (code) shot_close(&shot);
  *out = shot;
  return code;
}

void shot_close(struct shot **shot)
{
  struct shot *s = *shot;
  if (!s) return;
  for (int k = 0; k < MOST_SCENES; k++) {
    scene_destroy(&s->scenes[k].scene);
    mem_free(s->scenes[k].text);
  }
  frame_destroy(&s->first);
  preview_stage_destroy(&s->stage);
  mem_free(s);
  *shot = NULL;
}

struct scene_camera shot_camera(const struct shot *shot)
{
  const struct camera *camera = &shot->stage.camera;
  struct scene_camera out = {.given = true};
  if (shot->camera.given) return shot->camera;
  memcpy(out.eye, camera->eye, sizeof out.eye);
  memcpy(out.up, camera->up, sizeof out.up);
  vec_axpy(camera->eye, 1.0, camera->forward, out.target);
  out.field_of_view = atan(camera->tangent) * 360.0 / acos(-1.0);
  return out;
}

/* The camera at the frame's time, with the lens. */
static void aim_at(struct shot *shot, double time)
{
  const struct shot_options *o = &shot->options;
  struct camera *camera = &shot->stage.camera;
  struct scene_camera now = scene_camera_at(&shot->camera, time);
  if (now.given) {
    if (o->field_of_view > 0.0) now.field_of_view = o->field_of_view;
    preview_stage_look(&shot->stage, &now);
  } else if (o->field_of_view > 0.0)
    camera->tangent = tan(0.5 * o->field_of_view * acos(-1.0) / 180.0);
  camera->aperture = o->aperture >= 0.0 ? o->aperture : now.aperture;
  camera->focus = o->focus > 0.0 ? o->focus : now.focus;
  if (camera->focus > 0.0) return;
  double to[3];
  const double *target = now.target;
  for (int d = 0; d < 3; d++)
    to[d] = (now.given ? target[d] : 0.5 * (shot->stage.lower[d] + shot->stage.upper[d])) - camera->eye[d];
  camera->focus = fmax(vec_dot(to, camera->forward), 1e-6);
}

static int trace(struct shot *shot, const struct frame *frame, const struct scene *scene, const char *path,
                 struct image *image, float **linear, struct picture_report *report, struct error *err)
{
  struct picture_options options = *shot->options.trace;
  options.transparent = shot->options.transparent;
  if (shot->options.frame_count > 1) options.meter = METER_LIGHT; /* pictures of a film must not flicker */
  struct picture_view view = {.scene = scene, .camera = shot->stage.camera, .sun = shot->sun};
  double diagonal[3];
  vec_sub(shot->stage.upper, shot->stage.lower, diagonal);
  memcpy(view.up, shot->stage.up, sizeof view.up);
  for (int d = 0; d < 3; d++) view.center[d] = 0.5 * (shot->stage.lower[d] + shot->stage.upper[d]);
  view.radius = 0.5 * vec_norm(diagonal);
  const int code = picture_render(shot->comm, frame, &view, &options, image, linear, report, err);
  return code ? error_prefix(err, "%s", path) : FIRN_OK;
}

int shot_paint(struct shot *shot, int index, struct image *image, float **linear,
               struct picture_report *report, struct error *err)
{
  const char *path = shot->options.frames[index];
  struct frame *read = NULL;
  const struct scene *scene = NULL;
  int count, code = shot->first ? FIRN_OK : read_frame(shot, index, &read, err);
  const struct frame *frame = shot->first ? shot->first : read;
  if (!code) code = scene_of(shot, frame, index, &scene, err);
  if (shot->options.trace && !alone(shot)) code = comm_agree(shot->comm, code, err);
  if (!code) {
    const struct body *bodies = bodies_of(scene, &count);
    aim_at(shot, frame->info.time);
    if (shot->options.trace)
      code = trace(shot, frame, scene, path, image, linear, report, err);
    else {
      shot->stage.materials = scene ? scene->materials : NULL;
      shot->stage.material_count = scene ? scene->material_count : 0;
      preview_render(&shot->stage, frame, bodies, count, image);
    }
  }
  if (!code && shot->options.labels)
    label_picture(image, &shot->stage, scene, frame->info.time,
                  shot->options.captions ? shot->options.captions[index] : NULL, !shot->options.trace);
  frame_destroy(&read);
  return code;
}
