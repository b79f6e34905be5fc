/* `firn model`: the time per step on other machines and other numbers of ranks. */
#include "base/listing.h"
#include "base/log.h"
#include "base/memory.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "decomposition/topology.h"
#include "io/run/csv_table.h"
#include "io/scene/scene_report.h"
#include "predict/calibrate.h"
#include "predict/time_model.h"
#include "render/plot/plot.h"
#include "run/launch.h"
#include "sim/first_sound.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] =
    "usage: firn model SCENE.yml [OPTIONS]\n"
    "       mpirun -n RANKS firn model SCENE.yml [OPTIONS]\n"
    "\n"
    "Predicts the time per step, what it is spent on, and the memory, for other numbers of ranks and\n"
    "threads. It measures the speed of some steps of the scene and the network between its ranks, or\n"
    "reads both from a file that --save wrote. Start it on a full node, with as many ranks and threads\n"
    "as the runs will have there, because cores slow each other down.\n"
    "\n";

struct options {
  struct launch_options launch;
  const char *ranks, *save, *machine, *csv, *plot;
  const struct model_link *link;
  struct model_link own; /* of --latency and --bandwidth */
  int64_t threads, per_node, steps;
  double particles, iterations;
  bool weak, apart, pipelined, fit, help;
};

static int take_set(void *into, const struct option_row *row, const char *text, struct error *err)
{
  (void)row;
  return launch_add_override(&((struct options *)into)->launch, text, err);
}

static int take_network(void *into, const struct option_row *row, const char *text, struct error *err)
{
  (void)row;
  return model_read_link("model", text, &((struct options *)into)->link, err);
}

static const struct option_row option_rows[] = {
    {"set", "KEY=VALUE", "override a key of the scene; may be given several times", OPTION_CALL(take_set)},
    {"ranks", "LIST", "numbers of ranks to predict (1,2,4,...,1024)", OPTION_TEXT(struct options, ranks)},
    {"threads", "N", "threads per rank (as measured)", OPTION_COUNT(struct options, threads, 1, MAX_THREADS)},
    {"per-node", "N", "ranks per node (as measured)", OPTION_COUNT(struct options, per_node, 1, 100000)},
    {"network", "ethernet25|omnipath|hdr|slingshot", "network between nodes, instead of the measured one",
     OPTION_CALL(take_network)},
    {"latency", "S", "any other network: seconds of a small message between nodes; with --bandwidth",
     OPTION_POSITIVE(struct options, own.latency)},
    {"bandwidth", "B", "bytes/s of a large message between nodes; with --latency",
     OPTION_POSITIVE(struct options, own.bandwidth)},
    {"particles", "N", "refine the cells until the scene has N particles",
     OPTION_POSITIVE(struct options, particles)},
    {"weak", NULL,
     "one copy of the scene per rank, side by side, so that their snow meets (domain.copies, "
     "domain.copy_cells)",
     OPTION_FLAG(struct options, weak)},
    {"apart", NULL, "likewise, but with the air that the scene has around its snow",
     OPTION_FLAG(struct options, apart)},
    {"iterations", "N", "iterations of the solver per step (as measured)",
     OPTION_NOT_NEGATIVE(struct options, iterations)},
    {"pipelined", NULL, "as if the scene had integrator.solver: pipelined",
     OPTION_FLAG(struct options, pipelined)},
    {"steps", "N", "steps to measure (10, and at least two seconds unless the scene ends before)",
     OPTION_COUNT(struct options, steps, 2, 1000000)},
    {"fit", NULL,
     "also print the speeds relative to the bare transfer pair, beside those that firn check takes (start it "
     "on one rank)",
     OPTION_FLAG(struct options, fit)},
    {"save", "FILE", "write the measured speeds to a file", OPTION_TEXT(struct options, save)},
    {"machine", "FILE", "read the speeds from a file and measure nothing",
     OPTION_TEXT(struct options, machine)},
    {"csv", "FILE", "write the table for other programs", OPTION_TEXT(struct options, csv)},
    {"plot", "NAME", "write NAME.svg and NAME.png: time, efficiency, and what limits it",
     OPTION_TEXT(struct options, plot)},
};

static const struct option_table known = {"model", head, option_rows,
                                          sizeof option_rows / sizeof *option_rows, NULL};

static int check_options(struct options *o, struct error *err)
{
  if ((o->own.latency > 0.0) != (o->own.bandwidth > 0.0))
    return error_set(err, FIRN_EINPUT, "model: --latency and --bandwidth need each other");
  if (o->own.latency > 0.0 && o->link)
    return error_set(err, FIRN_EINPUT, "model: give --network, or --latency and --bandwidth, not both");
  if (o->machine && o->save)
    return error_set(err, FIRN_EINPUT, "model: --save and --machine exclude each other");
  if (o->machine && o->fit)
    return error_set(err, FIRN_EINPUT, "model: --fit measures, so it is not for --machine");
  if (o->own.latency > 0.0) o->link = &o->own;
  return FIRN_OK;
}

static int read_options(int argc, char **argv, struct options *o, struct error *err)
{
  struct option_words words;
  *o = (struct options){.ranks = "1,2,4,8,16,32,64,128,256,512,1024", .steps = 10, .iterations = -1.0};
  o->own.name = "given";
  const int code = options_read(&known, argc, argv, o, &words, err);
  o->help = words.help;
  if (code || o->help) return code;
  if (words.count != 1) return error_set(err, FIRN_EINPUT, "model: give exactly one scene file");
  o->launch.scene_path = words.word[0];
  o->weak = o->weak || o->apart;
  return check_options(o, err);
}

/* --- measuring
 * --------------------------------------------------------------------------------------------------- */

struct findings {
  struct model_speed speed;
  struct network network;
  struct profile *profile; /* of the simulation, where one was measured */
};

enum { MOST_PARTICLES = 30000000 }; /* a rank can be asked to measure: 10 GB */

static int check_size(const struct comm *comm, const struct scene *scene, struct error *err)
{
  struct scene_estimate estimate;
  int64_t rows;
  const int code = scene_check_files(scene, comm, &rows, err);
  if (code) return code;
  scene_estimate(scene, rows, comm->size, &estimate);
  first_sound_refine(scene, &estimate);
  if (estimate.particles <= (double)MOST_PARTICLES * comm->size) return FIRN_OK;
  return error_set(
      err, FIRN_ELIMIT,
      "model: %.3g particles are too many to measure on %d ranks; measure a smaller scene with --save, then "
      "give --machine, or --particles",
      estimate.particles, comm->size);
}

static int measure(const struct comm *comm, const struct scene *scene, const struct options *o,
                   const char *machine, struct findings *out, struct error *err)
{
  struct sim *sim = NULL;
  int code = check_size(comm, scene, err);
  if (!code) code = sim_create(&sim, comm, scene, ISA_COUNT, err);
  if (!code)
    log_info("measuring %lld particles on %d ranks of %d threads", (long long)sim->totals.particles,
             comm->size, comm->threads);
  if (!code) code = model_measure(sim, (int)o->steps, 2.0, &out->speed, err);
  if (!code) {
    out->profile = profile_of_sim(sim);
    network_measure(comm, &out->network);
    snprintf(out->speed.machine, sizeof out->speed.machine, "%s", machine ? machine : "");
    if (o->save)
      code = comm_agree(
          comm, comm->rank == 0 ? model_save(o->save, &out->speed, &out->network, err) : FIRN_OK, err);
  }
  sim_destroy(&sim);
  return code;
}

/* --- the table
 * --------------------------------------------------------------------------------------------------- */

enum { MOST_ROWS = 256 };

/* The first SHOWN go to the terminal, all to a file. */
static const char *const columns[] = {"ranks",
                                      "threads",
                                      "nodes",
                                      "ms per step",
                                      "speed-up",
                                      "efficiency",
                                      "lost to layers %",
                                      "serial work %",
                                      "exchange %",
                                      "sums %",
                                      "GB per rank",
                                      "work ms",
                                      "serial ms",
                                      "exchange ms",
                                      "sums ms",
                                      "slabs",
                                      "busy threads",
                                      "MB sent per step",
                                      "messages per step",
                                      "sums per step"};
enum { COLUMNS = sizeof columns / sizeof *columns, SHOWN = 11 };

/* Where the difference to the ideal time goes, as parts of the step. What is left over is layers that cannot
 * be shared out evenly, or are too few for all threads. */
static void losses(const struct model_time *time, const struct model_case *c, double lost[4])
{
  lost[1] = time->serial * (1.0 - 1.0 / c->threads);
  lost[2] = time->exchange;
  lost[3] = time->sums;
  lost[0] = fmax(0.0, time->step - time->ideal - lost[1] - lost[2] - lost[3]);
}

static int put_losses(struct listing *t, int at, const struct model_time *time, const struct model_case *c)
{
  double lost[4];
  losses(time, c, lost);
  for (int k = 0; k < 4; k++) listing_put(t, at++, "%.1f", 100.0 * lost[k] / time->step);
  return at;
}

static void add_row(struct listing *t, const struct model_time *time, const struct model_case *c,
                    double first)
{
  int at = 0;
  listing_row(t);
  listing_put(t, at++, "%d", c->ranks);
  listing_put(t, at++, "%d", c->threads);
  listing_put(t, at++, "%d", (c->ranks + c->per_node - 1) / c->per_node);
  listing_put(t, at++, "%.4g", 1e3 * time->step);
  listing_put(t, at++, "%.4g", first / time->step);
  listing_put(t, at++, "%.3f", time->ideal / time->step);
  at = put_losses(t, at, time, c);
  listing_put(t, at++, "%.3g", 1e-9 * time->memory);
  const double ms[4] = {time->work, time->serial, time->exchange, time->sums};
  for (int k = 0; k < 4; k++) listing_put(t, at++, "%.6g", 1e3 * ms[k]);
  listing_put(t, at++, "%d", time->slabs);
  listing_put(t, at++, "%d", time->busy_threads);
  listing_put(t, at++, "%.6g", 1e-6 * time->bytes);
  listing_put(t, at++, "%.4g", time->messages);
  listing_put(t, at++, "%.4g", time->sum_count);
}

static void print_head(const struct findings *m, const struct options *o, const struct profile *p,
                       const struct model_case *c)
{
  const double seconds = m->speed.parallel + m->speed.serial;
  printf(
      "%lld particles%s, %d layers of blocks along %c, %lld tiles; measured on %d ranks of %d threads: %s\n",
      (long long)p->all_particles, o->weak ? " per rank" : "", p->layers, 'x' + p->axis,
      (long long)(BRICK_TILES * p->all_bricks), m->speed.ranks, m->speed.threads, m->speed.machine);
  printf("a particle of a dense block takes %.0f ns per step", 1e9 * seconds * 22.0);
  if (c->implicit)
    printf(" and %.0f ns per product; %.3g iterations per step", 1e9 * m->speed.product * 8.0, c->iterations);
  if (o->link)
    printf("\nnetwork: %s, %.3g us, %.3g GB/s\n", o->link->words ? o->link->words : o->link->name,
           1e6 * o->link->latency, 1e-9 * o->link->bandwidth);
  else if (m->network.ranks > 1)
    printf("\nnetwork: measured on %d ranks, latency %.3g us, exchange of 16 kB %.3g us and of 1 MB %.3g us, "
           "sum of 2 kB %.3g us\n",
           m->network.ranks, 1e6 * m->network.latency, 1e6 * curve_at(&m->network.exchange, 16384.0),
           1e6 * curve_at(&m->network.exchange, 1048576.0), 1e6 * curve_at(&m->network.sum, 2176.0));
  else
    printf("\nnetwork: none was measured on one rank; ranks are taken to share memory\n");
}

/* What calibrate.c has for scenes that were not measured, and what it should have after this scene. */
static void print_fit(const struct model_speed *speed, bool implicit)
{
  const double pair = calibrate_pair(kernels_get(isa_detect()));
  const struct model_ratios *old = &calibrate_ratios[implicit];
  printf(
      "over the bare pair of %.1f ns per particle: %.3f parallel, %.3f serial, %.3f per product (firn check "
      "takes %.3f, %.3f, %.3f)\n",
      1e9 * pair, speed->parallel / pair, speed->serial / pair, speed->product / pair, old->parallel,
      old->serial, old->product);
}

/* What is drawn of each number of ranks. */
struct curves {
  int count;
  double ranks[MOST_ROWS], step[MOST_ROWS], ideal[MOST_ROWS], efficiency[MOST_ROWS], one[MOST_ROWS];
  double lost[4][MOST_ROWS]; /* % of a step: layers, serial work, exchange, sums */
};

static void add_point(struct curves *curves, const struct model_time *time, const struct model_case *c)
{
  const int k = curves->count++;
  double lost[4];
  losses(time, c, lost);
  curves->ranks[k] = c->ranks;
  curves->step[k] = 1e3 * time->step;
  curves->ideal[k] = 1e3 * time->ideal;
  curves->efficiency[k] = time->ideal / time->step;
  curves->one[k] = 1.0;
  for (int l = 0; l < 4; l++) curves->lost[l][k] = 100.0 * lost[l] / time->step;
}

static struct plot_panel *add_panel(struct plot *plot, const char *title, const struct curves *v)
{
  struct plot_panel *panel = plot_panel(plot, title, "ranks", "");
  panel->log_x = panel->y_from_zero = true;
  plot_marks(panel, v->count, v->ranks, v->ranks);
  return panel;
}

static void add_ideal(struct plot_panel *panel, const struct curves *v, const double *y)
{
  plot_line(panel, "ideal", v->count, v->ranks, y, PLOT_DASHED);
  plot_color(panel, -1);
}

static int draw(const struct curves *v, const struct options *o, const struct profile *p,
                const struct model_case *c, struct error *err)
{
  static const char *const causes[4] = {"layers", "serial work", "exchange", "sums"};
  char title[256], note[256];
  const char *slash = strrchr(o->launch.scene_path, '/');
  snprintf(title, sizeof title, "Predicted %s scaling of %s", o->weak ? "weak" : "strong",
           slash ? slash + 1 : o->launch.scene_path);
  snprintf(note, sizeof note, "%.3g particles%s, %d threads per rank, %d ranks per node, %s%s",
           (double)p->all_particles, o->weak ? " per rank" : "", c->threads, c->per_node,
           o->link ? o->link->words ? o->link->words : o->link->name : "network as measured",
           c->pipelined ? ", pipelined solve" : "");
  struct plot *plot = plot_create(title, 3);
  plot->note = mem_strdup(note);
  struct plot_panel *step = add_panel(plot, "time per step, ms", v);
  step->log_y = true;
  plot_line(step, "predicted", v->count, v->ranks, v->step, PLOT_LINE_POINTS);
  add_ideal(step, v, v->ideal);
  struct plot_panel *efficiency = add_panel(plot, "efficiency", v);
  plot_line(efficiency, "predicted", v->count, v->ranks, v->efficiency, PLOT_LINE_POINTS);
  add_ideal(efficiency, v, v->one);
  struct plot_panel *lost = add_panel(plot, "lost, % of a step", v);
  lost->y_to = 100.0;
  for (int l = 0; l < 4; l++) plot_line(lost, causes[l], v->count, v->ranks, v->lost[l], PLOT_LINE_POINTS);
  const int code = plot_write_both(plot, o->plot, err);
  plot_destroy(&plot);
  return code;
}

static int predict(const struct findings *m, const struct scene *scene, const struct options *o,
                   const struct profile *base, struct error *err)
{
  struct model_case c = model_case_of(scene, &m->speed);
  if (o->threads) c.threads = (int)o->threads;
  if (o->per_node) c.per_node = (int)o->per_node;
  if (o->iterations >= 0.0) c.iterations = o->iterations;
  c.pipelined = c.pipelined || o->pipelined;
  struct listing *t = listing_create();
  for (int k = 0; k < COLUMNS; k++) listing_column(t, columns[k]);
  t->shown = SHOWN;
  print_head(m, o, base, &c);
  if (o->fit) print_fit(&m->speed, c.implicit);
  double first = 0.0;
  int code = FIRN_OK;
  struct curves *curves = mem_alloc(1, sizeof *curves);
  for (const char *at = o->ranks; *at && !code;) {
    char *end;
    const long ranks = strtol(at, &end, 10);
    if (end == at || ranks < 1 || ranks > 1000000 || (*end && *end != ',') || curves->count == MOST_ROWS) {
      code =
          error_set(err, FIRN_EINPUT, "model: --ranks takes numbers such as 1,2,4,8, not \"%s\"", o->ranks);
      break;
    }
    at = *end ? end + 1 : end;
    c.ranks = (int)ranks;
    struct model_time time;
    struct profile *longer =
        o->weak ? profile_repeat(base, c.ranks, o->apart ? 0 : profile_meeting_layers(base)) : NULL;
    model_predict(longer ? longer : base, &m->speed, &m->network, o->link, &c, &time);
    profile_destroy(&longer);
    if (first == 0.0) first = time.step;
    add_row(t, &time, &c, o->weak ? first * c.ranks : first);
    add_point(curves, &time, &c);
  }
  if (!code) listing_print(t, stdout);
  if (!code && o->csv) code = table_write(t, o->csv, "ranks,threads,nodes,", err);
  if (!code && o->plot) code = draw(curves, o, base, &c, err);
  mem_free(curves);
  listing_destroy(&t);
  return code;
}

static int run_model(const struct comm *comm, const struct options *o, const char *machine, struct error *err)
{
  struct scene *scene = NULL;
  struct findings m = {.profile = NULL};
  int code = launch_scene(comm, &o->launch, &scene, err);
  if (!code && o->machine)
    code =
        comm_agree(comm, comm->rank == 0 ? model_load(o->machine, &m.speed, &m.network, err) : FIRN_OK, err);
  else if (!code)
    code = measure(comm, scene, o, machine, &m, err);
  if (!code && comm->rank == 0) {
    struct profile *p = m.profile;
    m.profile = NULL;
    if (!p || o->particles > 0.0) {
      profile_destroy(&p);
      p = profile_of_scene(scene, 1.0);
      const double refine = o->particles > 0.0 ? cbrt(o->particles / (double)p->all_particles) : 1.0;
      if (refine != 1.0) {
        profile_destroy(&p);
        p = profile_of_scene(scene, refine);
      }
    }
    code = predict(&m, scene, o, p, err);
    profile_destroy(&p);
  }
  profile_destroy(&m.profile);
  scene_destroy(&scene);
  return comm_agree(comm, code, err);
}

int cmd_model(int argc, char **argv)
{
  struct options options;
  struct error err = {0};
  int code = read_options(argc, argv, &options, &err), exit_code = EXIT_SUCCESS;
  if (!code && options.help) {
    options_help(&known);
    return EXIT_SUCCESS;
  }
  struct comm comm;
  comm_start(&comm, &argc, &argv);
  log_configure(LOG_INFO, comm.rank, comm_abort);
  char *machine = topology_plan(&comm, options.machine ? 1 : (int)options.threads, BIND_AUTO);
  if (!code) code = run_model(&comm, &options, machine, &err);
  if (code) exit_code = launch_fail(&comm, &err);
  mem_free(machine);
  comm_stop(&comm);
  return exit_code;
}
