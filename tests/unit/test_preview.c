/* Pictures: what must be in them (bright snow, a shadow beside it, the same bytes every time), what must not
 * break them (nothing, one particle, one at the end of the world), and the way from frame files to a PNG and
 * back. */
#include "base/memory.h"
#include "base/rng.h"
#include "base/vec.h"
#include "io/particles/hdf5.h"
#include "material/look.h"
#include "render/cloud.h"
#include "render/image.h"
#include "render/preview/preview.h"
#include "render/preview/smooth.h"
#include "render/raycast.h"
#include "render/sheet.h"

#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const double gravity[3] = {0.0, -9.81, 0.0};
static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

static struct body ground_body(void)
{
  struct body ground = {.name = "ground"};
  ground.shape = (struct shape){.kind = SHAPE_PLANE, .axis = {0.0, 1.0, 0.0}};
  memcpy(ground.shape.axes, identity, sizeof identity);
  return ground;
}

/* A ball of radius 0.1 m that floats 0.1 m above the ground, on a jittered lattice. */
static struct frame *make_ball(double spacing)
{
  struct frame *frame = mem_alloc(1, sizeof *frame);
  const int half = (int)ceil(0.1 / spacing), edge = 2 * half + 1;
  frame->position = mem_alloc((size_t)(edge * edge * edge) * 3, sizeof *frame->position);
  frame->info.time = 0.25;
  for (int i = 0; i < edge * edge * edge; i++) {
    const int cell[3] = {i % edge, i / edge % edge, i / edge / edge};
    double x[3];
    for (int d = 0; d < 3; d++)
      x[d] = (cell[d] - half + 0.5 * (rng_uniform(1, (uint64_t)i, (uint64_t)d) - 0.5)) * spacing;
    if (vec_norm(x) > 0.1) continue;
    for (int d = 0; d < 3; d++) frame->position[3 * frame->count + d] = (float)(x[d] + (d == 1 ? 0.2 : 0.0));
    frame->count++;
  }
  return frame;
}

static struct frame *make_points(int64_t count, const float *position)
{
  struct frame *frame = mem_alloc(1, sizeof *frame);
  frame->count = count;
  frame->position = mem_alloc((size_t)count * 3, sizeof *frame->position);
  if (count) memcpy(frame->position, position, (size_t)count * 3 * sizeof *position);
  return frame;
}

static struct image *render(const struct frame *frame, const struct scene_camera *camera, int width,
                            int height)
{
  const struct body ground = ground_body();
  struct preview_stage stage;
  struct image *image = image_create(width, height);
  preview_stage_init(&stage, gravity);
  preview_stage_add(&stage, frame);
  preview_stage_add_bodies(&stage, &ground, 1, 0.0);
  preview_stage_aim(&stage, &ground, 1, camera, (double)width / height);
  preview_render(&stage, frame, &ground, 1, image);
  preview_stage_destroy(&stage);
  return image;
}

static int brightness(const struct image *image, int x, int y)
{
  const uint8_t *p = image->rgb + 3 * (y * image->width + x);
  return (p[0] + p[1] + p[2]) / 3;
}

static bool same_image(const struct image *a, const struct image *b)
{
  return a->width == b->width && a->height == b->height &&
         memcmp(a->rgb, b->rgb, (size_t)a->width * (size_t)a->height * 3) == 0;
}

static void test_snow_is_bright_and_casts_a_shadow(void **unused)
{
  (void)unused;
  struct frame *frame = make_ball(0.005);
  const struct scene_camera camera = {
      .given = true, .eye = {0.0, 0.45, 1.0}, .target = {0.0, 0.15, 0.0}, .field_of_view = 40.0};
  struct image *image = render(frame, &camera, 240, 160);
  int darkest = 255, brightest = 0, white = 0;
  for (int y = 0; y < 160; y++)
    for (int x = 0; x < 240; x++) {
      const int b = brightness(image, x, y);
      if (y > 90 && x > 120) darkest = b < darkest ? b : darkest;
      brightest = b > brightest ? b : brightest;
      white += b >= 254;
    }
  const int snow = brightness(image, 105, 62), lit_ground = brightness(image, 20, 140);
  assert_in_range(snow, 190, 250);
  assert_in_range(lit_ground, 60, 170);
  assert_true(darkest < lit_ground - 30); /* the shadow falls to the right */
  assert_true(brightest > 200);
  assert_int_equal(white, 0); /* nothing is burnt out */
  image_destroy(&image);
  frame_destroy(&frame);
}

static void test_same_frame_same_bytes_in_any_order(void **unused)
{
  (void)unused;
  struct frame *frame = make_ball(0.02);
  struct image *first = render(frame, NULL, 96, 64), *again = render(frame, NULL, 96, 64);
  assert_true(same_image(first, again));
  for (int64_t i = 0, j = frame->count - 1; i < j; i++, j--)
    for (int d = 0; d < 3; d++) {
      const float kept = frame->position[3 * i + d];
      frame->position[3 * i + d] = frame->position[3 * j + d];
      frame->position[3 * j + d] = kept;
    }
  struct image *reversed = render(frame, NULL, 96, 64);
  assert_true(same_image(first, reversed));
  image_destroy(&first);
  image_destroy(&again);
  image_destroy(&reversed);
  frame_destroy(&frame);
}

/* Particles that are large on the screen: the surface between them must be smooth from pixel to pixel,
 * without the pattern that sparse taps of the filter leave. */
static void test_large_particles_leave_no_comb(void **unused)
{
  (void)unused;
  enum { SIDE = 400 };
  struct depth_map map;
  struct splat splats[25];
  depth_map_create(&map, SIDE, SIDE);
  for (int k = 0; k < 25; k++) /* 80 pixels apart, at uneven depths */
    splats[k] = (struct splat){40.0f + 80.0f * (float)(k % 5), 40.0f + 80.0f * (float)(k / 5),
                               1.0f + 0.04f * (float)rng_uniform(5, (uint64_t)k, 0), 76.0f, 0.095f};
  splat_draw(&map, splats, 25);
  smooth_depth(&map, 800.0f, 0.2f, 0.25f); /* a spacing of 0.1 m is 80 pixels */
  double roughest = 0.0;
  for (int y = 100; y < 300; y++)
    for (int x = 100; x < 300; x++) {
      const float *at = map.depth + y * SIDE + x;
      roughest = fmax(roughest, (double)fabsf(at[-1] - 2.0f * at[0] + at[1]));
      roughest = fmax(roughest, (double)fabsf(at[-SIDE] - 2.0f * at[0] + at[SIDE]));
    }
  assert_true(roughest < 3e-5); /* a sphere's own curvature is 1.6e-5 a pixel squared */
  depth_map_destroy(&map);
}

/* A single ball, framed automatically: whole, with room around it, and with its shadow. */
static void test_ball_is_not_cropped(void **unused)
{
  (void)unused;
  struct frame *frame = make_ball(0.01);
  struct image *image = render(frame, NULL, 160, 90);
  int brightest_rim = 0, darkest_rim = 255, brightest = 0;
  for (int i = 0; i < 160 * 90; i++) {
    const int x = i % 160, y = i / 160, b = brightness(image, x, y);
    const bool rim = x < 6 || x >= 154 || y < 4 || y >= 86;
    if (rim && y > 45) brightest_rim = b > brightest_rim ? b : brightest_rim; /* sky is bright above */
    if (rim && y > 45) darkest_rim = b < darkest_rim ? b : darkest_rim;
    brightest = b > brightest ? b : brightest;
  }
  assert_true(brightest > 210 && brightest_rim < 170);
  assert_true(darkest_rim > 75); /* no shadow is cut */
  image_destroy(&image);
  frame_destroy(&frame);
}

/* The sun belongs to the world: a camera on the other side sees the other side of the shadow. */
static void test_sun_stays_where_it_is(void **unused)
{
  (void)unused;
  struct preview_stage stage;
  double before[3];
  struct frame *frame = make_ball(0.02);
  const struct body ground = ground_body();
  struct scene_camera camera = {.given = true, .eye = {0.0, 0.45, 1.0}, .target = {0.0, 0.1, 0.0}};
  double left[2] = {0.0, 0.0}, right[2] = {0.0, 0.0};
  for (int k = 0; k < 2; k++) {
    struct image *image = image_create(96, 64);
    camera.eye[2] = k ? -1.0 : 1.0;
    preview_stage_init(&stage, gravity);
    if (k) assert_memory_equal(before, stage.sun, sizeof before);
    memcpy(before, stage.sun, sizeof before);
    preview_stage_add(&stage, frame);
    preview_stage_aim(&stage, &ground, 1, &camera, 1.5);
    assert_memory_equal(before, stage.sun, sizeof before);
    preview_render(&stage, frame, &ground, 1, image);
    for (int y = 40; y < 60; y++)
      for (int x = 0; x < 48; x++) {
        left[k] += brightness(image, x, y);
        right[k] += brightness(image, 95 - x, y);
      }
    image_destroy(&image);
    preview_stage_destroy(&stage);
  }
  assert_true(left[0] > right[0] &&
              left[1] < right[1]); /* shadow to the right, and to the left from behind */
  frame_destroy(&frame);
}

static void test_empty_frame_shows_the_ground(void **unused)
{
  (void)unused;
  struct frame *frame = make_points(0, NULL);
  struct image *image = render(frame, NULL, 64, 48);
  assert_in_range(brightness(image, 32, 40), 20, 200);
  image_destroy(&image);
  frame_destroy(&frame);
}

static void test_one_particle_is_seen(void **unused)
{
  (void)unused;
  const float at[3] = {3.0f, 0.5f, -2.0f};
  struct frame *frame = make_points(1, at);
  struct image *image = render(frame, NULL, 120, 80);
  int bright = 0;
  for (int y = 0; y < 80; y++)
    for (int x = 0; x < 120; x++) bright += brightness(image, x, y) > 210;
  assert_in_range(bright, 4, 4000);
  image_destroy(&image);
  frame_destroy(&frame);
}

/* One runaway must neither shrink the picture nor overflow anything. */
static void test_far_particle_changes_little(void **unused)
{
  (void)unused;
  static const float far[][3] = {
      {1e30f, 0, 0}, {-3e38f, 3e38f, 3e38f}, {0, 1e6f, 0}, {NAN, 0, 0}, {0, -INFINITY, 0}};
  struct frame *frame = make_ball(0.01);
  struct image *near = render(frame, NULL, 96, 64);
  double lower[3], upper[3], lower_far[3], upper_far[3];
  assert_true(cloud_bounds(frame->position, frame->count, lower, upper));
  for (size_t k = 0; k < sizeof far / sizeof *far; k++) {
    memcpy(frame->position, far[k], sizeof far[k]);
    assert_true(cloud_bounds(frame->position, frame->count, lower_far, upper_far));
    for (int d = 0; d < 3; d++) {
      assert_true(fabs(lower_far[d] - lower[d]) < 0.01);
      assert_true(fabs(upper_far[d] - upper[d]) < 0.01);
    }
    struct image *image = render(frame, NULL, 96, 64);
    assert_true(abs(brightness(near, 44, 28) - brightness(image, 44, 28)) < 40);
    image_destroy(&image);
  }
  struct frame *lost = make_points(5, far[0]);
  struct image *image = render(lost, NULL, 32, 32);
  image_destroy(&image);
  frame_destroy(&lost);
  image_destroy(&near);
  frame_destroy(&frame);
}

static void test_spacing_is_found(void **unused)
{
  (void)unused;
  static const double spacings[] = {0.02, 0.01, 0.004};
  for (size_t k = 0; k < sizeof spacings / sizeof *spacings; k++) {
    struct frame *frame = make_ball(spacings[k]);
    const double found = cloud_spacing(frame->position, frame->count);
    assert_true(found > 0.8 * spacings[k] && found < 1.3 * spacings[k]);
    frame_destroy(&frame);
  }
  const float same[3 * 9] = {0};
  assert_true(cloud_spacing(same, 9) == 0.0);
  assert_true(cloud_spacing(same, 0) == 0.0);
}

/* Marching along the distance function is the slow truth. */
static bool march(const struct shape *shape, const double origin[3], const double unit[3], double *t)
{
  *t = 0.0;
  for (int step = 0; step < 4000 && *t < 50.0; step++) {
    double x[3];
    vec_axpy(origin, *t, unit, x);
    const double distance = shape_distance(shape, x, NULL);
    if (distance < 1e-9) return true;
    *t += distance;
  }
  return false;
}

static void random_unit(uint64_t ray, uint64_t stream, double out[3])
{
  for (int d = 0; d < 3; d++) out[d] = 2.0 * rng_uniform(5, ray, stream + (uint64_t)d) - 1.0;
  vec_normalize(out);
}

static void test_rays_hit_where_marching_does(void **unused)
{
  (void)unused;
  static const enum shape_kind kinds[] = {SHAPE_PLANE, SHAPE_SPHERE, SHAPE_BOX, SHAPE_CAPSULE,
                                          SHAPE_CYLINDER};
  for (int k = 0; k < 5; k++) {
    struct shape shape = {.kind = kinds[k],
                          .center = {0.1, -0.2, 0.3},
                          .axis = {0.6, 0.0, 0.8},
                          .radius = 0.5,
                          .half = {0.7, 0.4, 0.3}};
    memcpy(shape.axes, identity, sizeof identity);
    if (shape.kind == SHAPE_BOX)
      memcpy(shape.axes, (double[9]){0.8, 0, 0.6, 0, 1, 0, -0.6, 0, 0.8}, sizeof identity);
    int hits = 0;
    for (uint64_t ray = 0; ray < 2000; ray++) {
      double origin[3], aim[3], direction[3], length, t, truth;
      random_unit(ray, 0, origin);
      random_unit(ray, 3, aim);
      for (int d = 0; d < 3; d++) {
        origin[d] *= 3.0;
        direction[d] = 0.9 * aim[d] - origin[d];
      }
      if (shape_distance(&shape, origin, NULL) <= 0.0) continue;
      const bool hit = raycast_shape(&shape, origin, direction, &t);
      length = vec_normalize(direction);
      const bool expected = march(&shape, origin, direction, &truth);
      /* Rays that graze an edge may go either way. */
      if (hit != expected) {
        double x[3];
        vec_axpy(origin, hit ? t * length : truth, direction, x);
        assert_true(fabs(shape_distance(&shape, x, NULL)) < 1e-6);
      } else if (hit)
        assert_true(fabs(t * length - truth) < 1e-6);
      hits += hit;
    }
    assert_true(hits > 300);
  }
}

static void test_layout(void **unused)
{
  (void)unused;
  struct error err;
  struct sheet_layout layout;
  struct sheet_request request = {.shot = {.frame_count = 1}, .output = "out.png"};
  assert_int_equal(sheet_layout(&request, &layout, &err), FIRN_OK);
  assert_true(layout.width == 1280 && layout.height == 720 && layout.columns == 1 && layout.rows == 1);
  request.shot.frame_count = 7;
  assert_int_equal(sheet_layout(&request, &layout, &err), FIRN_OK);
  assert_true(layout.columns == 3 && layout.rows == 3 && layout.width == 3 * 640 + 2 * 4 &&
              layout.height == 3 * 360 + 2 * 4);
  request.columns = 5;
  request.width = 100;
  request.height = 50;
  assert_int_equal(sheet_layout(&request, &layout, &err), FIRN_OK);
  assert_true(layout.columns == 5 && layout.rows == 2 && layout.width == 516 && layout.height == 104);
  request.columns = 50; /* never more than frames */
  assert_int_equal(sheet_layout(&request, &layout, &err), FIRN_OK);
  assert_true(layout.columns == 7 && layout.rows == 1);
  request.width = 3;
  assert_int_equal(sheet_layout(&request, &layout, &err), FIRN_EINPUT);
  request.width = 100000;
  assert_int_equal(sheet_layout(&request, &layout, &err), FIRN_EINPUT);
  request.width = 8000;
  request.columns = 100;
  request.shot.frame_count = 100;
  assert_int_equal(sheet_layout(&request, &layout, &err), FIRN_ELIMIT);
}

struct folder {
  char path[64];
};

static int enter_folder(void **state)
{
  struct folder *folder = mem_alloc(1, sizeof *folder);
  strcpy(folder->path, "/tmp/firn_preview_XXXXXX");
  *state = folder;
  return mkdtemp(folder->path) ? chdir(folder->path) : -1;
}

static int leave_folder(void **state)
{
  struct folder *folder = *state;
  static const char *const names[] = {
      "a.h5", "b.h5", "out.png", "small.png", "pictures/000.png", "pictures/001.png"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) unlink(names[i]);
  rmdir("pictures");
  const int code = chdir("/") || rmdir(folder->path); /* fails if a temporary was left behind */
  mem_free(folder);
  return code;
}

static struct image *read_png(const char *path)
{
  png_image png = {.version = PNG_IMAGE_VERSION};
  assert_true(png_image_begin_read_from_file(&png, path));
  png.format = PNG_FORMAT_RGB;
  struct image *image = image_create((int)png.width, (int)png.height);
  assert_true(png_image_finish_read(&png, NULL, image->rgb, 0, NULL));
  return image;
}

static void test_png_comes_back(void **unused)
{
  (void)unused;
  struct error err;
  struct image *image = image_create(37, 23);
  for (int i = 0; i < 37 * 23 * 3; i++) image->rgb[i] = (uint8_t)rng_bits(3, (uint64_t)i, 0);
  const uint8_t red[3] = {255, 0, 0};
  image_letters(image, -3, 20, 2, red, "t = 0.125 s"); /* over the edge on both sides */
  assert_int_equal(image_write_png(image, "small.png", &err), FIRN_OK);
  struct image *back = read_png("small.png");
  assert_true(same_image(image, back));
  image_destroy(&back);
  image_destroy(&image);
}

static void write_dataset(hid_t group, const char *name, hid_t type, int64_t rows, int columns,
                          const void *data)
{
  const hsize_t dims[2] = {(hsize_t)rows, (hsize_t)columns};
  const hid_t space = H5Screate_simple(columns > 1 ? 2 : 1, dims, NULL);
  const hid_t set = H5Dcreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Dclose(set);
  H5Sclose(space);
}

static void write_frame(const char *path, const struct frame *frame)
{
  uint64_t *id = mem_alloc((size_t)frame->count, sizeof *id);
  float *velocity = mem_alloc((size_t)frame->count * 3, sizeof *velocity);
  for (int64_t i = 0; i < frame->count; i++) id[i] = (uint64_t)i;
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t group = H5Gcreate2(file, "particles", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  write_dataset(group, "id", H5T_NATIVE_UINT64, frame->count, 1, id);
  write_dataset(group, "position", H5T_NATIVE_FLOAT, frame->count, 3, frame->position);
  write_dataset(group, "velocity", H5T_NATIVE_FLOAT, frame->count, 3, velocity);
  assert_true(hdf5_put_f64(file, "time", frame->info.time));
  assert_true(hdf5_put_text(file, "scene", "this: is no scene"));
  H5Gclose(group);
  H5Fclose(file);
  mem_free(id);
  mem_free(velocity);
}

static void write_scene(const char *path, const char *scene)
{
  const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  assert_true(H5Adelete(file, "scene") >= 0 && hdf5_put_text(file, "scene", scene));
  H5Fclose(file);
}

#define SCENE_HEAD                                                                                           \
  "domain: {cells: [20, 20, 20], spacing: 0.1}\ntime: {end: 1}\n"                                            \
  "snow: [{sphere: {center: [1, 1, 1], radius: 0.2}}]\ncamera: {eye: [0, 0.3, 1], target: [0, 0.2, 0]}\n"

/* Frames of two scenes on one sheet: each panel has the bodies of its own. */
static void test_panels_have_their_own_bodies(void **unused)
{
  (void)unused;
  static char a[] = "a.h5", b[] = "b.h5";
  char *frames[] = {a, b, a};
  struct frame *ball = make_ball(0.02);
  write_frame(a, ball);
  write_frame(b, ball);
  write_scene(a, SCENE_HEAD);
  write_scene(b, SCENE_HEAD
              "bodies: {post: {box: {center: [0.25, 0.2, 0.3], size: [0.1, 0.4, 0.1]}, color: [1, 0, 0]}}\n");
  struct sheet_layout layout;
  struct picture_report report;
  struct error err = {.code = FIRN_OK};
  const struct sheet_request request = {.shot = {.frames = frames, .frame_count = 3},
                                        .output = "out.png",
                                        .width = 80,
                                        .height = 60,
                                        .columns = 3};
  assert_int_equal(sheet_draw(NULL, &request, &layout, &report, &err), FIRN_OK);
  struct image *sheet = read_png("out.png");
  int red[3] = {0, 0, 0};
  for (int panel = 0; panel < 3; panel++)
    for (int i = 0; i < 80 * 60; i++) {
      const uint8_t *p = sheet->rgb + 3 * (i / 80 * sheet->width + 84 * panel + i % 80);
      red[panel] += p[0] > p[1] + 60;
    }
  assert_true(red[0] == 0 && red[1] > 100 && red[2] == 0);
  image_destroy(&sheet);
  frame_destroy(&ball);
}

static void test_numbered_files(void **unused)
{
  (void)unused;
  static const char *const bad[] = {"a.png", "a%s.png", "%d-%d.png", "a%", "a%99d.png", "%-3d.png", "%n"};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) assert_null(sheet_numbered(bad[k], 1));
  char *name = sheet_numbered("x/f_%04d.png", 7);
  assert_string_equal(name, "x/f_0007.png");
  mem_free(name);
  name = sheet_numbered("%d", 12345);
  assert_string_equal(name, "12345");
  mem_free(name);

  static char a[] = "a.h5", b[] = "b.h5";
  char *frames[] = {a, b};
  struct frame *ball = make_ball(0.02);
  write_frame(a, ball);
  write_frame(b, ball);
  struct sheet_layout layout;
  struct picture_report report;
  struct error err = {.code = FIRN_OK};
  const struct sheet_request request = {.shot = {.frames = frames, .frame_count = 2, .transparent = true},
                                        .each = "pictures/%03d.png",
                                        .width = 40,
                                        .height = 30};
  assert_int_equal(sheet_draw(NULL, &request, &layout, &report, &err), FIRN_OK);
  png_image file = {.version = PNG_IMAGE_VERSION};
  assert_true(png_image_begin_read_from_file(&file, "pictures/001.png"));
  assert_true(file.width == 40 && file.height == 30 && (file.format & PNG_FORMAT_FLAG_ALPHA));
  file.format = PNG_FORMAT_RGBA;
  uint8_t pixels[40 * 30 * 4];
  assert_true(png_image_finish_read(&file, NULL, pixels, 0, NULL));
  int clear = 0, solid = 0;
  for (int i = 0; i < 40 * 30; i++) {
    clear += pixels[4 * i + 3] == 0;
    solid += pixels[4 * i + 3] == 255;
  }
  assert_true(clear > 200 && solid > 200); /* the sky is not there, the ball is */
  assert_int_equal(access("pictures/000.png", F_OK), 0);
  frame_destroy(&ball);
}

/* Colours show a field: slow snow is dark blue, fast snow yellow; a field that is not there is one clear
 * line. */
static void test_colors_show_fields(void **unused)
{
  (void)unused;
  struct frame *ball = make_ball(0.01);
  ball->velocity = mem_alloc((size_t)ball->count * 3, sizeof *ball->velocity);
  for (int64_t i = 0; i < ball->count; i++)
    ball->velocity[3 * i] = ball->position[3 * i] > 0.0f ? 2.0f : 0.1f;
  struct preview_stage stage;
  const struct scene_camera camera = {.given = true, .eye = {0.0, 0.2, 1.0}, .target = {0.0, 0.2, 0.0}};
  struct error err = {.code = FIRN_OK};
  struct image *image = image_create(96, 64);
  preview_stage_init(&stage, gravity);
  preview_stage_add(&stage, ball);
  stage.color = COLOR_VELOCITY;
  assert_int_equal(preview_stage_add_colors(&stage, ball, "a.h5", &err), FIRN_OK);
  preview_stage_aim(&stage, NULL, 0, &camera, 1.5);
  assert_true(stage.range[0] == 0.0 && stage.range[1] == 2.0);
  preview_render(&stage, ball, NULL, 0, image);
  const uint8_t *slow = image->rgb + 3 * (32 * 96 + 42), *fast = image->rgb + 3 * (32 * 96 + 52);
  assert_true(slow[2] > slow[1] && fast[0] > fast[2] + 40 && fast[1] > fast[2] + 40);
  stage.color = COLOR_DENSITY;
  assert_int_equal(preview_stage_add_colors(&stage, ball, "a.h5", &err), FIRN_EINPUT);
  assert_non_null(strstr(err.text, "holds no density"));
  preview_stage_destroy(&stage);
  image_destroy(&image);
  frame_destroy(&ball);
}

/* A ball whose left half is water and whose top is ice: water is blue and dark, ice paler blue, snow white.
 */
static void test_water_and_ice(void **unused)
{
  (void)unused;
  struct frame *ball = make_ball(0.01);
  ball->phase = mem_alloc((size_t)ball->count, sizeof *ball->phase);
  ball->density = mem_alloc((size_t)ball->count, sizeof *ball->density);
  for (int64_t i = 0; i < ball->count; i++) {
    ball->phase[i] = ball->position[3 * i] < 0.0f;
    ball->density[i] = ball->phase[i] > 0.0f || ball->position[3 * i + 1] > 0.2f ? 1000.0f : 400.0f;
  }
  struct preview_stage stage;
  const struct scene_camera camera = {.given = true, .eye = {0.0, 0.2, 1.0}, .target = {0.0, 0.2, 0.0}};
  struct image *image = image_create(96, 64), *plain = image_create(96, 64);
  preview_stage_init(&stage, gravity);
  preview_stage_add(&stage, ball);
  preview_stage_aim(&stage, NULL, 0, &camera, 1.5);
  preview_render(&stage, ball, NULL, 0, image);
  float *phase = ball->phase;
  ball->phase = NULL; /* all is snow */
  preview_render(&stage, ball, NULL, 0, plain);
  ball->phase = phase;
  const int water = 3 * (32 * 96 + 43), snow = 3 * (36 * 96 + 53), ice = 3 * (28 * 96 + 53);
  assert_true(image->rgb[water] + 60 < plain->rgb[water] && image->rgb[water + 2] > image->rgb[water] + 80);
  assert_true(image->rgb[ice] + 20 < plain->rgb[ice] && image->rgb[ice + 2] + 20 > plain->rgb[ice + 2]);
  assert_memory_equal(image->rgb + snow, plain->rgb + snow, 3);
  preview_stage_destroy(&stage);
  image_destroy(&image);
  image_destroy(&plain);
  frame_destroy(&ball);
}

/* Each material is drawn by its look where no colour is asked for; snow stays as it is. */
static void test_materials_have_looks(void **unused)
{
  (void)unused;
  struct frame *ball = make_ball(0.01);
  ball->material = mem_alloc((size_t)ball->count, sizeof *ball->material);
  for (int64_t i = 0; i < ball->count; i++) ball->material[i] = ball->position[3 * i] > 0.0f;
  const struct material pair[2] = {{.look = LOOK_SNOW}, {.look = LOOK_SAND}};
  const struct material own[2] = {{.look = LOOK_SNOW},
                                  {.look = LOOK_SNOW, .color_given = true, .color = {0.02, 0.4, 0.02}}};
  const struct scene_camera camera = {.given = true, .eye = {0.0, 0.2, 1.0}, .target = {0.0, 0.2, 0.0}};
  struct image *image[4]; /* snow without materials; snow alone; with sand; with a colour */
  for (int k = 0; k < 4; k++) {
    struct preview_stage stage;
    preview_stage_init(&stage, gravity);
    preview_stage_add(&stage, ball);
    preview_stage_aim(&stage, NULL, 0, &camera, 1.5);
    stage.materials = k == 0 ? NULL : k == 3 ? own : pair;
    stage.material_count = k == 0 ? 0 : k == 1 ? 1 : 2;
    image[k] = image_create(96, 64);
    preview_render(&stage, ball, NULL, 0, image[k]);
    preview_stage_destroy(&stage);
  }
  assert_true(same_image(image[0], image[1]));
  const int left = 3 * (32 * 96 + 42), right = 3 * (32 * 96 + 52);
  const uint8_t *snow = image[2]->rgb + left, *sand = image[2]->rgb + right, *green = image[3]->rgb + right;
  assert_memory_equal(snow, image[0]->rgb + left, 3);
  assert_true(sand[0] > sand[1] + 10 && sand[1] > sand[2] + 10);
  assert_true(green[1] > green[0] + 40 && green[1] > green[2] + 40);
  for (int k = 0; k < 4; k++) image_destroy(&image[k]);
  frame_destroy(&ball);
}

static void assert_one_line(const struct error *err, int code)
{
  assert_int_equal(err->code, code);
  assert_true(strlen(err->text) > 10);
  assert_null(strchr(err->text, '\n'));
}

static void test_frames_to_sheet(void **unused)
{
  (void)unused;
  static char a[] = "a.h5", b[] = "b.h5";
  char *frames[] = {a, b, a};
  struct frame *ball = make_ball(0.01);
  write_frame(a, ball);
  ball->position[0] += 0.01f;
  write_frame(b, ball);
  struct error err = {.code = FIRN_OK};
  struct sheet_layout layout;
  struct picture_report report;
  struct sheet_request request = {.shot = {.frames = frames, .frame_count = 3, .labels = true},
                                  .output = "out.png",
                                  .width = 80,
                                  .height = 60,
                                  .columns = 2};
  assert_int_equal(sheet_draw(NULL, &request, &layout, &report, &err), FIRN_OK);
  struct image *sheet = read_png("out.png");
  assert_true(sheet->width == 164 && sheet->height == 124);
  assert_true(brightness(sheet, 81, 20) < 40); /* the gap */
  for (int y = 0; y < 60; y++)                 /* the first and third panels show the same frame */
    assert_memory_equal(sheet->rgb + 3 * (y * 164), sheet->rgb + 3 * ((y + 64) * 164), 3 * 80);
  assert_true(brightness(sheet, 120, 100) < 40); /* no fourth */
  image_destroy(&sheet);
  frame_destroy(&ball);
}

static void test_errors_are_one_line(void **unused)
{
  (void)unused;
  static char a[] = "a.h5", missing[] = "missing.h5";
  char *there[] = {a}, *gone[] = {a, missing};
  struct frame *ball = make_ball(0.02);
  write_frame(a, ball);
  struct sheet_layout layout;
  struct picture_report report;
  struct sheet_request request = {
      .shot = {.frames = gone, .frame_count = 2}, .output = "out.png", .width = 40, .height = 40};
  struct error err = {.code = FIRN_OK};
  assert_true(sheet_draw(NULL, &request, &layout, &report, &err) < 0);
  assert_one_line(&err, err.code);
  assert_non_null(strstr(err.text, "missing.h5"));
  assert_int_equal(access("out.png", F_OK), -1);

  request.shot.frames = there;
  request.shot.frame_count = 1;
  request.output = "no/such/folder/out.png";
  assert_true(sheet_draw(NULL, &request, &layout, &report, &err) < 0);
  assert_one_line(&err, FIRN_EIO);
  assert_non_null(strstr(err.text, "no/such/folder"));

  request.output = "out.png";
  request.shot.scene = "missing.yml";
  assert_true(sheet_draw(NULL, &request, &layout, &report, &err) < 0);
  assert_one_line(&err, err.code);
  assert_non_null(strstr(err.text, "missing.yml"));
  frame_destroy(&ball);
}

static int check_balance(void **unused)
{
  (void)unused;
  return mem_balance() == 0 ? 0 : -1;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_snow_is_bright_and_casts_a_shadow),
      cmocka_unit_test(test_same_frame_same_bytes_in_any_order),
      cmocka_unit_test(test_large_particles_leave_no_comb),
      cmocka_unit_test(test_ball_is_not_cropped),
      cmocka_unit_test(test_sun_stays_where_it_is),
      cmocka_unit_test(test_empty_frame_shows_the_ground),
      cmocka_unit_test(test_one_particle_is_seen),
      cmocka_unit_test(test_far_particle_changes_little),
      cmocka_unit_test(test_spacing_is_found),
      cmocka_unit_test(test_rays_hit_where_marching_does),
      cmocka_unit_test(test_layout),
      cmocka_unit_test_setup_teardown(test_png_comes_back, enter_folder, leave_folder),
      cmocka_unit_test_setup_teardown(test_frames_to_sheet, enter_folder, leave_folder),
      cmocka_unit_test_setup_teardown(test_panels_have_their_own_bodies, enter_folder, leave_folder),
      cmocka_unit_test_setup_teardown(test_numbered_files, enter_folder, leave_folder),
      cmocka_unit_test(test_colors_show_fields),
      cmocka_unit_test(test_water_and_ice),
      cmocka_unit_test(test_materials_have_looks),
      cmocka_unit_test_setup_teardown(test_errors_are_one_line, enter_folder, leave_folder),
  };
  return cmocka_run_group_tests(tests, NULL, check_balance);
}
