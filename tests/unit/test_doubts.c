/* What `firn check` and `firn run` warn of: each doubt comes where it should, says what to change, and does
 * not come with the scene beside it that is sound. */
#include "base/memory.h"
#include "io/scene/scene_doubts.h"
#include "io/scene/scene_report.h"
#include "sim/first_sound.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DOMAIN "domain: {lower: [-0.3, -0.05, -0.3], cells: [60, 60, 60], spacing: 0.01}\ntime: {end: 0.5}\n"
#define BALL   "snow:\n  - {name: ball, sphere: {center: [0, 0.2, 0], radius: 0.1}}\n"
#define FLOOR  "bodies:\n  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}\n"

struct said {
  char text[8192];
  int lines;
};

static void hear(void *context, int line, const char *text)
{
  struct said *said = context;
  const size_t used = strlen(said->text);
  snprintf(said->text + used, sizeof said->text - used, "%d: %s\n", line, text);
  said->lines++;
}

static int listen(const char *text, struct said *said)
{
  struct scene *scene = NULL;
  struct error err = {0};
  if (scene_parse(&scene, "s.yml", text, NULL, 0, &err)) fail_msg("%s", err.text);
  *said = (struct said){.lines = 0};
  struct scene_estimate e;
  scene_estimate(scene, 0, 1, &e);
  first_sound_refine(scene, &e);
  const int count = scene_doubts(scene, hear, said) + scene_doubt_sound(scene, &e, hear, said);
  scene_destroy(&scene);
  assert_int_equal(mem_balance(), 0);
  return count;
}

/* Exactly one doubt, of this line, with these words. */
static void expect(const char *text, const char *words)
{
  struct said said;
  if (listen(text, &said) != 1 || !strstr(said.text, words))
    fail_msg("%s\nexpected one doubt: %s\ngot:\n%s", text, words, said.text);
}

static void expect_none(const char *text)
{
  struct said said;
  if (listen(text, &said)) fail_msg("%s\nexpected no doubt, got:\n%s", text, said.text);
}

#define FALL(rate, rest)                                                                                     \
  DOMAIN BALL FLOOR                                                                                          \
      "sources: [{name: fall, box: {lower: [-0.1, 0.4, -0.1], upper: [0.1, 0.42, 0.1]}, rate: " rate rest    \
      "}]\n"

/* More than fits through a source at its speed: 400 kg/m^3 x 0.04 m^2 x 1.5 m/s = 24 kg/s. */
static void sources(void **state)
{
  (void)state;
  expect(FALL("100", ", velocity: [0, -1.5, 0]"), "sources.fall: it brings 4 times what fits through it");
  expect("gravity: [0, 0, 0]\n" FALL("1", ""), "sources.fall: its snow does not move away");
  expect_none(FALL("24", ", velocity: [0, -1.5, 0]"));
  expect_none(FALL("1", ""));
  expect_none(DOMAIN
              "materials: {snow: {}, ice: {}}\n"
              "snow:\n  - {name: ball, sphere: {center: [0, 0.2, 0], radius: 0.1}, material: snow}\n" FLOOR
              "sources: [{sphere: {center: [0, 0.4, 0], radius: 0.02}, material: ice, rate: 0.01}]\n");
}

/* Instruments that ask for what the settings cannot resolve. */
static void instruments(void **state)
{
  (void)state;
  expect(DOMAIN BALL "probes: [{name: dot, point: [0, 0.2, 0], radius: 0.004}]\n",
         "probes.dot: a region 0.008 m thin is less than a cell of 0.01 m");
  expect(DOMAIN BALL
         "probes: [{name: pit, profile: {lower: [0, 0, 0], upper: [0.1, 0.1, 0.1], count: 20}}]\n",
         "probes.pit: a region 0.005 m thin");
  expect_none(DOMAIN BALL
              "probes: [{name: dot, point: [0, 0.2, 0]}, {name: pit, profile: {lower: [0, 0, 0], upper: "
              "[0.1, 0.1, 0.1]}}, {name: gate, flux: {point: [0, 0, 0], normal: [0, 1, 0]}}]\n");
  expect(DOMAIN BALL "probes: [{name: far, point: [9, 0.2, 0]}]\n", "probes.far: it is outside the domain");
  expect(DOMAIN BALL "probes: [{name: away, line: {from: [3, 0, 0], to: [4, 0, 0]}}]\n",
         "probes.away: it is outside the domain");
  expect(DOMAIN BALL "probes: [{name: box, inside: {box: {lower: [8, 8, 8], upper: [9, 9, 9]}}}]\n",
         "probes.box: it is outside the domain");
  expect(DOMAIN BALL "probes: [{name: gate, flux: {point: [0, 7, 0], normal: [0, 1, 0]}}]\n",
         "probes.gate: it is outside the domain");
  expect(DOMAIN BALL "output: {probes_every: 100000}\nprobes: [{name: dot, point: [0, 0.2, 0]}]\n",
         "output.probes_every: a line every 100000 steps");
  const char *measured = "bodies: {floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, measure: true}}\n";
  char text[1024];
  snprintf(text, sizeof text, "%s%s%s", DOMAIN BALL, measured, "");
  expect(text, "bodies.floor: in a step of 0.0005 s sound crosses");
  snprintf(text, sizeof text, "%s%s%s", DOMAIN BALL, measured, "integrator: {scheme: explicit}\n");
  expect_none(text);
}

/* Snow that nothing keeps in the domain. */
static void open_faces(void **state)
{
  (void)state;
#define SLICE(cells, lower, upper)                                                                           \
  "domain: {lower: [0, 0, 0], cells: [64, 64, " cells "], spacing: 0.0156}\ntime: {end: 0.3}\n"              \
  "snow: [{box: {lower: [0.3, 0.3, " lower "], upper: [0.6, 0.6, " upper "]}}]\n"
#define WALL(name, z, normal)                                                                                \
  "  " name ": {plane: {point: [0, 0, " z "], normal: [0, 0, " normal "]}, friction: 0}\n"
  expect(SLICE("4", "0", "0.0624") FLOOR,
         "domain: the snow reaches from face to face along z, and the faces");
  expect(SLICE("8", "0", "0.1248"), "hold it with planes of friction 0 that lie inside the domain");
  expect_none(SLICE("8", "0.0312", "0.0936"));
  expect_none(SLICE("8", "0.0312", "0.0936") FLOOR WALL("front", "0.0312", "1") WALL("back", "0.0936", "-1"));
  expect_none(SLICE("8", "0", "0.1248") FLOOR WALL("front", "0", "1") WALL("back", "0.1248", "-1"));
  struct scene *scene = NULL;
  struct error err = {0};
  assert_int_equal(scene_parse(&scene, "s.yml", SLICE("1", "0", "0.0156"), NULL, 0, &err), FIRN_EINPUT);
  assert_non_null(strstr(err.text, "s.yml:1: domain.cells: 1 along z, expected at least 4"));
  assert_non_null(strstr(err.text, "hold the snow between two planes of friction 0"));
}

/* Weight against the bulk modulus of water. */
static void deep_water(void **state)
{
  (void)state;
#define WATER(modulus, height)                                                                               \
  "domain: {lower: [-4, -4, -4], cells: [12, 24, 12], spacing: 1}\ntime: {end: 4}\n"                         \
  "materials: {m: {model: water" modulus "}}\n"                                                              \
  "snow: [{box: {lower: [0, 0, 0], upper: [4, " height ", 4]}, volume: exact}]\n"
  expect(WATER("", "12") FLOOR,
         "materials.m.bulk_modulus: under a head of 12 m the lowest water shrinks by 27 %");
  expect(WATER("", "12") FLOOR, "use about 1e+07 Pa (1 %)");
  expect_none(WATER(", bulk_modulus: 1e7", "12") FLOOR);
}

static void sound_scenes(void **state)
{
  (void)state;
  expect_none(DOMAIN BALL FLOOR);
  expect_none(DOMAIN BALL);
}

static void thin_bodies(void **state)
{
  (void)state;
#define PLATE(size)                                                                                          \
  DOMAIN BALL "bodies:\n  plate: {box: {center: [0, 0.05, 0], size: [0.4, " size ", 0.4]}}\n"
  expect(PLATE("0.012"), "6: bodies.plate: it is about 0.012 m thick, 1.2 cells");
  expect(PLATE("0.001"), "snow may get through what is thinner than two; make it thicker, or domain.spacing");
  expect_none(PLATE("0.022"));
  /* Turned, as a wall of a hollow body, or a wire. */
  expect(DOMAIN BALL
         "bodies:\n  plate: {box: {center: [0, 0.05, 0], size: [0.4, 0.012, 0.4], rotate: {axis: [1, 0, 1], "
         "degrees: 35}}}\n",
         "bodies.plate: it is about 0.01");
  expect(DOMAIN BALL
         "bodies:\n  cup: {shell: {of: {sphere: {center: [0, 0, 0], radius: 0.1}}, thickness: 0.015}}\n",
         "bodies.cup: it is about 0.015 m thick");
  expect(DOMAIN BALL "bodies:\n  wire: {capsule: {from: [-0.2, 0, 0], to: [0.2, 0, 0], radius: 0.004}}\n",
         "bodies.wire: it is about 0.008");
  expect_none(DOMAIN BALL
              "bodies:\n  rod: {capsule: {from: [-0.2, 0, 0], to: [0.2, 0, 0], radius: 0.008}}\n");
  /* Points and edges are thin on any body. */
  expect_none(DOMAIN BALL "bodies:\n  tip: {cone: {from: [0.1, 0, 0], to: [0.1, 0.09, 0], radius: 0.05}}\n"
                          "  edge: {wedge: {center: [-0.1, 0.05, 0], size: [0.12, 0.1, 0.3]}}\n");
  expect_none(
      DOMAIN BALL
      "bodies:\n  land: {heightfield: {center: [0, 0, 0], size: [1, 0.1, 1], form: bumps, height: 0.03, "
      "wavelength: 0.2}}\n");
}

static void snow_in_bodies(void **state)
{
  (void)state;
#define DEEP(y) DOMAIN "snow:\n  - {name: ball, box: {center: [0, " y ", 0], size: [0.2, 0.1, 0.2]}}\n" FLOOR
  expect(DEEP("0.03"),
         "4: snow.ball: about 19 % of it lies inside the body 'floor' and stays there; move one of them");
  expect_none(DEEP("0.05"));
  expect_none(DEEP("0.0495")); /* a twentieth of a cell deep */
  expect_none(DEEP("0.047"));  /* three tenths of a cell: 3 % of it */
  expect(DEEP("0.043"), "snow.ball: about 7 % of it");
  /* A body that comes later is not in the way yet. */
  expect(DOMAIN BALL "bodies:\n  core: {sphere: {center: [0, 0.2, 0], radius: 0.05}}\n",
         "snow.ball: about 12 % of it lies inside the body 'core'");
  expect_none(DOMAIN BALL "bodies:\n  core: {sphere: {center: [0, 0.2, 0], radius: 0.05}, start: 0.1}\n");
  /* A sticky body that holds an end of something elastic is a clamp; one that holds snow is not, nor is one
   * that lets go. */
#define HELD(model, stick)                                                                                   \
  DOMAIN "snow:\n  - {name: rope, box: {center: [0, 0.2, 0], size: [0.2, 0.05, 0.05]}}\n"                    \
         "materials: {m: {model: " model "}}\n"                                                              \
         "bodies:\n  hand: {sphere: {center: [0.1, 0.2, 0], radius: 0.05}" stick "}\n"
  expect_none(HELD("neo_hookean", ", sticky: true"));
  expect_none(HELD("corotated", ", sticky: true"));
  expect(HELD("snow", ", sticky: true"), "snow.rope: about 2");
  expect(HELD("neo_hookean", ""), "snow.rope: about 2");
}

/* Elastic balls on rough bodies. Snow is not meant: it does not keep its form. */
static void rolling(void **state)
{
  (void)state;
#define ROLL(model, radius, rough, contact)                                                                  \
  DOMAIN "snow:\n  - {name: ball, sphere: {center: [0, 0.2, 0], radius: " radius "}}\n"                      \
         "materials: {m: {model: " model ", density: 400}}\n"                                                \
         "integrator: {contact: " contact "}\n"                                                              \
         "bodies:\n  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, " rough "}\n"
  const char *const stopped = "snow.ball: contact by nodes keeps what is round from rolling";
  expect(ROLL("neo_hookean", "0.1", "friction: 0.5", "nodes"), stopped);
  expect(ROLL("von_mises", "0.05", "friction: 0.5", "nodes"), stopped);
  expect(ROLL("neo_hookean", "0.05", "friction: 0.5", "gap"), "with a radius of 5 cells it rolls too slowly");
  expect_none(ROLL("neo_hookean", "0.1", "friction: 0.5", "gap"));
  expect_none(ROLL("neo_hookean", "0.1", "friction: 0", "nodes"));
  expect_none(ROLL("neo_hookean", "0.1", "sticky: true", "nodes"));
  expect_none(ROLL("snow", "0.1", "friction: 0.5", "nodes"));
}

/* Default snow has a sound of 20 m/s. At 1 m/s and a friction of 0.5 a push reaches 4 m ahead; in 0.1 s a
 * wave comes back from 1 m. */
static void window_ends(void **state)
{
  (void)state;
#define PLOUGH(end, ahead, measure)                                                                          \
  "domain: {lower: [-1.3, -0.08, -0.2], cells: [290, 25, 20], spacing: 0.02, slab_axis: y}\n"                \
  "time: {end: " end                                                                                         \
  ", max_step: 2e-4}\nsnow:\n  - {box: {lower: [-1.2, 0, -0.1], upper: [4.4, 0.1, 0.1]}, sampling: "         \
  "jittered}\nbodies:\n  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, friction: 0.5}\n"             \
  "  blade: {box: {lower: [-0.5, 0.04, -0.2], upper: [-0.44, 0.3, 0.2]}, velocity: [1, 0, 0]" measure        \
  "}\nwindow: {follow: blade, axis: x, ahead: " ahead ", behind: 0.4}\n"
  expect(PLOUGH("1", "0.5", ", measure: true"), "window.ahead: snow that ends 0.5 m ahead slides away");
  expect(PLOUGH("1", "3.5", ", measure: true"), "take 4 m");
  expect_none(PLOUGH("1", "4.1", ", measure: true"));
  expect_none(PLOUGH("0.1", "1.1", ", measure: true"));
  expect_none(PLOUGH("1", "0.5", ""));
}

/* Steps in which sound crosses many cells, on a body that rubs: von_mises has a sound of 128 m/s. */
static void strong_friction(void **state)
{
  (void)state;
#define STIFF(spacing, more)                                                                                 \
  "domain: {lower: [0, 0, 0], cells: [60, 60, 60], spacing: " spacing "}\ntime: {end: 0.1}\n"                \
  "materials: {m: {model: von_mises}}\nsnow: [{box: {lower: [0.03, 0.03, 0.03], upper: [0.06, 0.06, "        \
  "0.06]}}]\n" more
#define ROUGH(friction) "bodies: {floor: {plane: {point: [0, 0.03, 0], normal: [0, 1, 0]}" friction "}}\n"
  const char *const words =
      "time: in a step of 0.0005 s sound crosses 15.9 cells, so friction on bodies is too";
  expect(STIFF("0.004", ROUGH("")), words);
  expect(STIFF("0.004", ROUGH("")), "set integrator.friction to whole, or time.max_step to 0.00031 or less");
  expect(STIFF("0.004", ROUGH(", sticky: true, sticky_above: 60, friction: 0.5")), words);
  expect(STIFF("0.004", ROUGH("") "integrator: {contact: gap}\n"), "set time.max_step to 0.00031 or less");
  expect_none(STIFF("0.008", ROUGH("")));
  expect_none(STIFF("0.004", ROUGH(", friction: 0")));
  expect_none(STIFF("0.004", ROUGH(", sticky: true")));
  expect_none(STIFF("0.004", ""));
  expect_none(STIFF("0.004", ROUGH("") "integrator: {friction: whole}\n"));
  expect_none(STIFF("0.004", ROUGH("") "integrator: {scheme: explicit}\n"));
}

/* FLIP holds sand, so apic is its default. */
static void sand(void **state)
{
  (void)state;
#define DUNE(transfer)                                                                                       \
  DOMAIN "snow:\n  - {box: {lower: [-0.1, 0, -0.1], upper: [0.1, 0.1, 0.1]}}\n"                              \
         "materials: {m: {model: sand}}\n" FLOOR transfer
  const char *const words = "transfer.scheme: flip stops sand too soon";
  expect_none(DUNE(""));
  expect_none(DUNE("transfer: {force: mls}\n"));
  expect_none(DUNE("transfer: {scheme: pic}\n"));
  expect(DUNE("transfer: {scheme: flip}\n"), words);
  expect(DUNE("transfer: {flip_fraction: 0.99}\n"), words);
}

/* A drum that turns with sand in it. */
static void drums(void **state)
{
  (void)state;
#define DRUM(model, more)                                                                                    \
  DOMAIN                                                                                                     \
  "snow:\n  - {box: {lower: [-0.05, 0.16, -0.05], upper: [0.05, 0.2, 0.05]}}\n"                              \
  "materials: {m: {model: " model "}}\nbodies:\n  drum: {difference: [{box: {lower: [-0.12, 0.09, "          \
  "-0.12], upper: [0.12, 0.32, 0.12]}}, {cylinder: {from: [0, 0.2, -0.2], to: [0, 0.2, 0.2], radius: "       \
  "0.08}}]" more "}\n"
  const char *const words = "bodies.drum: sand in a body that turns stands too steep";
  expect(DRUM("sand", ", pivot: [0, 0.2, 0], spin: [0, 0, 1]"), words);
  expect(DRUM("sand", ", pivot: [0, 0.2, 0], motion: {keys: [{time: 0}, {time: 1, rotate: {axis: [0, 0, 1], "
                      "degrees: 60}}]}"),
         words);
  expect_none(DRUM("snow", ", pivot: [0, 0.2, 0], spin: [0, 0, 1]"));
  expect_none(DRUM("sand", ""));
  expect_none(DRUM("sand", ", motion: {keys: [{time: 0}, {time: 1, move: [0, 0.1, 0]}]}"));
  expect_none(DOMAIN "snow:\n  - {box: {lower: [-0.1, 0, -0.1], upper: [0.1, 0.1, 0.1]}}\n"
                     "materials: {m: {model: sand}}\n"
                     "bodies: {stirrer: {box: {lower: [-0.1, 0.11, -0.02], upper: [0.1, 0.2, 0.02]}, "
                     "spin: [0, 1, 0]}}\n");
}

/* Solids in liquid: what floats there, lies on it or comes slowly. */
static void floating(void **state)
{
  (void)state;
#define FLOAT(lower, upper, more)                                                                            \
  "domain: {lower: [-0.04, -0.04, -0.04], cells: [19, 40, 19], spacing: 0.01}\ntime: {end: 0.5}\n"           \
  "heat: {liquid: {stiffness: 2e5, conductivity: 2000}}\nsnow:\n"                                            \
  "  - {name: pool, difference: [{box: {lower: [0, 0, 0], upper: [0.1, 0.08, 0.1]}}, "                       \
  "{box: {lower: " lower ", upper: " upper "}}], phase: liquid}\n"                                           \
  "  - {name: cube, box: {lower: " lower ", upper: " upper "}, conductivity: 1000" more "}\n" FLOOR
  const char *const words = "snow.cube: what floats rises and sinks too slowly";
  expect(FLOAT("[0.03, 0.03, 0.03]", "[0.07, 0.07, 0.07]", ""), words);
  expect(FLOAT("[0.03, 0.03, 0.03]", "[0.07, 0.07, 0.07]", ""), "Here it has 4;");
  expect(FLOAT("[0.03, 0.08, 0.03]", "[0.07, 0.12, 0.07]", ""), words);
  expect(FLOAT("[0.03, 0.1, 0.03]", "[0.07, 0.14, 0.07]", ", velocity: [0, -1, 0]"), words);
  expect_none(FLOAT("[0.03, 0.1, 0.03]", "[0.07, 0.14, 0.07]", ", velocity: [0, -3, 0]")); /* plunges in */
  expect_none(FLOAT("[0, 0.08, 0]", "[0.1, 0.12, 0.1]", ""));                              /* a lid */
  expect_none("gravity: [0, 0, 0]\n" FLOAT("[0.03, 0.03, 0.03]", "[0.07, 0.07, 0.07]", ""));
  /* The model water shares velocities as well. */
  expect(
      "domain: {lower: [-0.04, -0.04, -0.04], cells: [19, 40, 19], spacing: 0.01}\ntime: {end: 0.5}\n"
      "materials: {water: {model: water}, ice: {kind: icy}}\nsnow:\n"
      "  - {name: pool, box: {lower: [0, 0, 0], upper: [0.1, 0.08, 0.1]}, material: water}\n"
      "  - {name: cube, box: {lower: [0.03, 0.08, 0.03], upper: [0.07, 0.12, 0.07]}, material: ice}\n" FLOOR,
      words);
}

static void overlapping_snow(void **state)
{
  (void)state;
#define TWO(x)                                                                                               \
  DOMAIN "snow:\n  - {name: a, box: {lower: [-0.2, 0, -0.1], upper: [0, 0.2, 0.1]}}\n"                       \
         "  - {name: b, box: {lower: [" x ", 0, -0.1], upper: [0.1, 0.2, 0.1]}}\n"
  expect(TWO("-0.1"),
         "5: snow.a and snow.b overlap: about 51 % of 'b' lies in the other, where mass counts twice");
  expect_none(TWO("0"));
}

static void bodies_out_of_reach(void **state)
{
  (void)state;
  expect(DOMAIN BALL "bodies:\n  floor: {plane: {point: [0, -0.1, 0], normal: [0, 1, 0]}}\n",
         "6: bodies.floor: it never is in the domain");
  expect(DOMAIN BALL "bodies:\n  wall: {box: {lower: [1, 0, 0], upper: [2, 1, 1]}}\n",
         "so that no snow can touch it");
  expect_none(DOMAIN BALL
              "bodies:\n  wall: {sphere: {center: [2, 0.1, 0], radius: 0.1}, velocity: [-5, 0, 0]}\n");
  expect(DOMAIN BALL
         "bodies:\n  wall: {sphere: {center: [2, 0.1, 0], radius: 0.1}, velocity: [-5, 0, 0], end: 0.2}\n",
         "bodies.wall: it never is in the domain");
  expect(DOMAIN BALL "bodies:\n  late: {sphere: {center: [0, 0.02, 0], radius: 0.05}, start: 0.5}\n",
         "bodies.late: it comes at 0.5 s, and the run ends at 0.5 s");
}

static void centimetres(void **state)
{
  (void)state;
#define LARGE(end, velocity, more)                                                                           \
  "domain: {lower: [-100, -5, -100], cells: [200, 100, 200], spacing: 1}\ntime: {end: " end "}\n"            \
  "snow:\n  - {sphere: {center: [0, 30, 0], radius: 10}, velocity: [0, " velocity ", 0]}\n" more
  expect(LARGE("0.5", "-200", ""),
         "4: snow.snow-0: it moves at 200 m/s; is the scene in centimetres? Write metres");
  expect(LARGE("0.5", "0", ""),
         "0: snow of 20 m moves by 1.2 m at most in the 0.5 s of the run; is the scene in");
  expect(LARGE("0.5", "0", "gravity: [0, -981, 0]\n"), "gravity: 981 m/s^2; lengths are in metres");
  expect_none(LARGE("5", "-30", "")); /* an avalanche */
}

static void materials(void **state)
{
  (void)state;
  struct said said;
  assert_int_equal(listen(DOMAIN BALL
                          "materials: {odd: {density: 2000, young: 1e8, poisson: 0.45, hardening: 0}}\n",
                          &said),
                   4);
  assert_non_null(strstr(said.text, "materials.odd.young is 1e+08, outside the sensible 1400 to 500000"));
  expect(DOMAIN
         "snow:\n  - {sphere: {center: [0, 0.2, 0], radius: 0.1}, material: a}\nmaterials: {a: {}, b: {}}\n",
         "materials.b: no snow is made of it");
  expect(DOMAIN "snow:\n  - {sphere: {center: [0, 0.2, 0], radius: 0.1}, per_cell: 1}\n",
         "4: snow.snow-0: 1 particles per cell; below 4 it falls apart");
}

/* A fixed step that is too long for sound, in the snow as the run will weigh it. */
/* Drag below all that is in use; a viscosity that the transfer hides. */
static void flows(void **state)
{
  (void)state;
  static const char ground[] =
      "bodies:\n  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, turbulence: ";
  char text[1024];
  snprintf(text, sizeof text, DOMAIN BALL "%s 20}\n", ground);
  expect(text, "bodies.floor: a turbulence of 20 m/s^2 is below all that is in use");
  snprintf(text, sizeof text, DOMAIN BALL "%s 1000}\n", ground);
  expect_none(text);
  static const char ice[] = "materials: {ice: {model: von_mises, relaxation_time: 1e-4}}\n";
  snprintf(text, sizeof text, DOMAIN BALL "%stransfer: {scheme: flip}\n", ice);
  expect(text, "materials.ice: its viscosity is 3.33 Pa s, and the transfer adds at least");
  snprintf(text, sizeof text, DOMAIN BALL "%stransfer: {scheme: apic}\n", ice);
  expect_none(text);
}

static void fixed_steps(void **state)
{
  (void)state;
#define FIXED(step, box, volume)                                                                             \
  "domain: {cells: [60, 60, 60], spacing: 0.01}\ntime: {end: 0.5, step: " step "}\n"                         \
  "integrator: {scheme: explicit}\nsnow:\n  - {box: {lower: [0.1, 0.1, 0.1], upper: [0.3, " box              \
  ", 0.3]}, volume: " volume "}\n"
  expect(FIXED("2e-3", "0.3", "exact"), "time.step: 0.002 s is beyond the sound limit of 0.000152 s");
  expect_none(FIXED("1.5e-4", "0.3", "exact"));
  expect_none(FIXED("1.5e-4", "0.102", "exact"));
  expect(FIXED("1.5e-4", "0.102", "estimated"), "volume: exact allows longer steps");
  expect_none(FIXED("2.5e-5", "0.102", "estimated"));
}

/* Thousands of doubts are not thousands of lines, and do not take minutes. */
static void many(void **state)
{
  (void)state;
  enum { ITEMS = 4000, SIZE = 1 << 20 };
  char *text = mem_alloc(SIZE, 1), *at = text + sprintf(text, DOMAIN FLOOR "snow:\n");
  for (int k = 0; k < ITEMS; k++)
    at += sprintf(at, "  - {sphere: {center: [%d.0e-2, 0.2, %d.0e-2], radius: 0.03}}\n", k % 40 - 20,
                  k / 40 % 40 - 20);
  struct scene *scene = NULL;
  struct error err = {0};
  if (scene_parse(&scene, "s.yml", text, NULL, 0, &err)) fail_msg("%s", err.text);
  struct said said = {.lines = 0};
  const int count = scene_doubts(scene, hear, &said);
  assert_true(count > 20 && said.lines == 21);
  assert_non_null(strstr(said.text, "more like these"));
  struct scene_estimate e;
  scene_estimate(scene, 0, 1, &e);
  assert_true(e.particles > 1e5 && e.nodes > 1e5);
  scene_destroy(&scene);
  mem_free(text);
}

/* Half a second of a ball and a pool 10 cm deep, with conduction hurried so that it crosses cells. */
static void heat(void **state)
{
  (void)state;
#define WARM(heat, ball, step)                                                                               \
  "domain: {lower: [-0.3, -0.05, -0.3], cells: [60, 60, 60], spacing: 0.01}\ntime: {end: 0.5" step "}\n"     \
  "heat: {" heat "}\nsnow:\n"                                                                                \
  "  - {name: pool, box: {lower: [-0.2, 0, -0.2], upper: [0.15, 0.1, 0.2]}, phase: liquid}\n"                \
  "  - {name: ball, sphere: {center: [0.24, 0.2, 0], radius: 0.05}, " ball "}\n"
#define LIQUID "liquid: {stiffness: 3e5, conductivity: 2000}"
  expect_none(WARM(LIQUID, "conductivity: 1000", ""));
  expect(WARM("liquid: {stiffness: 3e5}", "conductivity: 1", "") FLOOR, "less than a cell of 0.01 m");
  expect(WARM("liquid: {stiffness: 1e4, conductivity: 2000}", "conductivity: 1000", ""),
         "heat.liquid.stiffness: under a head of 0.25 m the liquid shrinks by 25 %; use about 2e+05 Pa");
  expect(WARM("liquid: {stiffness: 1e9, conductivity: 2000}", "conductivity: 1000", ""),
         "heat.liquid.stiffness: 1e+09 Pa is far more than a head of 0.25 m needs");
  expect(WARM(LIQUID, "conductivity: 1e6", ", step: 5e-4"), "time.step: in 0.0005 s heat crosses more than");
  expect(WARM(LIQUID, "conductivity: 1000, temperature: 20", ""), "snow.ball.temperature: 20 K is colder");
  expect(WARM(LIQUID ", ambient: {exchange: 5, temperature: 20}", "conductivity: 1000", ""),
         "heat.ambient.temperature: 20 K is colder");
  /* Water in water: its mass counts twice. */
  expect(WARM(LIQUID, "conductivity: 1000",
              "") "  - {box: {lower: [-0.1, 0, -0.1], upper: [0.1, 0.05, 0.1]}, phase: liquid}\n",
         "snow.pool and snow.snow-2 overlap");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sound_scenes),
      cmocka_unit_test(open_faces),
      cmocka_unit_test(deep_water),
      cmocka_unit_test(sources),
      cmocka_unit_test(instruments),
      cmocka_unit_test(thin_bodies),
      cmocka_unit_test(snow_in_bodies),
      cmocka_unit_test(rolling),
      cmocka_unit_test(window_ends),
      cmocka_unit_test(strong_friction),
      cmocka_unit_test(sand),
      cmocka_unit_test(floating),
      cmocka_unit_test(drums),
      cmocka_unit_test(overlapping_snow),
      cmocka_unit_test(bodies_out_of_reach),
      cmocka_unit_test(centimetres),
      cmocka_unit_test(materials),
      cmocka_unit_test(flows),
      cmocka_unit_test(fixed_steps),
      cmocka_unit_test(many),
      cmocka_unit_test(heat),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
