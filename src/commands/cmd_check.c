/* `firn check`: is the scene sound, and what will it cost? Starts no MPI and writes nothing. */
#include "base/json.h"
#include "base/memory.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "decomposition/slabs.h"
#include "io/scene/scene_doubts.h"
#include "io/scene/scene_report.h"
#include "predict/calibrate.h"
#include "predict/time_model.h"
#include "run/launch.h"
#include "sim/first_sound.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char head[] =
    "usage: firn check SCENE.yml [OPTIONS]\n"
    "\n"
    "Validates the scene. Prints particles, active nodes, memory per rank, limits of the time step,\n"
    "number of steps, frames, disk space, and the time on one core from a short calibration.\n"
    "\n"
    "Warns of input that is valid but probably not intended, and says what to change: unusual materials,\n"
    "snow inside a body or in other snow, bodies thinner than two cells or outside the domain,\n"
    "centimetres instead of metres, more memory than this machine has.\n"
    "\n";

struct options {
  struct launch_options launch;
  int64_t ranks, threads, per_node; /* 0: not given */
  const char *machine;
  const struct model_link *link;
  bool json, help;
};

static int take_set(void *into, const struct option_row *row, const char *text, struct error *err)
{
  (void)row;
  return launch_add_override(&((struct options *)into)->launch, text, err);
}

static int take_network(void *into, const struct option_row *row, const char *text, struct error *err)
{
  (void)row;
  return model_read_link("check", text, &((struct options *)into)->link, err);
}

static const struct option_row option_rows[] = {
    {"set", "KEY=VALUE", "override a key of the scene; may be given several times", OPTION_CALL(take_set)},
    {"json", NULL, "print the same numbers and warnings as JSON; not with --ranks",
     OPTION_FLAG(struct options, json)},
    {"ranks", "N", "print what to request from the queue for N ranks: nodes, memory, hours",
     OPTION_COUNT(struct options, ranks, 1, 1000000)},
    {"threads", "N", "threads per rank (1, or as measured)",
     OPTION_COUNT(struct options, threads, 1, MAX_THREADS)},
    {"per-node", "N", "ranks per node (as many as --ranks, or as measured)",
     OPTION_COUNT(struct options, per_node, 1, 100000)},
    {"machine", "FILE",
     "the speed of the real machine, from firn model --save (default: that of this machine, timed just now)",
     OPTION_TEXT(struct options, machine)},
    {"network", "ethernet25|omnipath|hdr|slingshot",
     "network between nodes (default: as measured with --machine, else hdr)", OPTION_CALL(take_network)},
};

static const struct option_table known = {"check", head, option_rows,
                                          sizeof option_rows / sizeof *option_rows, NULL};

static int read_options(int argc, char **argv, struct options *o, struct error *err)
{
  struct option_words words;
  *o = (struct options){.help = false};
  const int code = options_read(&known, argc, argv, o, &words, err);
  o->help = words.help;
  if (code || o->help) return code;
  if (words.count != 1) return error_set(err, FIRN_EINPUT, "check: give exactly one scene file");
  o->launch.scene_path = words.word[0];
  if (o->json && o->ranks) return error_set(err, FIRN_EINPUT, "check: --json is not for --ranks");
  if (!o->ranks && (o->threads || o->per_node || o->machine || o->link))
    return error_set(err, FIRN_EINPUT,
                     "check: --threads, --per-node, --machine and --network are for --ranks N");
  return FIRN_OK;
}

static void print_warning(void *path, int line, const char *text)
{
  if (line > 0)
    printf("  warning: %s:%d: %s\n", (const char *)path, line, text);
  else
    printf("  warning: %s: %s\n", (const char *)path, text);
}

static void add_warning(void *context, int line, const char *text)
{
  struct json *json = context;
  json_open(json, NULL, '{');
  json_integer(json, "line", line);
  json_text(json, "text", text);
  json_close(json, '}');
}

/* A step at the start. Snow of files is not in the profile: it counts as the rest of the snow does. */
static struct model_time predict(const struct scene *scene, const struct scene_estimate *e,
                                 const struct model_speed *speed, const struct network *network,
                                 const struct model_link *link, struct model_case *c)
{
  struct profile *profile = profile_of_scene(scene, 1.0);
  struct model_time time = {0};
  if (scene->has_heat) c->iterations = fmax(c->iterations, e->iterations);
  model_predict(profile, speed, network, link, c, &time);
  const double counted = (double)profile->all_particles;
  time.step *= counted > 0.0 ? fmax(1.0, e->particles / counted) : 0.0;
  profile_destroy(&profile);
  return time;
}

/* Seconds of the run on one core of this machine: with the steps of the start, and once snow has hardened. */
static void guess_seconds(const struct scene *scene, const struct scene_estimate *e, double seconds[2])
{
  const struct model_speed speed = calibrate(scene->beta > 0.0);
  const struct network network = {.ranks = 0};
  struct model_case c = model_case_of(scene, &speed);
  c.ranks = c.per_node = 1;
  const double step = predict(scene, e, &speed, &network, NULL, &c).step;
  seconds[0] = step * e->steps;
  seconds[1] = step * e->hardened;
}

static void print_duration(double seconds)
{
  if (seconds < 90.0)
    printf("%.2g s", fmax(seconds, 0.1));
  else if (seconds < 5400.0)
    printf("%.0f min", seconds / 60.0);
  else if (seconds < 2.0 * 86400.0)
    printf("%.1f h", seconds / 3600.0);
  else
    printf("%.0f days", seconds / 86400.0);
}

static void print_time(const struct scene *scene, const struct scene_estimate *e)
{
  double seconds[2];
  guess_seconds(scene, e, seconds);
  if (!(seconds[0] > 0.0)) return; /* all snow is in files: nothing is known of its cells */
  printf("  time       about ");
  print_duration(seconds[0]);
  if (seconds[1] > 1.5 * seconds[0]) {
    printf(", up to ");
    print_duration(seconds[1]);
  }
  printf(" on one core of this machine, timed just now; firn model measures the scene itself\n");
}

static void print_json(const struct scene *scene, const struct scene_estimate *e)
{
  static const char *const from[] = {[SOUND_KNOWN] = "densities",
                                     [SOUND_SEEDED] = "particles",
                                     [SOUND_BOUND] = "bound",
                                     [SOUND_GUESSED] = "guess"};
  struct json json = {0};
  char hash[32];
  double seconds[2];
  guess_seconds(scene, e, seconds);
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)scene->hash);
  json_open(&json, NULL, '{');
  json_text(&json, "scene", scene->path);
  json_text(&json, "hash", hash);
  json_open(&json, "cells", '[');
  for (int d = 0; d < 3; d++) json_integer(&json, NULL, scene->cells[d]);
  json_close(&json, ']');
  json_number(&json, "spacing", scene->spacing);
  json_number(&json, "particles", e->particles);
  json_bool(&json, "particles_exact", e->exact);
  json_number(&json, "nodes", e->nodes);
  json_number(&json, "memory", e->bytes);
  json_number(&json, "advection_limit", e->advection);
  json_number(&json, "gravity_limit", e->gravity);
  json_number(&json, "sound_limit", e->sound);
  json_text(&json, "sound_from", from[e->sound_from]);
  json_bool(&json, "sound_binds", e->sound_binds);
  json_number(&json, "step", e->step);
  json_number(&json, "steps", e->steps);
  json_number(&json, "steps_hardened", e->hardened);
  json_number(&json, "seconds", seconds[0]);
  json_number(&json, "seconds_hardened", seconds[1]);
  json_number(&json, "frames", e->frames);
  json_number(&json, "disk", e->disk);
  json_open(&json, "warnings", '[');
  scene_doubt_sound(scene, e, add_warning, &json);
  scene_doubts(scene, add_warning, &json);
  json_close(&json, ']');
  json_close(&json, '}');
  puts(json.text);
  mem_free(json.text);
}

static void print_hours(double seconds)
{
  const double minutes = ceil(seconds / 60.0), hours = floor(minutes / 60.0);
  printf("%.0f:%02.0f:00", hours, minutes - 60.0 * hours);
}

/* Nodes, memory and time for a job script, from the model. Steps are at least those that the start suggests,
 * and the snow spreads: so twice the time, and half as much memory again. */
static int print_request(const struct scene *scene, const struct scene_estimate *e, const struct options *o,
                         struct error *err)
{
  struct model_speed speed = {.ranks = 0};
  struct network network = {.ranks = 0};
  const int code = o->machine ? model_load(o->machine, &speed, &network, err) : FIRN_OK;
  if (!o->machine) speed = calibrate(scene->beta > 0.0);
  if (code) return code;
  const struct model_link *link = o->link || network.ranks > 1 ? o->link : model_find_link("hdr");
  struct model_case c = model_case_of(scene, &speed);
  c.ranks = (int)o->ranks;
  if (!o->machine) c.per_node = c.ranks;
  if (o->threads) c.threads = (int)o->threads;
  if (o->per_node) c.per_node = (int)o->per_node;
  if (c.per_node > c.ranks) c.per_node = c.ranks;
  const struct model_time time = predict(scene, e, &speed, &network, link, &c);
  printf("  to ask for, on %d rank%s of %d thread%s\n", c.ranks, c.ranks == 1 ? "" : "s", c.threads,
         c.threads == 1 ? "" : "s");
  printf("    nodes      %d, with %d core%s each\n", (c.ranks + c.per_node - 1) / c.per_node,
         c.per_node * c.threads, c.per_node * c.threads == 1 ? "" : "s");
  printf("    memory     %.1f GB per node: half as much again as the start takes\n",
         1.5e-9 * time.memory * c.per_node);
  printf("    walltime   ");
  print_hours(2.0 * e->steps * time.step);
  printf(": twice %.0f steps of %.3g ms", e->steps, 1e3 * time.step);
  if (c.implicit) printf(" with %.3g iterations each", c.iterations);
  printf(" (%s)\n", o->machine
                        ? "as measured"
                        : "by the speed of this machine, timed just now: measure the other one with firn "
                          "model --save, give --machine");
  if (time.slabs < c.ranks)
    printf(
        "  warning: %s: only %d of %d ranks get a slab, which has at least %d planes; use fewer ranks, and "
        "more threads\n",
        scene->path, time.slabs, c.ranks, BLOCK_X);
  return FIRN_OK;
}

int cmd_check(int argc, char **argv)
{
  struct options options;
  struct error err = {0};
  char *text = NULL;
  struct scene *scene = NULL;
  int code = read_options(argc, argv, &options, &err);
  if (!code && options.help) {
    options_help(&known);
    return EXIT_SUCCESS;
  }
  if (!code) code = scene_file_text(&text, options.launch.scene_path, &err);
  if (!code)
    code = scene_parse(&scene, options.launch.scene_path, text, options.launch.overrides,
                       options.launch.override_count, &err);
  if (!code) code = scene_load(scene, NULL, &err);
  int64_t rows = 0;
  if (!code) code = scene_check_files(scene, NULL, &rows, &err);
  struct scene_estimate e;
  const int ranks = options.ranks ? (int)options.ranks : 1;
  if (!code) scene_estimate(scene, rows, ranks, &e);
  if (!code) first_sound_refine(scene, &e);
  if (!code && options.json) print_json(scene, &e);
  if (!code && !options.json) scene_report(scene, &e, rows, ranks, stdout);
  if (!code && !options.json && !options.ranks) print_time(scene, &e);
  if (!code && options.ranks) code = print_request(scene, &e, &options, &err);
  if (!code && !options.json) scene_doubt_sound(scene, &e, print_warning, scene->path);
  if (!code && !options.json) scene_doubts(scene, print_warning, scene->path);
  if (code) fprintf(stderr, "firn: %s\n", err.text);
  scene_destroy(&scene);
  mem_free(text);
  return code ? EXIT_FAILURE : EXIT_SUCCESS;
}
