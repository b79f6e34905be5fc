/* A traced picture on any number of ranks and threads: bitwise the picture of one process, with every kind of
 * light's way in it (snow, bodies, lens, shutter, several looks, water's mirror, adaptive stop, noise taken
 * out); and errors that all ranks agree on. */
#include "base/log.h"
#include "base/rng.h"
#include "render/trace/picture.h"
#include "support/check.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 40, HEIGHT = 30, COUNT = 4000 };

static struct comm world;

static void fill(struct frame *frame)
{
  frame->count = COUNT;
  frame->position = mem_alloc(COUNT, 3 * sizeof(float));
  frame->velocity = mem_alloc(COUNT, 3 * sizeof(float));
  frame->mass = mem_alloc(COUNT, sizeof(float));
  frame->material = mem_alloc(COUNT, sizeof(uint32_t));
  frame->phase = mem_alloc(COUNT, sizeof(float));
  for (int i = 0; i < COUNT; i++) {
    for (int d = 0; d < 3; d++) {
      frame->position[3 * i + d] =
          (float)(0.2 * rng_uniform(1, (uint64_t)i, (uint64_t)d) - (d == 1 ? 0.0 : 0.1));
      frame->velocity[3 * i + d] = (float)(rng_uniform(2, (uint64_t)i, (uint64_t)d) - 0.5);
    }
    frame->mass[i] = (float)(800.0 * 0.008 / COUNT * (0.5 + rng_uniform(3, (uint64_t)i, 0)));
    frame->material[i] = frame->position[3 * i] > 0.0f;
    frame->phase[i] =
        frame->position[3 * i + 2] > 0.05f; /* water, some of it as drops, in front of the snow */
  }
  frame->info.time = 0.1;
}

static const char text[] =
    "domain: {lower: [-0.3, -0.1, -0.3], cells: [30, 30, 30], spacing: 0.02}\n"
    "time: {end: 1}\n"
    "materials: {white: {}, red: {color: [0.8, 0.2, 0.1]}}\n"
    "snow: [{sphere: {center: [0, 0.1, 0], radius: 0.1}, material: white}]\n"
    "bodies:\n"
    "  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}\n"
    "  post: {capsule: {from: [0.15, 0, 0], to: [0.15, 0.2, 0], radius: 0.03}, velocity: [0.5, 0, 0]}\n";

static struct picture_view view_of(const struct scene *scene)
{
  struct picture_view view = {.scene = scene, .up = {0, 1, 0}, .center = {0, 0.1, 0}, .radius = 0.2};
  const double eye[3] = {0.3, 0.4, 0.6}, target[3] = {0, 0.08, 0};
  camera_look(&view.camera, eye, target, view.up, 35.0);
  view.camera.aperture = 0.02;
  view.camera.focus = 0.7;
  view.sun = (struct scene_sun){.direction = {-0.6, 0.64, 0.48}, .turbidity = 3.0};
  return view;
}

static struct picture_options options_of(void)
{
  struct picture_options options = picture_defaults();
  options.most = 48;
  options.target = 0.1;
  options.shutter = 0.5;
  options.slices = 2;
  options.refine = 4;
  return options;
}

static uint64_t hash_of(const float *values, int64_t count)
{
  uint64_t hash = 1;
  for (int64_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, &values[i], sizeof bits);
    hash = rng_mix(hash ^ bits);
  }
  return hash;
}

/* The picture's bits as rank 0 sees them; the same value on all ranks. */
static uint64_t render_with(const struct comm *comm, const struct frame *frame, const struct scene *scene,
                            struct picture_options options)
{
  const struct picture_view view = view_of(scene);
  struct image *image = image_create(WIDTH, HEIGHT);
  struct picture_report report;
  struct error err = {.code = FIRN_OK};
  float *linear = NULL;
  uint64_t hash = 0;
  CHECK_TEXT(picture_render(comm, frame, &view, &options, image, &linear, &report, &err) == FIRN_OK,
             err.text);
  if (linear) hash = hash_of(linear, (int64_t)WIDTH * HEIGHT * 3);
  if (comm) comm_broadcast(comm, &hash, sizeof hash);
  mem_free(linear);
  image_destroy(&image);
  return hash;
}

static uint64_t render(const struct comm *comm, const struct frame *frame, const struct scene *scene)
{
  struct picture_options options = options_of();
  options.snow_ground = true;
  return render_with(comm, frame, scene, options);
}

/* Without a surface: the density as it is. */
static uint64_t render_paper(const struct comm *comm, const struct frame *frame, const struct scene *scene)
{
  struct picture_options options = options_of();
  options.edge = 0.0;
  options.most = 16;
  return render_with(comm, frame, scene, options);
}

static void check_errors(const struct frame *frame, const struct scene *scene)
{
  struct picture_view view = view_of(scene);
  const struct picture_options options = options_of();
  struct image *image = image_create(WIDTH, HEIGHT);
  struct picture_report report;
  struct error err = {.code = FIRN_OK};
  for (int d = 0; d < 3; d++) view.camera.eye[d] = d == 1 ? 0.1 : 0.0;
  CHECK(picture_render(&world, frame, &view, &options, image, NULL, &report, &err) == FIRN_EINPUT);
  CHECK_TEXT(strstr(err.text, "inside the snow"), err.text);
  struct frame nothing = *frame;
  nothing.count = 0;
  view = view_of(scene);
  CHECK(picture_render(&world, &nothing, &view, &options, image, NULL, &report, &err) == FIRN_EINPUT);
  CHECK_TEXT(strstr(err.text, "no particles"), err.text);
  image_destroy(&image);
}

int main(int argc, char **argv)
{
  check_begin(&argc, &argv);
  comm_create(&world, MPI_COMM_WORLD);
  log_configure(LOG_WARN, world.rank, comm_abort);
  struct scene *scene = NULL;
  struct error err;
  struct frame *frame = mem_alloc(1, sizeof *frame);
  CHECK_TEXT(scene_parse(&scene, "test.yml", text, NULL, 0, &err) == FIRN_OK, err.text);
  fill(frame);
  const uint64_t alone = render(NULL, frame, scene), paper = render_paper(NULL, frame, scene);
  CHECK(alone != paper);
  for (int threads = 1; threads <= 2; threads++) {
    world.threads = threads;
    CHECK(render(&world, frame, scene) == alone);
    CHECK(render_paper(&world, frame, scene) == paper);
  }
  check_errors(frame, scene);
  frame_destroy(&frame);
  scene_destroy(&scene);
  comm_destroy(&world);
  return check_end();
}
