/* Light in snow against known answers (Monte Carlo tables and van de Hulst's formula, docs/render.md),
 * through the real grid and the real tracer. Random numbers have fixed seeds, so a test that passes always
 * passes. */
#include "base/memory.h"
#include "base/vec.h"
#include "material/look.h"
#include "render/tone.h"
#include "render/trace/film.h"
#include "render/trace/phase.h"
#include "render/trace/quick.h"
#include "render/trace/surface.h"
#include "render/trace/trace.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const double up[3] = {0.0, 1.0, 0.0};
static const float white[3] = {1.0f, 1.0f, 1.0f}, black[3] = {0.0f, 0.0f, 0.0f};

static double uniform(uint64_t index, uint64_t stream)
{
  return rng_uniform(7, index, stream);
}

/* ---- pieces ----------------------------------------------------------------------------------------------
 */

static void test_phase_function(void **unused)
{
  (void)unused;
  const float cosines[] = {0.0f, 0.5f, 0.8f, -0.3f};
  for (int k = 0; k < 4; k++) {
    const float g = cosines[k];
    double integral = 0.0, mean = 0.0, drawn = 0.0, drawn_square = 0.0;
    const int steps = 20000, draws = 200000;
    for (int i = 0; i < steps; i++) {
      const double c = -1.0 + 2.0 * (i + 0.5) / steps, p = (double)phase_density(g, (float)c);
      integral += 2.0 * acos(-1.0) * p * 2.0 / steps;
      mean += 2.0 * acos(-1.0) * p * c * 2.0 / steps;
    }
    assert_true(fabs(integral - 1.0) < 1e-5 && fabs(mean - (double)g) < 1e-5);
    for (int i = 0; i < draws; i++) {
      const double c = (double)phase_cosine(g, (float)uniform((uint64_t)i, 1));
      drawn += c / draws;
      drawn_square += c * c / draws;
    }
    const double error = sqrt((drawn_square - drawn * drawn) / draws);
    assert_true(fabs(drawn - (double)g) < 3.0 * error);
    /* second moment of Henyey-Greenstein: (1 + 2 g^2) / 3 */
    assert_true(fabs(drawn_square - (1.0 + 2.0 * (double)(g * g)) / 3.0) < 5e-3);
  }
}

static void test_quick_functions(void **unused)
{
  (void)unused;
  double x = 0.0, y = 0.0, xx = 0.0, xy = 0.0;
  const int steps = 100000;
  for (int i = 0; i < steps; i++) {
    const float u = (float)(i + 0.5) / (float)steps;
    const double exact = -log1p(-(double)u), got = (double)quick_exponential(u);
    assert_true(fabs(got - exact) <= 4e-7 * exact + 1e-7);
    float c, s;
    quick_circle(u, &c, &s);
    assert_true(fabs((double)(c * c + s * s) - 1.0) < 2e-6);
    x += (double)c / steps;
    y += (double)s / steps;
    xx += (double)(c * c) / steps;
    xy += (double)(c * s) / steps;
  }
  assert_true(fabs(x) < 1e-5 && fabs(y) < 1e-5 && fabs(xx - 0.5) < 1e-5 && fabs(xy) < 1e-5);
  assert_true(quick_exponential(0.0f) == 0.0f);
  for (int i = 0; i < 1000; i++) {
    float n[3], out[3], dot = 0.0f, norm = 0.0f;
    const float cosine = (float)(2.0 * uniform((uint64_t)i, 3) - 1.0);
    float start[3] = {0.0f, 0.0f, 1.0f};
    quick_turn(start, (float)(2.0 * uniform((uint64_t)i, 2) - 1.0), (float)uniform((uint64_t)i, 4), n);
    quick_turn(n, cosine, (float)uniform((uint64_t)i, 5), out);
    for (int d = 0; d < 3; d++) {
      dot += n[d] * out[d];
      norm += out[d] * out[d];
    }
    assert_true(fabsf(dot - cosine) < 1e-5f && fabsf(norm - 1.0f) < 1e-5f);
  }
}

/* Sixteen samples of a pixel fill every elementary interval once, and neighbours take other points. */
static void test_samples_are_spread(void **unused)
{
  (void)unused;
  for (int pair = PAIR_PIXEL; pair <= PAIR_DIRECTION; pair++)
    for (int pixel = 0; pixel < 50; pixel++)
      for (int a = 0; a <= SAMPLER_BATCH_BITS; a++) {
        int seen[SAMPLER_BATCH] = {0};
        const int b = SAMPLER_BATCH_BITS - a;
        for (uint32_t k = 0; k < SAMPLER_BATCH; k++) {
          struct sampler s;
          float u[2];
          sampler_begin(&s, 3, 100 + pixel, 7 * pixel, 16 * 3 + k);
          sampler_low(&s, (enum sampler_pair)pair, u);
          assert_true(u[0] >= 0.0f && u[0] < 1.0f && u[1] >= 0.0f && u[1] < 1.0f);
          seen[(int)(u[0] * (float)(1 << a)) << b | (int)(u[1] * (float)(1 << b))]++;
        }
        for (int k = 0; k < SAMPLER_BATCH; k++) assert_int_equal(seen[k], 1);
      }
}

/* Mean over squares of 8 x 8 pixels of the error of an estimate of 1/2, sixteen samples a pixel: neighbours
 * make up for each other, so it is far below what sixteen good samples in each pixel alone would give, 1 / (8
 * x 16 sqrt(12 x 16)). */
static void test_neighbours_make_up_for_each_other(void **unused)
{
  (void)unused;
  double square = 0.0;
  for (int by = 0; by < 16; by++)
    for (int bx = 0; bx < 16; bx++) {
      double sum = 0.0;
      for (int k = 0; k < 64 * SAMPLER_BATCH; k++) {
        struct sampler s;
        float u[2];
        sampler_begin(&s, 1, 8 * bx + k / SAMPLER_BATCH % 8, 8 * by + k / SAMPLER_BATCH / 8,
                      (uint32_t)(k % SAMPLER_BATCH));
        sampler_low(&s, PAIR_LIGHT, u);
        sum += ((double)u[0] - 0.5) / (64.0 * SAMPLER_BATCH);
      }
      square += sum * sum / 256.0;
    }
  assert_true(sqrt(square) < 0.1 / (8.0 * 16.0 * sqrt(12.0 * 16.0)));
}

/* ---- slabs -----------------------------------------------------------------------------------------------
 */

/* Particles on the nodes of a lattice of n x layers x n voxels of a metre: a slab of this extinction a voxel.
 */
static struct volume *make_slab(int n, int layers, double extinction, double slack, double shift)
{
  const int64_t count = (int64_t)n * layers * n;
  float *position = mem_alloc((size_t)count, 3 * sizeof *position);
  for (int64_t i = 0; i < count; i++) {
    position[3 * i] = (float)(i / (layers * n));
    position[3 * i + 1] = (float)(i / n % layers);
    position[3 * i + 2] = (float)(i % n);
  }
  const struct volume_points points = {.count = count, .position = position, .same_mass = extinction};
  const struct volume_options options = {
      .voxel = 1.0, .strength = {1.0}, .slack = slack, .lattice = {shift, shift, shift}};
  struct volume *volume = NULL;
  struct error err;
  assert_int_equal(volume_create(&volume, NULL, &points, &options, &err), FIRN_OK);
  mem_free(position);
  return volume;
}

struct slab {
  struct volume *volume;
  const struct volume *list[1];
  struct solids solids;
  struct light *light;
  struct trace_stage stage;
  int n, layers;
};

static void slab_create(struct slab *s, int n, int layers, double extinction, double albedo, double g,
                        bool from_above, double slack, double shift)
{
  memset(s, 0, sizeof *s);
  s->volume = make_slab(n, layers, extinction, slack, shift);
  s->list[0] = s->volume;
  solids_create(&s->solids, NULL, 0, NULL, 0.0, 0.0, 1, NULL);
  s->light = from_above ? light_create_split(up, white, black) : light_create_split(up, black, white);
  s->light->sun_share = 1.0f; /* only rays that leave see it */
  s->stage = (struct trace_stage){.volume = s->list,
                                  .slices = 1,
                                  .solids = &s->solids,
                                  .light = s->light,
                                  .similar_after = -1,
                                  .draw_chance = 1.0f,
                                  .haze = INFINITY};
  const double same[3] = {albedo, albedo, albedo};
  trace_set_look(&s->stage, 0, same, g);
  s->n = n;
  s->layers = layers;
}

static void slab_destroy(struct slab *s)
{
  volume_destroy(&s->volume);
  solids_destroy(&s->solids);
  mem_free(s->light);
}

/* Mean radiance of paths that go in at the middle of the top, straight or with cosine-weighted directions: by
 * reciprocity the reflectance for such light, or with light from below the part that gets through. */
static double measure(const struct slab *s, int paths, bool straight, double *error)
{
  double sum = 0.0, square = 0.0;
  for (int i = 0; i < paths; i++) {
    struct sampler sampler;
    struct trace_sample sample;
    float u[2], direction[3];
    const float down[3] = {0.0f, -1.0f, 0.0f};
    sampler_begin(&sampler, 5, i & 1023, i >> 10, 0);
    sampler_next(&sampler, u);
    quick_turn(down, straight ? 1.0f : sqrtf(1.0f - u[0]), u[1], direction);
    /* where the topmost stencils end */
    const double origin[3] = {0.5 * s->n, s->layers + 1.0, 0.5 * s->n};
    const double unit[3] = {(double)direction[0], (double)direction[1], (double)direction[2]};
    trace_path(&s->stage, origin, unit, 0.0f, &sampler, &sample);
    sum += (double)sample.radiance[1];
    square += (double)sample.radiance[1] * (double)sample.radiance[1];
  }
  const double mean = sum / paths;
  *error = sqrt((square / paths - mean * mean) / paths + 2e-4 * 2e-4); /* and that of the table */
  return mean;
}

static void check_close(double got, double expected, double error, const char *what, double albedo, double g)
{
  if (fabs(got - expected) <= 3.0 * error) return;
  print_error("%s, albedo %g, g %g: %.5f instead of %.5f, which is %.1f standard errors\n", what, albedo, g,
              got, expected, fabs(got - expected) / error);
  fail();
}

static void test_half_space(void **unused)
{
  (void)unused;
  static const double table[5][7] = {{0.5, 0.1465, 0.1153, 0.0826, 0.0475, 0.0357, 0.0148},
                                     {0.9, 0.4778, 0.4147, 0.3602, 0.2779, 0.2168, 0.1361},
                                     {0.95, 0.5966, 0.5358, 0.4867, 0.4042, 0.3319, 0.2394},
                                     {0.99, 0.7945, 0.7527, 0.7234, 0.6647, 0.6029, 0.5220},
                                     {0.999, 0.9299, 0.9128, 0.9021, 0.8777, 0.8501, 0.8130}};
  static const double cosines[3] = {0.0, 0.5, 0.8};
  for (int a = 0; a < 5; a++)
    for (int g = 0; g < 3; g++) {
      struct slab slab;
      slab_create(&slab, 64, 40, 15.0, table[a][0], cosines[g], true, 0.0, 0.0);
      for (int straight = 0; straight < 2; straight++) {
        double error;
        const double got = measure(&slab, table[a][0] < 0.98 ? 30000 : 6000, straight, &error);
        check_close(got, table[a][1 + 2 * g + straight], error, straight ? "straight" : "diffuse",
                    table[a][0], cosines[g]);
        if (!straight && table[a][0] >= 0.9)
          check_close(got, look_reflectance(table[a][0], cosines[g]), error + 5e-4 / 3.0, "van de Hulst",
                      table[a][0], cosines[g]);
      }
      slab_destroy(&slab);
    }
}

static void test_slabs(void **unused)
{
  (void)unused;
  static const struct {
    double thickness, albedo;
    bool straight;
    double reflected, through;
  } table[] = {{1.0, 1.0, false, 0.3013, 0.6987},  {5.0, 1.0, false, 0.6599, 0.3401},
               {20.0, 1.0, false, 0.8835, 0.1165}, {1.0, 0.95, true, 0.1513, 0.7788},
               {5.0, 0.95, true, 0.3745, 0.2569},  {20.0, 0.95, true, 0.4037, 0.0042}};
  for (size_t k = 0; k < sizeof table / sizeof *table; k++)
    for (int below = 0; below < 2; below++) {
      /* Wide: light that goes sideways must not get out there. */
      struct slab slab;
      double error;
      slab_create(&slab, table[k].thickness > 2.0 ? 96 : 160, 2, table[k].thickness / 2.0, table[k].albedo,
                  0.5, !below, 0.0, 0.0);
      const double got = measure(&slab, 20000, table[k].straight, &error);
      check_close(got, below ? table[k].through : table[k].reflected, error, below ? "through" : "reflected",
                  table[k].albedo, table[k].thickness);
      slab_destroy(&slab);
    }
}

/* Nothing scatters: what is left is exp(-thickness). */
static void test_unscattered(void **unused)
{
  (void)unused;
  const double thickness[] = {0.3, 1.0, 4.0};
  for (int k = 0; k < 3; k++) {
    struct slab slab;
    double error;
    slab_create(&slab, 24, 5, thickness[k] / 5.0, 0.0, 0.5, false, 0.0, 0.0);
    const double got = measure(&slab, 60000, true, &error);
    check_close(got, exp(-thickness[k]), error, "unscattered", 0.0, thickness[k]);
    slab_destroy(&slab);
  }
}

/* Ratio tracking through snow of many densities, against the integral of the extinction along the same ray.
 */
static void test_uneven_slab(void **unused)
{
  (void)unused;
  enum { N = 4000, RAYS = 12, DRAWS = 5000 };
  float *position = mem_alloc(N, 3 * sizeof *position), *mass = mem_alloc(N, sizeof *mass);
  for (int i = 0; i < N; i++) {
    for (int d = 0; d < 3; d++)
      position[3 * i + d] = (float)(20.0 * uniform((uint64_t)i, (uint64_t)(20 + d)));
    mass[i] = (float)(0.4 * uniform((uint64_t)i, 23));
  }
  const struct volume_points points = {.count = N, .position = position, .mass = mass};
  const struct volume_options options = {.voxel = 1.3, .strength = {1.0}};
  struct volume *volume = NULL;
  struct solids solids;
  struct error err;
  assert_int_equal(volume_create(&volume, NULL, &points, &options, &err), FIRN_OK);
  solids_create(&solids, NULL, 0, NULL, 0.0, 0.0, 1, NULL);
  const struct medium medium = {.volume = volume, .solids = &solids};
  for (int k = 0; k < RAYS; k++) {
    double origin[3], direction[3], depth = 0.0, sum = 0.0, square = 0.0;
    for (int d = 0; d < 3; d++) {
      direction[d] = 2.0 * uniform((uint64_t)k, (uint64_t)(30 + d)) - 1.0;
      origin[d] = 10.0 + (k % 2 ? 8.0 : 60.0) * (uniform((uint64_t)k, (uint64_t)(33 + d)) - 0.5);
    }
    if (k == 0) direction[0] = direction[2] = 0.0; /* along an axis */
    vec_normalize(direction);
    const int steps = 100000;
    for (int i = 0; i < steps; i++) { /* 200 m */
      float p[3];
      for (int d = 0; d < 3; d++)
        p[d] = (float)((origin[d] + direction[d] * 200.0 * (i + 0.5) / steps - volume->origin[d]) /
                       volume->voxel);
      depth += (double)volume_extinction(volume, p) * 200.0 / steps / volume->voxel;
    }
    for (int i = 0; i < DRAWS; i++) {
      struct sampler sampler;
      struct ray ray;
      sampler_begin(&sampler, 9, i, k, 0);
      ray_begin(&ray, &medium, origin, direction);
      const double through = (double)flight_transmittance(&ray, &medium, 1.0f, &sampler);
      sum += through;
      square += through * through;
    }
    const double mean = sum / DRAWS, error = sqrt((square / DRAWS - mean * mean) / DRAWS);
    check_close(mean, exp(-depth), error + 1e-5 + 1e-4 * exp(-depth), "uneven", 0.0, k);
  }
  solids_destroy(&solids);
  volume_destroy(&volume);
  mem_free(position);
  mem_free(mass);
}

static void test_majorants_do_not_matter(void **unused)
{
  (void)unused;
  double mean[3], error[3];
  const double slack[3] = {1.0, 2.5, 1.0}, shift[3] = {0.0, 0.0, 3.0};
  for (int k = 0; k < 3; k++) {
    struct slab slab;
    slab_create(&slab, 48, 12, 4.0, 0.97, 0.5, true, slack[k], shift[k]);
    mean[k] = measure(&slab, 20000, false, &error[k]);
    slab_destroy(&slab);
  }
  for (int k = 1; k < 3; k++)
    assert_true(fabs(mean[k] - mean[0]) < 3.0 * sqrt(error[0] * error[0] + error[k] * error[k]));
}

/* Similarity is an approximation: it must stay below a per cent of the reflectance. */
static void test_similarity(void **unused)
{
  (void)unused;
  const double albedos[] = {0.95, 0.999};
  for (int k = 0; k < 2; k++) {
    struct slab slab;
    double error;
    slab_create(&slab, 64, 40, 15.0, albedos[k], 0.5, true, 0.0, 0.0);
    slab.stage.similar_after = 10;
    const double got = measure(&slab, 8000, false, &error), exact = k ? 0.9021 : 0.4867;
    assert_true(fabs(got - exact) < 0.01 * exact + 3.0 * error);
    slab_destroy(&slab);
  }
}

/* Drawing from the sky beside meeting it must not change the answer. */
static void test_two_ways_to_the_sky(void **unused)
{
  (void)unused;
  struct slab slab;
  double error;
  slab_create(&slab, 64, 40, 15.0, 0.95, 0.5, true, 0.0, 0.0);
  slab.light->sun_share = 0.0f;
  slab.stage.draw_chance = 0.5f;
  const double got = measure(&slab, 30000, false, &error);
  check_close(got, 0.4867, error, "both ways", 0.95, 0.5);
  slab_destroy(&slab);
}

/* ---- whole pictures --------------------------------------------------------------------------------------
 */

static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

/* A ball of snow beside a white ball on a white floor, all lit evenly from everywhere: no pixel may differ
 * from the light but by noise, also where a part of the light is mirrored. */
static void test_white_furnace(void **unused)
{
  (void)unused;
  enum { SIDE = 10, WIDTH = 24, HEIGHT = 16 };
  float position[SIDE * SIDE * SIDE * 3];
  int64_t count = 0;
  for (int i = 0; i < SIDE * SIDE * SIDE; i++) {
    const double x[3] = {i % SIDE - 4.5, i / SIDE % SIDE - 4.5, i / SIDE / SIDE - 4.5};
    if (vec_norm(x) > 4.6) continue;
    for (int d = 0; d < 3; d++) position[3 * count + d] = (float)(x[d] + (d == 1 ? 5.0 : 0.0));
    count++;
  }
  struct body bodies[2] = {{.name = "floor"}, {.name = "ball"}};
  bodies[0].shape = (struct shape){.kind = SHAPE_PLANE, .axis = {0.0, 1.0, 0.0}};
  bodies[1].shape = (struct shape){.kind = SHAPE_SPHERE, .center = {7.0, 3.0, 1.0}, .radius = 3.0};
  for (int b = 0; b < 2; b++) memcpy(bodies[b].shape.axes, identity, sizeof identity);
  const float colors[2][3] = {{1.0f, 1.0f, 1.0f}, {1.0f, 1.0f, 1.0f}};
  const struct volume_points points = {.count = count, .position = position, .same_mass = 0.8};
  const struct volume_options options = {.voxel = 1.0, .strength = {1.0}};
  struct volume *volume = NULL;
  struct solids solids;
  struct error err;
  assert_int_equal(volume_create(&volume, NULL, &points, &options, &err), FIRN_OK);
  solids_create(&solids, bodies, 2, colors, 0.0, 0.0, 1, NULL);
  volume_mark_bodies(volume, solids.pose, solids.count);
  const float light_color[3] = {0.7f, 0.7f, 0.7f};
  struct light *light = light_create_split(up, light_color, light_color);
  const struct volume *list[1] = {volume};
  struct trace_stage stage = {.volume = list,
                              .slices = 1,
                              .solids = &solids,
                              .light = light,
                              .similar_after = -1,
                              .draw_chance = 1.0f,
                              .haze = INFINITY};
  const double all[3] = {1.0, 1.0, 1.0}, eye[3] = {4.0, 9.0, 22.0}, target[3] = {3.0, 3.0, 0.0};
  trace_set_look(&stage, 0, all, 0.5);
  struct camera camera;
  camera_look(&camera, eye, target, up, 45.0);
  for (int drawn = 0; drawn < 3; drawn++) {
    light->sun_share = drawn == 1 ? 0.0f : 1.0f;
    stage.surface = drawn == 2 ? list : NULL; /* the snow under a varnish */
    const struct film_options film_options = {
        .width = WIDTH, .height = HEIGHT, .least = 32, .most = 32, .seed = 2};
    struct film *film = film_render(NULL, &stage, &camera, &film_options);
    double mean = 0.0, square = 0.0;
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
      const struct film_pixel *pixel = &film->pixel[i];
      /* Where only leaving rays count every path brings exactly the light, however long it was. */
      const double off = (double)pixel->mean[1] - 0.7, error = (double)pixel->error + 1e-5;
      /* A mirror is rare: a pixel where none of the paths met it knows nothing of that noise. */
      assert_true(fabs(off) < 5.0 * error + (drawn < 2 ? 2e-3 : 0.1));
      if (!drawn) assert_true(fabs(off) < 1e-4);
      mean += off / (WIDTH * HEIGHT);
      square += error * error / ((double)WIDTH * HEIGHT * WIDTH * HEIGHT);
    }
    assert_true(fabs(mean) < 3.0 * sqrt(square) + 1e-4);
    film_destroy(&film);
  }
  mem_free(light);
  solids_destroy(&solids);
  volume_destroy(&volume);
}

/* ---- snow with a surface and grains ----------------------------------------------------------------------
 */

enum { BLOCK = 24, BLOCKS = BLOCK * BLOCK * BLOCK };

/* A block of packed particles, a unit apart, in a shape-free order of ids, moved by `shift` along x; the
 * voxel is a quarter. Half of them are of another look if `mixed`. */
static struct volume *make_block_of(double voxel, double shift, double budget, bool mixed, double rough,
                                    double full)
{
  float *position = mem_alloc(BLOCKS, 3 * sizeof *position);
  uint64_t *id = mem_alloc(BLOCKS, sizeof *id);
  uint8_t *look = mem_alloc(BLOCKS, 1);
  for (int i = 0; i < BLOCKS; i++) {
    position[3 * i] = (float)(i / (BLOCK * BLOCK) + shift);
    position[3 * i + 1] = (float)(i / BLOCK % BLOCK);
    position[3 * i + 2] = (float)(i % BLOCK);
    id[i] = rng_mix((uint64_t)i);
    look[i] = i / BLOCK % BLOCK >= BLOCK / 2;
  }
  const struct volume_points points = {
      .count = BLOCKS, .position = position, .same_mass = 400.0, .id = id, .look = mixed ? look : NULL};
  const struct volume_options options = {.voxel = 1.0};
  const struct volume_grain grain = {.voxel = voxel,
                                     .kernel = 0.25,
                                     .rest = {400.0, 400.0},
                                     .full = {full, 0.5 * full},
                                     .rough = {rough, rough},
                                     .level = 0.35,
                                     .width = 0.1,
                                     .budget = budget};
  struct volume *volume = NULL;
  struct error err;
  assert_int_equal(volume_create_grained(&volume, NULL, &points, &options, &grain, &err), FIRN_OK);
  mem_free(position);
  mem_free(id);
  mem_free(look);
  return volume;
}

static struct volume *make_block(double shift, double budget, bool mixed, double rough, double full)
{
  return make_block_of(0.25, shift, budget, mixed, rough, full);
}

/* Extinction per metre at a point. */
static double extinction_at(const struct volume *v, double x, double y, double z)
{
  const double at[3] = {x, y, z};
  float p[3];
  for (int d = 0; d < 3; d++) p[d] = (float)((at[d] - v->origin[d]) / v->voxel);
  return (double)volume_extinction(v, p) / v->voxel;
}

/* Full inside, nothing outside, and less than a particle's width between; rough with grains, even without. */
static void test_surface_is_sharp(void **unused)
{
  (void)unused;
  const double middle = 0.5 * BLOCK;
  double deviation[2];
  for (int rough = 0; rough < 2; rough++) {
    struct volume *v = make_block(0.0, 1e9, false, rough ? 0.15 : 0.0, 20.0);
    double sum = 0.0, square = 0.0;
    for (int k = 0; k < 200; k++) {
      const double y = 4.0 + 16.0 * uniform((uint64_t)k, 60), z = 4.0 + 16.0 * uniform((uint64_t)k, 61);
      double from = NAN, to = NAN;
      for (double x = 3.0; x > -4.0; x -= 0.01) {
        const double part = extinction_at(v, x, y, z) / 20.0;
        assert_true(part >= 0.0 && part < 1.0001);
        if (isnan(from) && part < 0.9) from = x;
        if (part > 0.1) to = x;
      }
      assert_true(extinction_at(v, 3.0, y, z) > 19.99 && extinction_at(v, -2.5, y, z) == 0.0);
      assert_true(from - to < 0.6 || rough); /* a haze of the cubic kernel would be two wide */
      assert_true(from - to < 1.6);
      sum += to;
      square += to * to;
    }
    deviation[rough] = sqrt(fmax(square / 200 - sum / 200 * (sum / 200), 0.0));
    assert_true(fabs(extinction_at(v, middle, middle, middle) - 20.0) < 1e-3);
    volume_destroy(&v);
  }
  assert_true(deviation[0] < 0.01 && deviation[1] > 0.04);
}

/* Grains travel with their particles: moved snow has the same surface, moved. */
static void test_grains_do_not_swim(void **unused)
{
  (void)unused;
  const double shift = 5.0; /* whole voxels of both grids */
  struct volume *here = make_block(0.0, 1e9, false, 0.15, 20.0),
                *there = make_block(shift, 1e9, false, 0.15, 20.0);
  for (int k = 0; k < 20000; k++) {
    const double x = -1.0 + 3.0 * uniform((uint64_t)k, 62), y = 26.0 * uniform((uint64_t)k, 63) - 1.0,
                 z = 26.0 * uniform((uint64_t)k, 64) - 1.0;
    assert_true(fabs(extinction_at(here, x, y, z) - extinction_at(there, x + shift, y, z)) < 1e-2);
  }
  volume_destroy(&here);
  volume_destroy(&there);
}

/* A finer grid shows the same grains: refining does not make lumps of them. */
static void test_refining_keeps_the_surface(void **unused)
{
  (void)unused;
  struct volume *coarse = make_block_of(0.25, 0.0, 1e9, false, 0.15, 20.0),
                *fine = make_block_of(0.125, 0.0, 1e9, false, 0.15, 20.0);
  double gap = 0.0, all[2] = {0.0, 0.0};
  const int points = 20000;
  for (int k = 0; k < points; k++) {
    const double x = -1.5 + 2.5 * uniform((uint64_t)k, 65), y = 2.0 + 20.0 * uniform((uint64_t)k, 66),
                 z = 2.0 + 20.0 * uniform((uint64_t)k, 67);
    const double a = extinction_at(coarse, x, y, z) / 20.0, b = extinction_at(fine, x, y, z) / 20.0;
    gap += fabs(a - b) / points;
    all[0] += a / points;
    all[1] += b / points;
  }
  assert_true(all[0] > 0.2 && all[0] < 0.9);
  assert_true(gap < 0.04 && fabs(all[0] - all[1]) < 0.01);
  volume_destroy(&coarse);
  volume_destroy(&fine);
}

/* Memory follows the surface: the inside is one tile. A voxel that takes too much is enlarged. */
static void test_inside_takes_no_memory(void **unused)
{
  (void)unused;
  struct volume *fine = make_block(0.0, 1e9, false, 0.15, 20.0),
                *mixed = make_block(0.0, 1e9, true, 0.15, 20.0);
  struct volume *small = make_block(0.0, 2e6, false, 0.15, 20.0);
  int64_t stands = 0;
  for (uint32_t s = 0; s <= fine->brick_mask; s++)
    for (int k = 0; k < VOLUME_BRICK && fine->brick_key[s] != UINT64_MAX; k++)
      stands += fine->brick[s][k] >= fine->tile_count;
  /* 12 tiles along each side, those within 2 of a face not among them. */
  assert_true(stands >= 6 * 6 * 6 && stands <= 10 * 10 * 10);
  assert_true(fine->tile_count < 14 * 14 * 14 - stands + 1);
  assert_true(small->voxel > 0.25 && volume_bytes(small) < 2.2e6 + 1e6);
  assert_true(fabs(extinction_at(mixed, 12.0, 4.0, 12.0) - 20.0) < 1e-3);
  assert_true(fabs(extinction_at(mixed, 12.0, 20.0, 12.0) - 10.0) < 1e-3);
  /* A body in the inside is not overlooked. */
  struct body ball = {.name = "ball"};
  struct body_pose pose;
  ball.shape = (struct shape){.kind = SHAPE_SPHERE, .center = {12.0, 12.0, 12.0}, .radius = 1.0};
  memcpy(ball.shape.axes, identity, sizeof identity);
  body_pose_at(&ball, 0.0, &pose);
  volume_mark_bodies(fine, &pose, 1);
  int32_t voxel[3];
  for (int d = 0; d < 3; d++) voxel[d] = (int32_t)((12.0 - fine->origin[d]) / fine->voxel);
  const int32_t tile = volume_find(fine, voxel);
  assert_true(tile >= fine->tile_count && fine->tile[tile].near[0] == 1);
  voxel[0] -= 16;
  assert_true(fine->tile[volume_find(fine, voxel)].near[0] == 0);
  volume_destroy(&fine);
  volume_destroy(&mixed);
  volume_destroy(&small);
}

/* White snow in even light cannot be seen, however its surface is. */
static void test_furnace_of_grains(void **unused)
{
  (void)unused;
  enum { WIDTH = 24, HEIGHT = 16 };
  struct volume *volume = make_block(0.0, 1e9, true, 0.15, 0.4);
  const struct volume *list[1] = {volume};
  const float light_color[3] = {0.7f, 0.7f, 0.7f};
  struct light *light = light_create_split(up, light_color, light_color);
  struct solids solids;
  solids_create(&solids, NULL, 0, NULL, 0.0, 0.0, 1, NULL);
  light->sun_share = 1.0f;
  struct trace_stage stage = {.volume = list,
                              .slices = 1,
                              .solids = &solids,
                              .light = light,
                              .similar_after = -1,
                              .draw_chance = 1.0f,
                              .haze = INFINITY};
  const double all[3] = {1.0, 1.0, 1.0}, eye[3] = {30.0, 40.0, 70.0}, target[3] = {12.0, 12.0, 12.0};
  trace_set_look(&stage, 0, all, 0.5);
  trace_set_look(&stage, 1, all, 0.5);
  struct camera camera;
  camera_look(&camera, eye, target, up, 35.0);
  const struct film_options options = {.width = WIDTH, .height = HEIGHT, .least = 16, .most = 16, .seed = 2};
  struct film *film = film_render(NULL, &stage, &camera, &options);
  int snow = 0;
  for (int i = 0; i < WIDTH * HEIGHT; i++) {
    assert_true(fabsf(film->pixel[i].mean[1] - 0.7f) < 1e-4f);
    snow += film->pixel[i].snow == 1.0f;
  }
  assert_true(snow > WIDTH * HEIGHT / 8 && snow < WIDTH * HEIGHT);
  film_destroy(&film);
  mem_free(light);
  solids_destroy(&solids);
  volume_destroy(&volume);
}

/* A ball of snow under sun and sky. */
static struct film *render_ball(int samples, double target, uint64_t seed, int width, int height)
{
  enum { SIDE = 12 };
  static float position[SIDE * SIDE * SIDE * 3];
  int64_t count = 0;
  for (int i = 0; i < SIDE * SIDE * SIDE; i++) {
    const double x[3] = {i % SIDE - 5.5, i / SIDE % SIDE - 5.5, i / SIDE / SIDE - 5.5};
    if (vec_norm(x) > 5.6) continue;
    for (int d = 0; d < 3; d++) position[3 * count + d] = (float)(0.005 * x[d]);
    count++;
  }
  struct body floor = {.name = "floor"};
  floor.shape = (struct shape){.kind = SHAPE_PLANE, .center = {0.0, -0.03, 0.0}, .axis = {0.0, 1.0, 0.0}};
  memcpy(floor.shape.axes, identity, sizeof identity);
  const float color[1][3] = {{0.3f, 0.3f, 0.3f}};
  const struct volume_points points = {
      .count = count, .position = position, .same_mass = 400.0 * pow(0.005, 3.0)};
  const struct volume_options options = {.voxel = 0.005, .strength = {724.0 / 400.0}};
  struct volume *volume = NULL;
  struct solids solids;
  struct error err;
  assert_int_equal(volume_create(&volume, NULL, &points, &options, &err), FIRN_OK);
  solids_create(&solids, &floor, 1, color, 0.0, 0.0, 1, NULL);
  volume_mark_bodies(volume, solids.pose, solids.count);
  struct light_options light_options = {
      .sky = LIGHT_CLEAR, .up = {0, 1, 0}, .direction = {-0.6, 0.64, 0.48}, .turbidity = 3.0};
  vec_normalize(light_options.direction);
  struct light *light = light_create(NULL, &light_options);
  const struct volume *list[1] = {volume};
  struct trace_stage stage = {.volume = list,
                              .slices = 1,
                              .solids = &solids,
                              .light = light,
                              .similar_after = 10,
                              .draw_chance = 1.0f,
                              .haze = INFINITY};
  trace_set_look(&stage, 0, looks[LOOK_SNOW].albedo, looks[LOOK_SNOW].cosine);
  const double eye[3] = {0.0, 0.08, 0.2}, look_at[3] = {0.0, -0.005, 0.0};
  struct camera camera;
  camera_look(&camera, eye, look_at, up, 32.0);
  const struct film_options film_options = {
      .width = width, .height = height, .least = 16, .most = samples, .target = target, .seed = seed};
  struct film *film = film_render(NULL, &stage, &camera, &film_options);
  mem_free(light);
  solids_destroy(&solids);
  volume_destroy(&volume);
  return film;
}

/* Rays that meet the flat surface of a pool, from above and from the side, and from inside. */
static void test_surface_of_a_pool(void **unused)
{
  (void)unused;
  enum { SIDE = 40, LAYERS = 6 };
  struct volume *pool = make_slab(SIDE, LAYERS, 1.0, 0.0, 0.0); /* all of its inside is filled */
  /* The nodes of the last layer are 5/6 full, those above it 1/6: the level lies between them. */
  const double height = LAYERS - 1 + (5.0 / 6.0 - (double)surface_level) * 1.5;
  for (int k = 0; k < 50; k++) {
    const double slant = 1.5 * uniform((uint64_t)k, 50), turn = 6.28 * uniform((uint64_t)k, 51);
    const double d[3] = {sin(slant) * cos(turn), -cos(slant), sin(slant) * sin(turn)}, high = 10.0 * -d[1];
    const double from[3] = {20.0 - 10.0 * d[0], height + high, 20.0 - 10.0 * d[2]};
    const float direction[3] = {(float)d[0], (float)d[1], (float)d[2]};
    struct surface_ray ray;
    float n[3];
    double distance = 0.0;
    surface_begin(&ray, pool, from, direction);
    assert_false(surface_enter(&ray, 9.9, &distance, n));
    assert_true(surface_enter(&ray, INFINITY, &distance, n));
    assert_true(fabs(distance - 10.0) < 0.02 / -d[1]);
    assert_true(fabsf(n[1] - 1.0f) < 1e-3f);
    assert_false(surface_enter(&ray, INFINITY, &distance, n)); /* it leaves below */
  }
  const double inside[3] = {20.0, 3.0, 20.0};
  const float upward[3] = {0.0f, 1.0f, 0.0f};
  struct surface_ray ray;
  float n[3];
  double distance;
  surface_begin(&ray, pool, inside, upward);
  assert_false(surface_enter(&ray, INFINITY, &distance, n));
  volume_destroy(&pool);
}

/* Fresnel's formula for unpolarised light and index 1.33, and a glint that brings all of its light. */
static void test_mirror(void **unused)
{
  (void)unused;
  double all = 0.0;
  for (int k = 0; k <= 90; k++) {
    const double angle = k * acos(-1.0) / 180.0, c = cos(angle), t = sqrt(1.0 - pow(sin(angle) / 1.33, 2.0));
    const double s = (c - 1.33 * t) / (c + 1.33 * t), p = (t - 1.33 * c) / (t + 1.33 * c);
    assert_true(fabs((double)surface_mirrored((float)c) - 0.5 * (s * s + p * p)) < 0.07);
  }
  for (int i = 0; i < 100000; i++) {
    const double c = (i + 0.5) / 100000.0;
    all += (double)surface_glint((float)c) * 2.0 * acos(-1.0) / 100000.0;
  }
  assert_true(fabs(all - 1.0) < 1e-3);
  assert_true(surface_glint(-0.5f) == 0.0f);
}

static void test_ball_looks_like_snow(void **unused)
{
  (void)unused;
  enum { W = 32, H = 24 };
  struct film *film = render_ball(64, 0.0, 1, W, H);
  const struct film_pixel *lit = &film->pixel[9 * W + 13], *ground = &film->pixel[3 * W + 3];
  const float *shade = film->pixel[15 * W + 17].mean;
  /* Sunlit snow is about as bright as a white card and nearly white; its shaded side is darker and bluer. */
  assert_true(film_luminance(lit->mean) > 0.6f && film_luminance(lit->mean) < 1.8f);
  assert_true(fabsf(lit->mean[2] / lit->mean[0] - 1.0f) < 0.25f);
  assert_true(film_luminance(shade) < 0.8f * film_luminance(lit->mean));
  assert_true(shade[2] / shade[0] > lit->mean[2] / lit->mean[0] + 0.05f);
  assert_true(fabsf(film_luminance(ground->mean) - 0.3f) < 0.06f); /* a card of reflectance 0.3 in the open */
  assert_true(lit->solid == 1.0f && lit->depth > 0.15f && lit->depth < 0.25f);
  film_destroy(&film);
}

/* Mean square distance of two pictures of different seeds. */
static double distance(int samples)
{
  enum { W = 16, H = 12 };
  struct film *a = render_ball(samples, 0.0, 11, W, H), *b = render_ball(samples, 0.0, 12, W, H);
  double sum = 0.0;
  for (int i = 0; i < W * H; i++) {
    const double gap = (double)film_luminance(a->pixel[i].mean) - (double)film_luminance(b->pixel[i].mean);
    sum += gap * gap / (W * H);
  }
  film_destroy(&a);
  film_destroy(&b);
  return sum;
}

static void test_variance_falls_with_samples(void **unused)
{
  (void)unused;
  const double few = distance(16), many = distance(128);
  assert_true(few / many > 8.0 * 0.6); /* 1/samples or better, within what 192 pixels tell */
}

static void test_adaptive_stop(void **unused)
{
  (void)unused;
  enum { W = 32, H = 24 };
  struct film *film = render_ball(256, 0.06, 1, W, H), *exact = render_ball(256, 0.0, 77, W, H);
  double square = 0.0, claimed = 0.0;
  int least = 1 << 30, most = 0;
  for (int i = 0; i < W * H; i++) {
    const struct film_pixel *p = &film->pixel[i];
    const double mean = (double)film_luminance(exact->pixel[i].mean),
                 gap = (double)film_luminance(p->mean) - mean;
    square += gap * gap / ((mean + 0.05) * (mean + 0.05)) / (W * H);
    claimed += (double)(p->error * p->error) / ((mean + 0.05) * (mean + 0.05)) / (W * H);
    least = p->samples < least ? p->samples : least;
    most = p->samples > most ? p->samples : most;
    assert_int_equal(p->samples % SAMPLER_BATCH, 0);
  }
  assert_true(film->samples < (int64_t)W * H * 256 * 3 / 4); /* it does stop */
  assert_true(least >= 16 && least < most);                  /* and not everywhere at once */
  assert_true(sqrt(square) < 0.06);                          /* when it is good enough */
  assert_true(sqrt(claimed) < 0.06);
  film_destroy(&film);
  film_destroy(&exact);
}

/* A card that lies in the open has radiance 1 in all colours: what all exposures refer to. Drawn directions
 * of sky and sun bring the same as an integral over all of them. */
static void test_light_is_metered(void **unused)
{
  (void)unused;
  for (int sky = LIGHT_CLEAR; sky <= LIGHT_GRADIENT; sky++) {
    struct light_options options = {
        .sky = (enum light_sky)sky, .up = {0, 1, 0}, .direction = {0.3, 0.5, -0.2}, .turbidity = 3.0};
    vec_normalize(options.direction);
    struct light *light = light_create(NULL, &options);
    const float shares[] = {sky == LIGHT_OVERCAST ? 0.0f : 0.5f};
    light->sun_share = shares[0];
    double sum[3] = {0.0, 0.0, 0.0};
    const int draws = 200000;
    for (int i = 0; i < draws; i++) {
      struct light_draw draw;
      const float u[2] = {(float)uniform((uint64_t)i, 40), (float)uniform((uint64_t)i, 41)};
      light_draw(light, u, (float)uniform((uint64_t)i, 42), &draw);
      assert_true(draw.density > 0.0f);
      if (draw.sky && i % 64 == 0) {
        const float again = light_sky_density(light, draw.direction);
        assert_true(fabsf(again / draw.density - 1.0f) < 0.3f); /* rounding may put it into the next texel */
      }
      if (draw.direction[1] > 0.0f)
        for (int c = 0; c < 3; c++)
          sum[c] += (double)draw.radiance[c] * (double)draw.direction[1] / (double)draw.density / acos(-1.0) /
                    draws;
    }
    for (int c = 0; c < 3; c++) assert_true(fabs(sum[c] - 1.0) < 0.01);
    mem_free(light);
  }
}

/* A wide sun brings the light of a small one, a strong one more of it; a card that faces a low sun is
 * brighter than one that lies. */
static void test_size_and_strength_of_the_sun(void **unused)
{
  (void)unused;
  double share[3];
  for (int k = 0; k < 3; k++) {
    struct light_options options = {.up = {0, 1, 0},
                                    .direction = {0.87, 0.5, 0.0},
                                    .turbidity = 2.0,
                                    .size = k == 1 ? 5.0 : 0.0,
                                    .strength = k == 2 ? 3.0 : 0.0};
    vec_normalize(options.direction);
    struct light *light = light_create(NULL, &options);
    const double size = acos(-1.0) * (1.0 - (double)light->sun_cosine * (double)light->sun_cosine);
    const double level =
        (double)light->sun_radiance[1] * size * options.direction[1] / acos(-1.0); /* of the card's 1 */
    share[k] = level / (1.0 - level);
    assert_true((double)light->facing > 1.2 && (double)light->facing < 2.2);
    if (k == 1) assert_true(fabs(acos((double)light->sun_cosine) - 2.5 * acos(-1.0) / 180.0) < 1e-4);
    mem_free(light);
  }
  assert_true(fabs(share[1] / share[0] - 1.0) < 0.01);
  assert_true(fabs(share[2] / share[0] - 3.0) < 0.03);
}

/* The ground's unevenness turns normals a little, keeps them unit, and is the same each time; other bodies
 * are even. */
static void test_texture_of_the_ground(void **unused)
{
  (void)unused;
  struct body bodies[3] = {{.name = "snow", .snow_covered = true}, {.name = "bare"}, {.name = "ball"}};
  for (int b = 0; b < 3; b++) {
    bodies[b].shape =
        (struct shape){.kind = b < 2 ? SHAPE_PLANE : SHAPE_SPHERE, .axis = {0, 1, 0}, .radius = 1.0};
    memcpy(bodies[b].shape.axes, identity, sizeof identity);
  }
  const float colors[3][3] = {{0.5f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.5f}};
  struct solids solids;
  solids_create(&solids, bodies, 3, colors, 0.0, 0.0, 1, NULL);
  double turned = 0.0, mottled = 0.0;
  for (int b = 0; b < 3; b++)
    for (int k = 0; k < 500; k++) {
      const double at[3] = {uniform((uint64_t)k, 70), 0.0, uniform((uint64_t)k, 71)};
      double normal[3] = {0.0, 1.0, 0.0}, again[3] = {0.0, 1.0, 0.0};
      float color[3] = {0.5f, 0.5f, 0.5f}, other[3] = {0.5f, 0.5f, 0.5f};
      solids_texture(&solids, 0, b, 0.1, at, normal, color);
      solids_texture(&solids, 0, b, 0.1, at, again, other);
      assert_memory_equal(normal, again, sizeof normal);
      assert_memory_equal(color, other, sizeof color);
      assert_true(fabs(vec_norm(normal) - 1.0) < 1e-12 && normal[1] > 0.7);
      assert_true(b == 0 || normal[1] == 1.0);
      assert_true(b == 1 || color[0] == 0.5f);
      if (b == 0) turned += acos(normal[1]) / 500.0;
      if (b == 1) mottled += fabs((double)color[0] - 0.5) / 500.0;
    }
  assert_true(turned > 0.02 && turned < 0.35 && mottled > 0.002 && mottled < 0.05);
  solids_destroy(&solids);
}

/* The film's curve keeps order, black and white, and lies below the light in deep shade. */
static void test_curve_of_a_film(void **unused)
{
  (void)unused;
  float before = -1.0f;
  for (int k = 0; k <= 1000; k++) {
    const float x = 0.005f * (float)k, y = tone_film(x, 0.6f);
    assert_true(y > before && y >= 0.0f && y < 1.0f);
    assert_true(y <= x);
    before = y;
  }
  assert_true(tone_film(0.0f, 0.6f) == 0.0f && tone_film(0.02f, 0.6f) < 0.011f &&
              tone_film(5.0f, 0.6f) > 0.99f);
}

/* Spheres of ice: 0.25 mm at 400 kg/m^3. */
static void test_extinction_of_grains(void **unused)
{
  (void)unused;
  assert_true(fabs(look_extinction(400.0, 2.5e-4) - looks[LOOK_SNOW].extinction) < 1.0);
  assert_true(fabs(look_extinction(200.0, 5e-4) - looks[LOOK_SNOW].extinction / 4.0) < 1.0);
}

/* The sun's light is worth several times the sky's at noon, and less and redder towards evening (Preetham).
 */
static void test_clear_sky(void **unused)
{
  (void)unused;
  double ratio[2], red[2];
  for (int k = 0; k < 2; k++) {
    const double height = k ? 0.1 : 0.9;
    struct light_options options = {
        .up = {0, 1, 0}, .direction = {sqrt(1.0 - height * height), height, 0.0}, .turbidity = 3.0};
    struct light *light = light_create(NULL, &options);
    const double size = acos(-1.0) * (1.0 - (double)light->sun_cosine * (double)light->sun_cosine);
    const double sun =
        (double)light->sun_radiance[1] * size * height / acos(-1.0); /* of the card's radiance 1 */
    float zenith[3], low[3];
    const float upward[3] = {0.0f, 1.0f, 0.0f}, level[3] = {0.0f, 0.05f, 1.0f};
    light_sky(light, upward, zenith);
    light_sky(light, level, low);
    ratio[k] = sun / (1.0 - sun);
    red[k] = (double)(light->sun_radiance[0] / zenith[0]) / (double)(light->sun_radiance[2] / zenith[2]);
    assert_true(zenith[2] > 1.2f * zenith[0]);                        /* blue above */
    if (k) assert_true(film_luminance(low) > film_luminance(zenith)); /* brighter below */
    assert_true(low[2] / low[0] < zenith[2] / zenith[0]);             /* and paler */
    mem_free(light);
  }
  assert_true(ratio[0] > 2.0 && ratio[0] < 12.0);
  assert_true(ratio[1] < 0.5 * ratio[0]);
  assert_true(red[1] > red[0]);
}

static void test_albedo_of_a_colour(void **unused)
{
  (void)unused;
  for (int k = 1; k < 20; k++) {
    const double wanted = 0.05 * k, albedo = look_albedo(wanted, 0.5);
    assert_true(albedo > 0.0 && albedo < 1.0 && fabs(look_reflectance(albedo, 0.5) - wanted) < 1e-9);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_phase_function),
      cmocka_unit_test(test_quick_functions),
      cmocka_unit_test(test_samples_are_spread),
      cmocka_unit_test(test_neighbours_make_up_for_each_other),
      cmocka_unit_test(test_half_space),
      cmocka_unit_test(test_slabs),
      cmocka_unit_test(test_unscattered),
      cmocka_unit_test(test_uneven_slab),
      cmocka_unit_test(test_majorants_do_not_matter),
      cmocka_unit_test(test_similarity),
      cmocka_unit_test(test_two_ways_to_the_sky),
      cmocka_unit_test(test_white_furnace),
      cmocka_unit_test(test_surface_is_sharp),
      cmocka_unit_test(test_grains_do_not_swim),
      cmocka_unit_test(test_refining_keeps_the_surface),
      cmocka_unit_test(test_inside_takes_no_memory),
      cmocka_unit_test(test_furnace_of_grains),
      cmocka_unit_test(test_surface_of_a_pool),
      cmocka_unit_test(test_mirror),
      cmocka_unit_test(test_ball_looks_like_snow),
      cmocka_unit_test(test_variance_falls_with_samples),
      cmocka_unit_test(test_adaptive_stop),
      cmocka_unit_test(test_light_is_metered),
      cmocka_unit_test(test_clear_sky),
      cmocka_unit_test(test_size_and_strength_of_the_sun),
      cmocka_unit_test(test_texture_of_the_ground),
      cmocka_unit_test(test_curve_of_a_film),
      cmocka_unit_test(test_extinction_of_grains),
      cmocka_unit_test(test_albedo_of_a_colour),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
