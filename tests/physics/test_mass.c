/* Masses of thin things: shells, layers, plates and letters weigh what density times volume say, within 1 %,
 * however thin they are beside the lattices that shapes are measured and sampled with. Sizes are odd, so that
 * no lattice fits. */
#include "seeding/seeding.h"
#include "support/physics.h"

#include <math.h>
#include <stdio.h>

static const double pi = 3.14159265358979323846;

/* Seeds one item, `snow` of the scene, and compares the masses of its materials a, b, c (densities 300, 450,
 * 200 kg/m^3) with these volumes; negative: any. */
static void check_masses(const char *what, double spacing, const char *snow, const double volume[3])
{
  static const double density[3] = {300.0, 450.0, 200.0};
  char text[4096];
  snprintf(
      text, sizeof text,
      "domain: {lower: [%g, %g, %g], cells: [200, 200, 200], spacing: %g}\ntime: {end: 1}\n"
      "materials: {a: {density: 300}, b: {density: 450}, c: {density: 200}}\nsnow:\n  - %s    material: a\n",
      -100.0 * spacing, -100.0 * spacing, -100.0 * spacing, spacing, snow);
  struct scene *scene = NULL;
  struct error err = {0};
  struct particles *p = particles_create(NEEDS_MATERIAL);
  if (scene_parse(&scene, "mass.yml", text, NULL, 0, &err) || scene_load(scene, NULL, &err) ||
      seed_snow(&physics_comm, scene, p, &err))
    fail_msg("%s: %s", what, err.text);
  double mass[3] = {0.0, 0.0, 0.0};
  for (int32_t i = 0; i < p->count; i++) mass[p->material[i]] += p->mass[i];
  for (int k = 0; k < 3; k++) {
    if (volume[k] < 0.0 || (volume[k] == 0.0 && mass[k] == 0.0)) continue;
    const double off = mass[k] / (density[k] * volume[k]) - 1.0;
    print_message("%s, %c: %+.3f %% of %.4g kg, %d particles\n", what, 'a' + k, 100.0 * off,
                  density[k] * volume[k], p->count);
    assert_true(fabs(off) < 0.01);
  }
  particles_destroy(&p);
  scene_destroy(&scene);
}

static void layers_of_a_box(void **state)
{
  (void)state;
  const double depths[] = {0.11, 0.01, 0.0025, 1e-4};
  for (int k = 0; k < 4; k++) {
    char snow[512];
    const double t = depths[k];
    snprintf(
        snow, sizeof snow,
        "box: {lower: [-1, -0.37, -0.53], upper: [1, 0.36, 0.48]}\n    particles: 60000\n    sampling: %s\n"
        "    vary: {layers: [{depth: %g, material: b}, {depth: %g, material: c}]}\n",
        k % 2 ? "sequence" : "jittered", t, 2.5 * t);
    check_masses("layers of a box", 0.02, snow,
                 (const double[]){2.02 * (0.73 - 2.5 * t), 2.02 * t, 2.02 * 1.5 * t});
    snprintf(snow, sizeof snow, /* one that lies deep below */
             "box: {lower: [-1, -0.37, -0.53], upper: [1, 0.36, 0.48]}\n    particles: 60000\n"
             "    vary: {layers: [{depth: 0.3, material: c}, {depth: %.9g, material: b}]}\n",
             0.3 + t);
    check_masses("a layer below another", 0.02, snow, (const double[]){2.02 * (0.43 - t), 2.02 * t, 0.606});
  }
}

static void shell_of_a_ball(void **state)
{
  (void)state;
  const double depths[] = {0.03, 0.003, 3e-4, 1e-5};
  const char *const ways[] = {"particles: 40000",
                              "particles: 40000\n    sampling: random",
                              "particles: 40000\n    sampling: poisson",
                              "per_cell: 37\n    sampling: jittered",
                              "per_cell: 40",
                              "per_cell: 40\n    sampling: sequence"};
  for (int k = 0; k < 4; k++)
    for (int way = 0; way < (k == 2 ? 6 : 1); way++) {
      const double all = 4.0 / 3.0 * pi * 1e-3, inner = 4.0 / 3.0 * pi * pow(0.1 - depths[k], 3.0);
      char snow[512];
      snprintf(snow, sizeof snow,
               "sphere: {center: [0.01, 0.003, 0], radius: 0.1}\n    %s\n"
               "    vary: {shell: {thickness: %g, material: b}}\n",
               ways[way], depths[k]);
      if (k < 3) check_masses("shell of a ball", 0.02, snow, (const double[]){inner, all - inner, 0.0});
      snprintf(snow, sizeof snow,
               "shell: {of: {sphere: {center: [0.01, 0.003, 0], radius: 0.1}}, thickness: %g}\n    %s\n",
               depths[k], k == 3 ? "particles: 20" : ways[way]);
      check_masses("a ball's shell alone", 0.005, snow, (const double[]){all - inner, 0.0, 0.0});
    }
}

/* The depth of a layer is measured straight down, so on any terrain it has its thickness times the footprint;
 * a layer shape is measured across. */
static void crust_of_a_terrain(void **state)
{
  (void)state;
  const char *const forms[] = {"form: slope, height: 2.9", "form: noise, height: 1.3, wavelength: 2.1",
                               "form: bumps, height: 0.4, wavelength: 1.7"};
  for (int k = 0; k < 3; k++) {
    char snow[1024];
    snprintf(snow, sizeof snow,
             "heightfield: {%s, center: [0, 0, 0], size: [10, 3, 9.7], spacing: 0.05}\n    particles: 90000\n"
             "    vary: {layers: [{depth: 0.02, material: b}]}\n",
             forms[k]);
    check_masses("crust of a terrain", 0.1, snow, (const double[]){-1.0, 97.0 * 0.02, 0.0});
  }
  const double stretch = sqrt(1.0 + 0.29 * 0.29);
  const double depths[] = {0.2, 0.02, 1e-3};
  for (int k = 0; k < 3; k++) {
    char snow[1024];
    snprintf(
        snow, sizeof snow,
        "layer: {on: {heightfield: {form: slope, height: 2.9, center: [0, 0, 0], size: [10, 3, 10], spacing: "
        "0.05}}, thickness: %g, within: {box: {lower: [-4.03, -2, -4], upper: [4, 3, 3.9]}}}\n    particles: "
        "500\n",
        depths[k]);
    check_masses("layer on a slope", 0.1, snow, (const double[]){8.03 * 7.9 * stretch * depths[k], 0.0, 0.0});
  }
}

static void tilted_plates(void **state)
{
  (void)state;
  const double depths[] = {0.04, 0.005, 3e-4};
  for (int k = 0; k < 3; k++) {
    const double t = depths[k];
    char snow[1024], plates[512];
    snprintf(
        plates, sizeof plates,
        "union: [{box: {center: [-1, 0, 0], size: [1, 0.8, %g], rotate: {axis: [1, 0.3, 0.2], degrees: 37}}},"
        " {box: {center: [1, 0, 0.2], size: [1.1, %g, 0.7], rotate: {axis: [0.1, 1, 0.7], degrees: 57}}}]\n",
        t, t);
    snprintf(snow, sizeof snow, "%s    particles: 600\n", plates);
    check_masses("tilted plates", 0.02, snow, (const double[]){1.57 * t, 0.0, 0.0});
    snprintf(snow, sizeof snow, "%s    particles: 600\n    vary: {shell: {thickness: %g, material: b}}\n",
             plates, 0.25 * t);
    const double core = (1.0 - 0.5 * t) * (0.8 - 0.5 * t) + (1.1 - 0.5 * t) * (0.7 - 0.5 * t);
    check_masses("shells of tilted plates", 0.02, snow,
                 (const double[]){0.5 * t * core, 1.57 * t - 0.5 * t * core, 0.0});
  }
}

/* All but the crust has the same proportion everywhere in letters, so it tells their volumes. */
static void thin_letters(void **state)
{
  (void)state;
  const double depths[] = {0.1, 0.004, 5e-4};
  double first = 0.0;
  for (int k = 0; k < 3; k++) {
    char text[1024];
    snprintf(text, sizeof text,
             "domain: {lower: [-2, -2, -2], cells: [200, 200, 200], spacing: 0.02}\ntime: {end: 1}\n"
             "materials: {a: {density: 300}, b: {density: 450}}\nsnow:\n"
             "  - text: {says: S, center: [0, 0, 0], height: 0.53, depth: %g, rotate: {axis: [1, 0.4, 0], "
             "degrees: -70}}\n    particles: 3000\n    material: a\n"
             "    vary: {layers: [{depth: %g, material: b}]}\n",
             depths[k], 0.3 * depths[k]);
    struct scene *scene = NULL;
    struct error err = {0};
    struct particles *p = particles_create(NEEDS_MATERIAL);
    if (scene_parse(&scene, "text.yml", text, NULL, 0, &err) || scene_load(scene, NULL, &err) ||
        seed_snow(&physics_comm, scene, p, &err))
      fail_msg("%s", err.text);
    double volume = 0.0, crust = 0.0;
    for (int32_t i = 0; i < p->count; i++) {
      volume += p->mass[i] / (p->material[i] ? 450.0 : 300.0);
      if (p->material[i]) crust += p->mass[i] / 450.0;
    }
    if (k == 0) first = volume / depths[0];
    print_message("letters %g m thin: %+.3f %%, crust %.4f of all\n", depths[k],
                  100.0 * (volume / depths[k] / first - 1.0), crust / volume);
    assert_true(fabs(volume / depths[k] / first - 1.0) < 0.01);
    if (k > 0) assert_true(fabs(crust / volume / (0.3 * sin(70.0 * pi / 180.0) / sqrt(1.16)) - 1.0) < 0.03);
    particles_destroy(&p);
    scene_destroy(&scene);
  }
}

/* Layers win over the shell: what is left of it are the sides and the bottom, and what the top has below the
 * layer. */
static void shell_under_a_layer(void **state)
{
  (void)state;
  const double a = 1.37, b = 0.71, c = 0.94, layers[] = {0.003, 0.02, 0.3}, shells[] = {0.01, 0.004, 0.05};
  for (int k = 0; k < 3; k++) {
    const double l = layers[k], t = shells[k], rest = a * c * (b - l);
    const double core = (a - 2.0 * t) * (c - 2.0 * t) * (b - t - fmax(l, t));
    char snow[512];
    snprintf(snow, sizeof snow,
             "box: {center: [0.1, 0.07, -0.2], size: [%g, %g, %g]}\n    particles: 50000\n"
             "    vary: {layers: [{depth: %g, material: b}], shell: {thickness: %g, material: c}}\n",
             a, b, c, l, t);
    check_masses("shell under a layer", 0.02, snow, (const double[]){core, a * c * l, rest - core});
  }
}

/* On a box and a ball in the air a layer lies on the upward faces, and with `all_around` on every one. Edges
 * of the box have quarters of cylinders above them, corners eighths of balls. */
static void layer_lies_on_top(void **state)
{
  (void)state;
  const double t = 0.07, top = 2.0 * 0.97, sides = 2.0 * (2.0 + 0.97) * 0.61, rim = 2.0 * (2.0 + 0.97),
               r = 0.4;
  const double edge = 0.25 * pi * t * t, ball = 4.0 / 3.0 * pi * t * t * t,
               shell = 4.0 / 3.0 * pi * ((r + t) * (r + t) * (r + t) - r * r * r);
  const double volumes[2][2] = {
      {top * t + rim * edge + 0.5 * ball, (2.0 * top + sides) * t + (2.0 * rim + 4.0 * 0.61) * edge + ball},
      {0.5 * shell, shell}};
  const char *const shapes[2] = {"box: {lower: [-1, -0.3, -0.5], upper: [1, 0.31, 0.47]}",
                                 "sphere: {center: [0.1, 0, 0.03], radius: 0.4}"};
  for (int s = 0; s < 2; s++)
    for (int around = 0; around < 2; around++) {
      char snow[512];
      snprintf(snow, sizeof snow,
               "layer: {on: {%s}, thickness: %g%s, within: {box: {lower: [-2, -2, -2], upper: [2, 2, 2]}}}\n"
               "    particles: 5000\n",
               shapes[s], t, around ? ", all_around: true" : "");
      check_masses("a layer in the air", 0.1, snow, (const double[]){volumes[s][around], 0.0, 0.0});
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(layers_of_a_box),     cmocka_unit_test(shell_of_a_ball),
    cmocka_unit_test(crust_of_a_terrain),  cmocka_unit_test(layer_lies_on_top),
    cmocka_unit_test(tilted_plates),       cmocka_unit_test(thin_letters),
    cmocka_unit_test(shell_under_a_layer),
};
PHYSICS_MAIN(tests);
