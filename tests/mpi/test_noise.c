/* Noise in snow: it spreads masses and stiffness by no more than it says, keeps the mass of the item, and
 * repeats after its period. What noise is by itself is in unit/test_sampling. */
#include "io/scene/scene.h"
#include "seeding/seeding.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct comm world;

static struct particles *seed(const char *noise)
{
  char text[512];
  snprintf(text, sizeof text,
           "domain: {lower: [-0.5, -0.5, -0.5], cells: [20, 20, 20], spacing: 0.05}\ntime: {end: 1}\n"
           "materials: {snow: {density: 300}}\n"
           "snow:\n  - {box: {lower: [-0.4, -0.4, -0.4], upper: [0.4, 0.4, 0.4]}, particles: 20000, vary: "
           "{noise: %s}}\n",
           noise);
  struct scene *scene = NULL;
  struct error err = {0};
  struct particles *p = particles_create(NEEDS_STIFFNESS);
  CHECK_TEXT(scene_parse(&scene, "noise.yml", text, NULL, 0, &err) == FIRN_OK, err.text);
  CHECK_TEXT(comm_agree(&world, seed_snow(&world, scene, p, &err), &err) == FIRN_OK, err.text);
  scene_destroy(&scene);
  return p;
}

/* Least and largest of an array over all ranks, relative to its mean, and the sum. */
static void range_of(const double *values, int32_t count, double range[2], double *sum)
{
  double all[2] = {INFINITY, -INFINITY};
  int64_t total = count, grains = 0;
  for (int32_t i = 0; i < count; i++) {
    all[0] = fmin(all[0], values[i]);
    all[1] = fmax(all[1], values[i]);
    grains += llround(values[i] * 0x1p40);
  }
  comm_min(&world, &all[0], 1);
  comm_max(&world, &all[1], 1);
  comm_sum_i64(&world, &total, 1);
  comm_sum_i64(&world, &grains, 1);
  *sum = (double)grains * 0x1p-40;
  for (int k = 0; k < 2; k++) range[k] = all[k] * (double)total / *sum;
}

static void check_spread(const char *noise, double of_mass, double of_stiffness)
{
  struct particles *p = seed(noise);
  double mass[2], stiffness[2], sum, mean;
  range_of(p->mass, p->count, mass, &sum);
  range_of(p->stiffness, p->count, stiffness, &mean);
  CHECK(fabs(sum / (300.0 * 0.512) - 1.0) < 1e-6);
  /* Nearly all of what is allowed; the mean is not quite 1, so a little beyond it too. */
  const double spread[2] = {of_mass, of_stiffness}, *range[2] = {mass, stiffness};
  for (int k = 0; k < 2; k++) {
    CHECK(range[k][1] < 1.0 + 1.1 * (spread[k] - 1.0) + 1e-9);
    CHECK(range[k][0] > 1.0 / (1.0 + 1.1 * (spread[k] - 1.0)) - 1e-9);
    if (spread[k] > 1.0)
      CHECK(range[k][1] > 1.0 + 0.6 * (spread[k] - 1.0) &&
            range[k][0] < 1.0 / (1.0 + 0.6 * (spread[k] - 1.0)));
  }
  particles_destroy(&p);
}

/* Whether two seedings of the same points have the same stiffness everywhere. */
static bool same_stiffness(const char *noise, const char *other)
{
  struct particles *a = seed(noise), *b = seed(other);
  CHECK(a->count == b->count);
  double differs = 0.0;
  for (int32_t i = 0; i < a->count; i++) {
    CHECK(a->id[i] == b->id[i] && a->x[0][i] == b->x[0][i]);
    if (a->stiffness[i] != b->stiffness[i]) differs = 1.0;
  }
  comm_max(&world, &differs, 1);
  particles_destroy(&a);
  particles_destroy(&b);
  return differs == 0.0;
}

int main(int argc, char **argv)
{
  check_begin(&argc, &argv);
  comm_create(&world, MPI_COMM_WORLD);
  check_spread("{scale: 0.1, density: 1.2}", 1.2, 1.0);
  check_spread("{scale: 0.1, stiffness: 1.3}", 1.0, 1.3);
  check_spread("{scale: 0.1, stiffness: 1.3, density: 1.1, octaves: 1, seed: 3}", 1.1, 1.3);
  CHECK(same_stiffness("{scale: 0.1, stiffness: 2}", "{scale: 0.1, stiffness: 2, period: 0}"));
  CHECK(!same_stiffness("{scale: 0.1, stiffness: 2}", "{scale: 0.1, stiffness: 2, period: 3}"));
  CHECK(!same_stiffness("{scale: 0.1, stiffness: 2}", "{scale: 0.1, stiffness: 2, seed: 1}"));
  CHECK(!same_stiffness("{scale: 0.1, stiffness: 2}", "{scale: 0.1, stiffness: 2, octaves: 3}"));
  CHECK(!same_stiffness("{scale: 0.1, stiffness: 2}", "{scale: 0.12, stiffness: 2}"));
  comm_destroy(&world);
  return check_end();
}
