/* Materials as scenes describe them: the rows of every model are sound, every key is read, what is written
 * reads back, and what makes no sense is refused with a line that says what to change. */
#include "base/memory.h"
#include "io/scene/scene.h"
#include "io/scene/scene_doubts.h"
#include "io/scene/scene_report.h"
#include "material/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* --- rows -------------------------------------------------------------------------------------------------
 */

/* Names are distinct within a list. */
static void check_distinct(const char *const *names, int count)
{
  for (int a = 0; a < count; a++)
    for (int b = 0; b < a; b++)
      if (!strcmp(names[a], names[b])) fail_msg("'%s' is there twice", names[a]);
}

static void check_key(const struct material_words *words, const struct material_key *key)
{
  static const char *const taken[] = {"model", "kind", "density", "operator"};
  for (size_t k = 0; k < sizeof taken / sizeof *taken; k++) assert_string_not_equal(key->word, taken[k]);
  assert_true(key->at >= 0 && key->at < MATERIAL_VALUES);
  assert_true(!key->needs || !key->needs_not);
  const char *other = key->needs ? key->needs : key->needs_not;
  bool found = !other;
  for (int k = 0; k < words->key_count; k++) found |= other && !strcmp(words->keys[k].word, other);
  assert_true(found);
  if (key->type == MATERIAL_CHOICE) assert_non_null(key->words);
  if (key->type != MATERIAL_NUMBER) return;
  assert_true(material_allows(&key->allowed, key->standard));
  if (key->sensible.low == key->sensible.high) return;
  assert_non_null(key->why);
  assert_true(material_allows(&key->sensible, key->standard));
}

/* A kind differs from the default in what it changes, and is sensible and allowed. */
static void check_kind(enum material_model model, const struct material_kind *kind)
{
  const struct material_words *words = material_words(model);
  struct material m = {.name = "m"};
  const char *key;
  char text[256];
  material_set_defaults(&m, model, kind);
  assert_true(m.density == kind->density && material_allows(&words->sensible_density, m.density));
  assert_true(!words->fits || words->fits(&m, &key, text));
  for (int k = 0; k < words->key_count; k++) {
    const struct material_key *row = &words->keys[k];
    if (row->type != MATERIAL_NUMBER) continue;
    assert_true(material_allows(&row->allowed, m.value[row->at]));
    if (row->sensible.low < row->sensible.high)
      assert_true(material_allows(&row->sensible, m.value[row->at]));
  }
}

static void rows_are_sound(void **state)
{
  (void)state;
  const char *kinds[64], *names[MODEL_COUNT];
  int kind_count = 0;
  for (enum material_model model = 0; model < MODEL_COUNT; model++) {
    const struct material_words *words = material_words(model);
    const char *keys[MATERIAL_VALUES];
    bool used[MATERIAL_VALUES] = {false};
    names[model] = words->name;
    assert_string_equal(words->name, models[model]->name);
    assert_true(words->key_count <= MATERIAL_VALUES && models[model]->constants <= MATERIAL_CONSTANTS);
    for (int k = 0; k < words->key_count; k++) {
      keys[k] = words->keys[k].word;
      assert_false(used[words->keys[k].at]);
      used[words->keys[k].at] = true;
      check_key(words, &words->keys[k]);
    }
    check_distinct(keys, words->key_count);
    for (int k = 0; k < words->kind_count; k++) {
      kinds[kind_count++] = words->kinds[k].name;
      check_kind(model, &words->kinds[k]);
    }
    struct material m = {.name = "m"};
    material_set_defaults(&m, model, NULL);
    if (words->kinds) assert_true(m.density == words->density); /* the default kind is the default */
    assert_true(material_stiffness(&m) > 0.0 && m.flow == words->flows);
  }
  check_distinct(names, MODEL_COUNT);
  check_distinct(kinds, kind_count); /* of all models: a kind implies its model */
}

/* docs/materials.md names every model, kind and key. */
static void pages_name_every_word(void **state)
{
  (void)state;
  struct error err = {0};
  char *page, word[80];
  assert_int_equal(scene_file_text(&page, TEST_SCENES "/../docs/materials.md", &err), 0);
  for (enum material_model model = 0; model < MODEL_COUNT; model++) {
    const struct material_words *words = material_words(model);
    for (int k = -1; k < words->key_count + words->kind_count; k++) {
      const char *name = k < 0                  ? words->name
                         : k < words->key_count ? words->keys[k].word
                                                : words->kinds[k - words->key_count].name;
      snprintf(word, sizeof word, "`%s`", name);
      if (!strstr(page, word)) fail_msg("docs/materials.md does not name %s of %s", word, words->name);
    }
  }
  mem_free(page);
}

/* --- scenes -----------------------------------------------------------------------------------------------
 */

/* A scene with these materials, the first of which there is some of. */
static void write_scene(char text[4096], const char *materials, const char *more)
{
  snprintf(text, 4096,
           "domain: {cells: [50, 50, 50], spacing: 0.02}\ntime: {end: 1}\nmaterials:\n  m: {%s}\n%s"
           "snow: [{sphere: {center: [0.5, 0.5, 0.5], radius: 0.2}}]\n",
           materials, more);
}

static struct scene *parse_text(const char *text)
{
  struct scene *scene = NULL;
  struct error err = {0};
  if (scene_parse(&scene, "s.yml", text, NULL, 0, &err)) fail_msg("%s", err.text);
  return scene;
}

static struct scene *parse(const char *materials, const char *more)
{
  char text[4096];
  write_scene(text, materials, more);
  return parse_text(text);
}

static void refuse(const char *materials, const char *more, const char *message)
{
  char text[4096];
  struct scene *scene = NULL;
  struct error err = {0};
  write_scene(text, materials, more);
  if (scene_parse(&scene, "s.yml", text, NULL, 0, &err) != FIRN_EINPUT) fail_msg("accepted: %s", materials);
  if (!strstr(err.text, message)) fail_msg("expected: %s\n got: %s", message, err.text);
}

/* What the canonical form reads back as, bit for bit; the form itself is then the same. */
static void check_roundtrip(const struct scene *s)
{
  struct scene *again = parse_text(s->resolved);
  assert_memory_equal(again->materials, s->materials, (size_t)s->material_count * sizeof *s->materials);
  assert_string_equal(again->resolved, s->resolved);
  assert_true(again->hash == s->hash);
  scene_destroy(&again);
}

static void defaults_of_models(void **state)
{
  (void)state;
  for (enum material_model model = 0; model < MODEL_COUNT; model++) {
    char given[64];
    struct material wanted = {.name = "m"};
    snprintf(given, sizeof given, "model: %s", material_words(model)->name);
    material_set_defaults(&wanted, model, NULL);
    struct scene *s = parse(given, "");
    assert_memory_equal(&s->materials[0], &wanted, sizeof wanted);
    check_roundtrip(s);
    scene_destroy(&s);
  }
}

static void every_key(void **state)
{
  (void)state;
  struct scene *s = parse("model: sand, density: 1500, young: 1e7, poisson: 0.25, friction_angle: 30, cone: "
                          "slope, cohesion: 100, "
                          "operator: elastic",
                          "");
  const struct material *m = &s->materials[0];
  assert_true(m->model == MODEL_SAND && m->density == 1500.0 && m->sand.young == 1e7 &&
              m->sand.poisson == 0.25);
  assert_true(m->sand.friction_angle == 30.0 && m->sand.cone == CONE_SLOPE && m->sand.cohesion == 100.0 &&
              !m->flow);
  check_roundtrip(s);
  scene_destroy(&s);

  s = parse("model: sand, hardening: true, h0: 40, h1: 8, h2: 0.3, h3: 5",
            "integrator: {scheme: explicit}\n");
  m = &s->materials[0];
  assert_true(m->sand.hardening == 1.0 && m->sand.h0 == 40.0 && m->sand.h1 == 8.0 && m->sand.h2 == 0.3);
  assert_true(m->sand.h3 == 5.0 && m->flow);
  check_roundtrip(s);
  scene_destroy(&s);

  s = parse("kind: warm_plug, young: 2e6, compressive_strength: 1e4, operator: flow", "");
  m = &s->materials[0];
  assert_true(m->model == MODEL_CAM_CLAY && m->cam_clay.critical_slope == 0.5 &&
              m->cam_clay.cohesion_ratio == 1.0);
  assert_true(m->cam_clay.hardening == 0.1 && m->cam_clay.compressive_strength == 1e4 &&
              m->cam_clay.young == 2e6);
  check_roundtrip(s);
  scene_destroy(&s);

  s = parse("model: von_mises, yield_stress: 2e5, hardening: 1e6", "");
  assert_true(s->materials[0].von_mises.yield_stress == 2e5 && s->materials[0].von_mises.hardening == 1e6);
  check_roundtrip(s);
  scene_destroy(&s);

  s = parse("model: water, bulk_modulus: 2e5, exponent: 1, viscosity: 0.1, tension: true",
            "transfer: {scheme: apic}\n");
  m = &s->materials[0];
  assert_true(m->water.bulk_modulus == 2e5 && m->water.exponent == 1.0 && m->water.viscosity == 0.1);
  assert_true(m->water.tension == 1.0);
  check_roundtrip(s);
  scene_destroy(&s);

  s = parse("model: snow, kind: icy, plastic: false", "");
  m = &s->materials[0];
  assert_true(m->model == MODEL_SNOW && m->snow.young == 4.1e5 && m->snow.plastic == 0.0);
  check_roundtrip(s);
  scene_destroy(&s);
}

static void mistakes(void **state)
{
  (void)state;
  refuse("model: snad", "", "materials.m.model: unknown value 'snad'; did you mean 'sand'?");
  refuse("model: sand, kind: powder", "",
         "s.yml:4: materials.m.kind: 'powder' is a kind of snow, and 'model' is sand; remove one of the two");
  refuse("model: von_mises, kind: dry", "", "materials.m.kind: von_mises has no kinds");
  refuse("kind: natural, density: 90", "",
         "s.yml:4: materials.m.density: 'kind: natural' has at least 100 and at most 500 kg/m^3, found 90");
  refuse("kind: natural, thickness: 0.1", "",
         "materials.m.thickness: is a key of 'kind: surface_hoar'; remove it, or choose that kind");
  refuse("kind: surface_hoar, collapse: 0.02", "",
         "materials.m: packing_limit is 2.034; expected more than collapse_strain");
  refuse("model: cam_clay, bond_strain: 0.01", "", "materials.m.bond_strain: has no effect without");
  refuse("kind: natural, bond_strain: 1e-5", "", "bonds would break faster than snow of this stiffness");
  refuse("kind: natural, softening: 2", "",
         "materials.m.softening: with these bonds strength falls too fast");
  refuse("model: cam_clay, packing_limit: 1, hardening: 0", "", "raise 'hardening' to at least 1e-6");
  refuse("model: sand, grain_size: 1e-3, friction_angle: 40", "",
         "materials.m: fast_angle is 32.76 degrees; expected more than friction_angle, which is 40");
  refuse("model: sand, fast_angle: 40", "", "materials.m.fast_angle");
  refuse("model: sand, hardening: true, grain_size: 1e-3", "", "materials.m.grain_size");
  refuse("model: von_mises, rate_exponent: 0.5", "", "materials.m.rate_exponent");
  refuse("model: cam_clay, kind: icey", "", "materials.m.kind: unknown value 'icey'; valid: warm_shear");
  refuse("kind: warm_plugs", "", "did you mean 'warm_plug'?");
  refuse("kind: [icy]", "", "materials.m.kind");
  refuse("model: sand, critical_stretch: 0.1", "",
         "critical_stretch: is a key of snow, and this material is sand");
  refuse("friction_angle: 30", "",
         "is a key of sand, and this material is snow; remove it, or choose 'model: sand'");
  refuse("operator: flow", "", "materials.m.operator: is a key of sand, and this material is snow");
  refuse("model: sand, friction: 30", "", "unknown key");
  refuse("model: sand, friction_angle: 60", "", "expected above 0 and below 60, found 60");
  refuse("model: sand, friction_angle: steep", "", "friction_angle: expected a finite number, found 'steep'");
  refuse("model: sand, cone: stope", "", "did you mean 'slope'?");
  refuse("model: sand, cohesion: -1", "", "cohesion: expected at least 0, found -1");
  refuse("model: sand, hardening: 1", "", "hardening: expected true or false");
  refuse("model: water, exponent: 11", "", "expected at least 1 and at most 10, found 11");
  refuse("model: cam_clay, critical_slope: 3", "", "critical_slope: expected above 0 and below 3");
  refuse(
      "model: cam_clay, young: 1e5", "",
      "a compressive_strength of 30000 Pa is not below a tenth of the bulk modulus, 8333 Pa; raise 'young'");
  refuse("model: cam_clay, critical_slope: 0.1", "", "critical_slope: 3 mu (1 + 2 cohesion_ratio)");
  refuse("model: sand, hardening: true, h3: 40", "",
         "h3: by h0 to h3 the friction angle is -5 degrees at a plastic shear of 0; expected above 0 and "
         "below 60");
  refuse("model: sand, hardening: true, h1: 40", "", "h1: by h0 to h3 the friction angle is");
  refuse("model: neo_hookean, poisson: 0.5", "", "poisson: expected above -1 and below 0.5, found 0.5");
}

static void keys_without_effect(void **state)
{
  (void)state;
  refuse("plastic: false, critical_stretch: 0.1", "",
         "critical_stretch: has no effect with 'plastic: false'");
  refuse("plastic: false, hardening: 5", "", "hardening: has no effect with 'plastic: false'");
  refuse("plastic: false, hardening_limit: 5", "", "hardening_limit: has no effect with 'plastic: false'");
  refuse("hardening: 0, hardening_limit: 5", "", "hardening_limit: has no effect with 'hardening: 0'");
  refuse("model: sand, h0: 30", "", "h0: has no effect with 'hardening: false'");
  refuse("model: sand, hardening: true, friction_angle: 30", "",
         "friction_angle: has no effect with 'hardening: true'");
  refuse("model: sand, operator: flow", "integrator: {scheme: explicit}\n", "operator: has no effect");
  refuse("kind: warm_plug, density: 250, critical_slope: 1, cohesion_ratio: 0, hardening: 1, "
         "compressive_strength: 1e4",
         "", "kind: has no effect beside all the keys that a kind sets");
  refuse("model: water, viscosity: 0.1", "",
         "viscosity: needs the velocity gradient of 'transfer: {scheme: apic}'");
}

/* What hardening did before comes with particles of files: there the keys matter. */
static void history_from_files(void **state)
{
  (void)state;
  const char *const text = "domain: {cells: [50, 50, 50], spacing: 0.02}\ntime: {end: 1}\n"
                           "materials: {m: {plastic: false, hardening: 5, hardening_limit: 7}}\n"
                           "snow: [{file: particles.h5}]\n";
  struct scene *s = parse_text(text);
  assert_true(s->materials[0].snow.hardening == 5.0 && s->materials[0].snow.hardening_limit == 7.0);
  check_roundtrip(s);
  scene_destroy(&s);
}

/* --- firn check -------------------------------------------------------------------------------------------
 */

static void say(void *file, int line, const char *text)
{
  fprintf(file, "%d: %s\n", line, text);
}

static int report(const struct scene *s, char **text)
{
  size_t size;
  FILE *file = open_memstream(text, &size);
  struct scene_estimate e;
  scene_estimate(s, 0, 1, &e);
  scene_report(s, &e, 0, 1, file);
  const int doubts = scene_doubts(s, say, file);
  fclose(file);
  return doubts;
}

/* What is not sensible is said, by the rows; sound limits the steps of water in any scene. */
static void check_says_so(void **state)
{
  (void)state;
  char *text = NULL;
  struct scene *s = parse("model: sand, density: 4000, friction_angle: 5, cohesion: 1e4", "");
  assert_int_equal(report(s, &text), 3);
  assert_non_null(strstr(text, "materials.m.friction_angle is 5, outside the sensible 15 to 45"));
  assert_non_null(strstr(text, "(does not bind: semi-implicit)"));
  free(text);
  scene_destroy(&s);
  for (enum material_model model = 0; model < MODEL_COUNT; model++) {
    char given[64];
    snprintf(given, sizeof given, "model: %s", material_words(model)->name);
    s = parse(given, "");
    struct scene_estimate e;
    scene_estimate(s, 0, 1, &e);
    assert_int_equal(report(s, &text), 0);
    const double speed = sqrt(material_stiffness(&s->materials[0]) / s->materials[0].density);
    assert_true(fabs(e.sound * speed / (0.3 * 0.02) - 1.0) < 1e-12);
    assert_true((e.step == e.sound) == (model == MODEL_WATER && e.sound < 5e-4));
    free(text);
    scene_destroy(&s);
  }
}

static int balanced(void **state)
{
  (void)state;
  return mem_balance() != 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_sound),
      cmocka_unit_test_teardown(pages_name_every_word, balanced),
      cmocka_unit_test_teardown(defaults_of_models, balanced),
      cmocka_unit_test_teardown(every_key, balanced),
      cmocka_unit_test_teardown(mistakes, balanced),
      cmocka_unit_test_teardown(keys_without_effect, balanced),
      cmocka_unit_test_teardown(history_from_files, balanced),
      cmocka_unit_test_teardown(check_says_so, balanced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
