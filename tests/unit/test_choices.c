/* What a scene says about its snow beyond a plain shape: sizes and variants, kinds of materials, variation in
 * space, and the window. */
#include "base/memory.h"
#include "io/scene/scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct scene *read_scene(const char *text, int count, const char *const *overrides)
{
  struct error err = {0};
  struct scene *scene = NULL;
  if (scene_parse(&scene, "folder/slope.yml", text, overrides, count, &err)) fail_msg("%s", err.text);
  return scene;
}

static const char *const chosen =
    "sizes:\n"
    "  preview:\n"
    "  large: {domain.spacing: 0.01, domain.cells: [200, 200, 200], "
    "snow.ball.particles: 5000, time.step: 1e-4}\n"
    "variants:\n"
    "  still: {}\n"
    "  thrown: {snow.ball.velocity: [1, 2, 3], snow.ball.particles: 77, bodies.floor: "
    "{plane: {point: [0, 0, 0], normal: [0, 1, 0]}}}\n"
    "domain: {cells: [100, 100, 100], spacing: 0.02}\n"
    "time: {end: 1}\n"
    "snow:\n"
    "  - name: ball\n"
    "    sphere: {center: [1, 1, 1], radius: 0.2}\n"
    "    particles: 100\n";

static void test_first_choices(void **state)
{
  (void)state;
  struct scene *s = read_scene(chosen, 0, NULL);
  assert_true(s->spacing == 0.02 && s->snow[0].count == 100 && s->body_count == 0 && s->step == 0.0);
  assert_string_equal(s->name, "slope");
  assert_string_equal(s->output, "out/slope");
  assert_null(strstr(s->resolved, "sizes"));
  scene_destroy(&s);
}

/* A size comes after a variant, and --set has the last word, wherever it stands. */
static void test_chosen(void **state)
{
  (void)state;
  const char *const overrides[] = {"time.step=2e-4", "size=large", "variant=thrown"};
  struct scene *s = read_scene(chosen, 3, overrides);
  assert_true(s->spacing == 0.01 && s->cells[2] == 200 && s->snow[0].count == 5000 && s->step == 2e-4);
  assert_true(s->snow[0].velocity[2] == 3.0 && s->body_count == 1);
  assert_string_equal(s->name, "slope_thrown_large");
  assert_string_equal(s->output, "out/slope_thrown_large");
  assert_non_null(strstr(s->text, "# --set size=large"));

  /* The canonical form is that scene and no other. */
  struct scene *again = read_scene(s->resolved, 0, NULL);
  assert_true(again->hash == s->hash);
  scene_destroy(&again);
  scene_destroy(&s);
}

static void test_chosen_in_the_file(void **state)
{
  (void)state;
  char text[2048];
  snprintf(text, sizeof text, "size: large\nname: mine\n%s", chosen);
  struct scene *s = read_scene(text, 0, NULL);
  assert_true(s->spacing == 0.01);
  assert_string_equal(s->name, "mine");
  scene_destroy(&s);
}

static void test_kinds(void **state)
{
  (void)state;
  struct scene *s =
      read_scene("domain: {cells: [50, 50, 50], spacing: 0.02}\n"
                 "time: {end: 1}\n"
                 "materials: {a: {}, b: {kind: icy}, c: {kind: powder, density: 250, young: 2e5}}\n"
                 "snow: [{sphere: {center: [0.5, 0.5, 0.5], radius: 0.2}, material: a}]\n",
                 0, NULL);
  const struct material *m = s->materials;
  assert_true(m[0].density == 400.0 && m[0].snow.young == 1.4e5 && m[0].snow.hardening == 10.0 &&
              m[0].snow.critical_compression == 2.5e-2 && m[0].snow.critical_stretch == 7.5e-3);
  assert_true(m[1].snow.young > m[0].snow.young && m[1].snow.hardening > m[0].snow.hardening);
  assert_true(m[2].density == 250.0 && m[2].snow.young == 2e5 && m[2].snow.critical_compression < 2.5e-2 &&
              m[2].snow.critical_stretch < 7.5e-3);
  scene_destroy(&s);
}

static void test_vary(void **state)
{
  (void)state;
  struct scene *s =
      read_scene("domain: {cells: [50, 50, 50], spacing: 0.02}\n"
                 "time: {end: 1}\n"
                 "materials: {soft: {}, hard: {kind: icy}}\n"
                 "snow:\n"
                 "  - sphere: {center: [0.5, 0.5, 0.5], radius: 0.2}\n"
                 "    material: soft\n"
                 "    vary:\n"
                 "      shell: {thickness: 0.05, material: hard, density_factor: 1.2}\n"
                 "      layers: [{depth: 0.01, stiffness_factor: 3}, {depth: 0.02, material: hard}]\n"
                 "      noise: {scale: 0.1, stiffness: 4, period: 8, seed: 7}\n"
                 "  - sphere: {center: [0.5, 0.5, 0.5], radius: 0.1}\n"
                 "    material: hard\n",
                 0, NULL);
  const struct snow_source *a = &s->snow[0], *b = &s->snow[1];
  assert_int_equal(a->zone_count, ZONE_LAYERS + 2);
  assert_true(a->zone[ZONE_SHELL].depth == 0.05 && a->zone[ZONE_SHELL].material == 1 &&
              a->zone[ZONE_SHELL].density == 1.2 && a->zone[ZONE_SHELL].stiffness == 1.0);
  assert_true(a->zone[ZONE_LAYERS].material == 0 && a->zone[ZONE_LAYERS].stiffness == 3.0);
  assert_true(a->zone[ZONE_LAYERS + 1].material == 1 && a->zone[ZONE_LAYERS + 1].depth == 0.02);
  assert_true(a->noise.scale == 0.1 && a->noise.stiffness == 4.0 && a->noise.density == 1.0 &&
              a->noise.period == 8 && a->noise.octaves == 2 && a->noise.seed == 7);
  assert_true(a->sampling == SAMPLING_RANDOM && b->zone_count == ZONE_LAYERS && b->noise.scale == 0.0);
  assert_true(b->zone[ZONE_INSIDE].material == 1 && b->zone[ZONE_SHELL].depth == 0.0);
  struct scene *again = read_scene(s->resolved, 0, NULL);
  assert_memory_equal(again->snow[0].zone, a->zone, sizeof a->zone);
  assert_true(again->hash == s->hash);
  scene_destroy(&again);
  scene_destroy(&s);
}

static void test_window(void **state)
{
  (void)state;
  struct scene *s =
      read_scene("domain: {cells: [500, 50, 50], spacing: 0.02}\n"
                 "time: {end: 1}\n"
                 "snow: [{box: {lower: [0, 0, 0], upper: [9, 0.1, 1]}, sampling: poisson}]\n"
                 "bodies:\n"
                 "  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}\n"
                 "  plow: {box: {center: [8, 0, 0.5], size: [0.1, 0.5, 1]}, velocity: [-3, 0, 0]}\n"
                 "window: {follow: plow, axis: -x, ahead: 2, behind: 0.5}\n",
                 0, NULL);
  assert_true(s->window.given && s->window.body == 1 && s->window.axis == 0 && s->window.direction == -1.0);
  assert_true(s->window.ahead == 2.0 && s->window.behind == 0.5);
  struct scene *again = read_scene(s->resolved, 0, NULL);
  assert_true(again->window.given && again->window.body == 1 && again->hash == s->hash);
  scene_destroy(&again);
  scene_destroy(&s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_first_choices),
      cmocka_unit_test(test_chosen),
      cmocka_unit_test(test_chosen_in_the_file),
      cmocka_unit_test(test_kinds),
      cmocka_unit_test(test_vary),
      cmocka_unit_test(test_window),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  return failed ? failed : mem_balance() != 0;
}
