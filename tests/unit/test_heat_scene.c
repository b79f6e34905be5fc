/* The law of heat, ramps of temperatures, and what a scene says of both. */
#include "base/memory.h"
#include "base/ramp.h"
#include "io/particles/frame_fields.h"
#include "io/scene/scene.h"
#include "io/scene/scene_changes.h"
#include "material/heat_law.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct heat_law law = {
    .melting_point = 273.15, .latent = 334e3, .c_solid = 2100, .c_liquid = 4200, .kappa_liquid = 0.56};

/* The branches, and that they meet at both limits. */
static void the_law(void **state)
{
  (void)state;
  assert_true(heat_temperature(&law, -21e3) == -10.0 && heat_temperature(&law, 334e3 + 42e3) == 10.0);
  assert_true(heat_temperature(&law, 0.0) == 0.0 && heat_temperature(&law, 1e5) == 0.0 &&
              heat_temperature(&law, 334e3) == 0.0);
  assert_true(heat_melted(&law, -1.0) == 0.0 && heat_melted(&law, 167e3) == 0.5 &&
              heat_melted(&law, 1e6) == 1.0);
  assert_true(heat_capacity(&law, -5.0) == 2100.0 && heat_capacity(&law, 167e3) == 3150.0 &&
              heat_capacity(&law, 1e6) == 4200.0);
  assert_true(heat_conductivity(&law, -5.0, 2.0) == 2.0 && heat_conductivity(&law, 1e6, 2.0) == 0.56);
  assert_true(fabs(heat_conductivity(&law, 167e3, 2.0) - 1.28) < 1e-15);
  for (int k = -20; k <= 20; k++) {
    const double u = heat_enthalpy(&law, k, k > 0);
    assert_true(heat_temperature(&law, u) == k);
  }
  assert_true(heat_enthalpy(&law, 0.0, false) == 0.0 && heat_enthalpy(&law, 0.0, true) == 334e3);
}

/* The values of the method's table: snow of 400, ice. */
static void conductivity_of_snow(void **state)
{
  (void)state;
  assert_true(fabs(heat_snow_conductivity(400.0) - 0.375) < 1e-3);
  assert_true(fabs(heat_snow_conductivity(917.0) - 2.01) < 1e-2);
}

static void ramps(void **state)
{
  (void)state;
  const struct ramp_key keys[] = {{1.0, 10.0}, {2.0, 20.0}, {4.0, 0.0}};
  struct ramp ramp;
  ramp_create(&ramp, keys, 3);
  assert_true(ramp_at(&ramp, -5.0) == 10.0 && ramp_at(&ramp, 1.0) == 10.0 && ramp_at(&ramp, 9.0) == 0.0);
  assert_true(ramp_at(&ramp, 1.5) == 15.0 && ramp_at(&ramp, 2.0) == 20.0 && ramp_at(&ramp, 3.0) == 10.0 &&
              ramp_at(&ramp, 4.0) == 0.0);
  ramp_destroy(&ramp);
  assert_int_equal(mem_balance(), 0);
}

#define DOMAIN "domain: {cells: [50, 50, 50], spacing: 0.02}\ntime: {end: 1}\n"
#define BALL   "snow:\n  - sphere: {center: [0.5, 0.5, 0.5], radius: 0.2}\n"

static struct scene *parse(const char *text)
{
  struct scene *scene = NULL;
  struct error err = {0};
  if (scene_parse(&scene, "s.yml", text, NULL, 0, &err)) fail_msg("%s", err.text);
  return scene;
}

/* What is written out reads back as the same scene. */
static struct scene *again(struct scene *scene)
{
  struct scene *second = parse(scene->resolved);
  assert_string_equal(second->resolved, scene->resolved);
  scene_destroy(&scene);
  return second;
}

static void defaults(void **state)
{
  (void)state;
  struct scene *s = again(parse(DOMAIN "heat: {}\n" BALL));
  const struct heat_law *h = &s->heat;
  assert_true(s->has_heat && h->melting_point == 273.15 && h->latent == 334e3 && h->c_solid == 2100.0 &&
              h->c_liquid == 4200.0 && h->kappa_liquid == 0.56 && h->rho_liquid == 1000.0 &&
              h->lambda_liquid == 1e7);
  assert_true(fabs(h->spread_time / (2.0 * sqrt(s->spacing / 9.81)) - 1.0) < 1e-15 &&
              h->spread_threshold == 0.0 && h->heat_mix == 1.0 && h->contact_cells == 1.0 &&
              h->ambient_exchange == 0.0 && h->ambient_temperature == 273.15 && h->tolerance == 1e-8 &&
              h->max_iterations == 500 && h->passes == 3);
  assert_true(!s->snow[0].liquid && s->snow[0].temperature == 273.15 && s->snow[0].conductivity == 0.0);
  assert_true(s->fields == (frame_field("density") | frame_field("jp") | frame_field("mass") |
                            frame_field("temperature") | frame_field("phase")));
  scene_destroy(&s);
  s = parse(DOMAIN BALL);
  assert_false(s->has_heat);
  assert_null(strstr(s->resolved, "heat"));
  assert_null(strstr(s->resolved, "temperature"));
  scene_destroy(&s);
  assert_int_equal(mem_balance(), 0);
}

static void every_key(void **state)
{
  (void)state;
  struct scene *s = again(parse(
      DOMAIN
      "integrator: {scheme: explicit, tolerance: 1e-5, max_iterations: 77}\n"
      "heat:\n"
      "  melting_point: 270\n  latent_heat: 1e5\n  heat_capacity: {solid: 2000, liquid: 4000}\n"
      "  liquid: {density: 900, stiffness: 1e6, conductivity: 1, spread_time: 0.2, spread_threshold: 0.05, "
      "passes: 5}\n"
      "  ambient: {temperature: 290, exchange: 12}\n"
      "  mix: 0.5\n  contact_cells: 2\n  tolerance: 1e-9\n  max_iterations: 90\n"
      "snow:\n"
      "  - {name: pool, box: {lower: [0.1, 0.1, 0.1], upper: [0.9, 0.2, 0.9]}, phase: liquid, temperature: "
      "280, conductivity: 3}\n"
      "  - name: ball\n    sphere: {center: [0.5, 0.5, 0.5], radius: 0.2}\n"
      "    temperature: {keys: [{depth: 0, temperature: 260}, {depth: 0.1, temperature: 265}]}\n"
      "    vary: {shell: {thickness: 0.05, temperature: 250}, noise: {scale: 0.1, temperature: 3}}\n"
      "bodies:\n"
      "  plate: {plane: {point: [0, 0.1, 0], normal: [0, 1, 0]}, temperature: 300, liquid_friction: 0.2}\n"
      "  iron: {sphere: {center: [0.5, 0.5, 0.5], radius: 0.1}, temperature: {keys: [{time: 1, temperature: "
      "300}, {time: 3, temperature: 400}]}}\n"));
  const struct heat_law *h = &s->heat;
  assert_true(s->beta == 0.0 && s->tolerance == 1e-5 && s->max_iterations == 77);
  assert_true(h->melting_point == 270.0 && h->latent == 1e5 && h->c_solid == 2000.0 && h->c_liquid == 4000.0);
  assert_true(h->rho_liquid == 900.0 && h->lambda_liquid == 1e6 && h->kappa_liquid == 1.0 &&
              h->spread_time == 0.2 && h->spread_threshold == 0.05 && h->passes == 5);
  assert_true(h->ambient_temperature == 290.0 && h->ambient_exchange == 12.0 && h->heat_mix == 0.5 &&
              h->contact_cells == 2.0 && h->tolerance == 1e-9 && h->max_iterations == 90);
  assert_true(s->snow[0].liquid && s->snow[0].temperature == 280.0 && s->snow[0].conductivity == 3.0 &&
              s->snow[0].sampling == SAMPLING_JITTERED && scene_density(s, &s->snow[0]) == 900.0);
  assert_true(!s->snow[1].liquid && s->snow[1].by_depth.count == 2 &&
              ramp_at(&s->snow[1].by_depth, 0.05) == 262.5);
  assert_true(s->snow[1].zone[ZONE_SHELL].temperature == 250.0 && s->snow[1].noise.temperature == 3.0);
  assert_true(s->bodies[0].has_temperature && s->bodies[0].liquid_friction == 0.2 &&
              body_temperature(&s->bodies[0], 7.0) == 300.0);
  assert_true(body_temperature(&s->bodies[1], 0.0) == 300.0 &&
              body_temperature(&s->bodies[1], 2.0) == 350.0 && body_temperature(&s->bodies[1], 9.0) == 400.0);
  scene_destroy(&s);
  assert_int_equal(mem_balance(), 0);
}

/* Heat is physics: a restart with other values needs --force. */
static void changes_are_unsafe(void **state)
{
  (void)state;
  struct scene *a = parse(DOMAIN "heat: {}\n" BALL), *b = parse(DOMAIN "heat: {latent_heat: 3e5}\n" BALL),
               *c = parse(DOMAIN BALL);
  struct scene_changes *changes = NULL;
  struct error err;
  assert_int_equal(scene_changes_create(&changes, a->resolved, b->resolved, &err), FIRN_OK);
  assert_true(changes->count == 1 && changes->unsafe == 1);
  assert_string_equal(changes->items[0].path, "heat.latent_heat");
  scene_changes_destroy(&changes);
  assert_int_equal(scene_changes_create(&changes, a->resolved, c->resolved, &err), FIRN_OK);
  assert_true(changes->unsafe > 10);
  scene_changes_destroy(&changes);
  scene_destroy(&a);
  scene_destroy(&b);
  scene_destroy(&c);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_law),   cmocka_unit_test(conductivity_of_snow),
      cmocka_unit_test(ramps),     cmocka_unit_test(defaults),
      cmocka_unit_test(every_key), cmocka_unit_test(changes_are_unsafe),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
