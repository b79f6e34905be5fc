/* `firn bench`: the speed of every kernel and phase, in memory, as particles a second and as a ratio to the
 * bare transfer pair measured in the same run.
 *
 * The particles are those of real snow, not a rest state: F_E random within the yield limits and some beyond,
 * J_P spread, velocities that carry a tenth of a cell a step. They are drawn anew from their ids before every
 * step, so each repetition does the same work. The least of several repetitions counts: other programs can
 * only add time. */
#include "base/log.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/timer.h"
#include "base/version.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "decomposition/reduce.h"
#include "io/file.h"
#include "io/particles/frame.h"
#include "io/scene/scene_report.h"
#include "predict/calibrate.h"
#include "run/launch.h"
#include "sim/sim.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char head[] =
    "usage: firn bench [OPTIONS]\n"
    "       mpirun -n RANKS firn bench ...\n"
    "\n"
    "Prints a table of every kernel and phase: particles per second on one core, and its time as a ratio\n"
    "to the bare transfer pair (P2G + G2P without material) measured in the same run.\n"
    "\n";

enum { MAX_SIZES = 16, MAX_ROWS = 1280 };

struct row {
  int64_t particles;
  char name[64];
  double seconds; /* a particle and core */
  double ratio;   /* to the bare pair */
};

struct bench {
  struct comm comm;
  enum isa isa;
  int64_t sizes[MAX_SIZES];
  int size_count, repeat;
  const char *only, *json, *compare;
  bool plain; /* ratios are to the plain pair */
  bool help;
  struct row rows[MAX_ROWS];
  int row_count;
  double floor; /* s a particle, of the size being measured */
  int process;  /* rank 0's number: it names a folder that is nobody else's */
};

struct workload {
  const char *name;
  const char *transfer, *integrator;
  double cfl; /* dt in units of spacing / sound of the undeformed snow */
};

static const struct workload workloads[] = {
    {"explicit flip", "{scheme: flip}", "{scheme: explicit}", 0.15},
    {"explicit apic+mls", "{scheme: apic, force: mls}", "{scheme: explicit}", 0.15},
    {"explicit apic+mls quadratic", "{scheme: apic, force: mls, kernel: quadratic}", "{scheme: explicit}",
     0.15},
    {"semi-implicit flip", "{scheme: flip}", "{scheme: semi-implicit, tolerance: 1e-4}", 1.5},
    {"semi-implicit flip, double", "{scheme: flip}",
     "{scheme: semi-implicit, tolerance: 1e-4, precision: double}", 1.5},
};

enum { WORKLOADS = sizeof workloads / sizeof *workloads };

static bool is_wanted(const struct workload *w, const char *only)
{
  return !only || strncmp(w->name, only, strlen(only)) == 0;
}

static int check_only(const char *only, struct error *err)
{
  for (int w = 0; w < WORKLOADS; w++)
    if (is_wanted(&workloads[w], only)) return FIRN_OK;
  return error_set(err, FIRN_EINPUT, "bench: --only \"%s\": no workload begins so; try explicit or semi",
                   only);
}

static int take_particles(void *into, const struct option_row *row, const char *text, struct error *err)
{
  struct bench *b = into;
  (void)row;
  if (b->size_count == MAX_SIZES) return error_set(err, FIRN_EINPUT, "bench: at most %d sizes", MAX_SIZES);
  return option_count("bench: --particles", text, 1, 2000000000, &b->sizes[b->size_count++], err);
}

static int take_only(void *into, const struct option_row *row, const char *text, struct error *err)
{
  (void)row;
  ((struct bench *)into)->only = text;
  return check_only(text, err);
}

static int take_isa(void *into, const struct option_row *row, const char *text, struct error *err)
{
  (void)row;
  return isa_by_name(text, &((struct bench *)into)->isa, err);
}

static const struct option_row option_rows[] = {
    {"particles", "N", "number of particles; may be given several times (100000 and 1000000)",
     OPTION_CALL(take_particles)},
    {"repeat", "N", "repetitions, of which the fastest counts (5)",
     OPTION_INT(struct bench, repeat, 1, 1000)},
    {"only", "TEXT", "only workloads whose name begins with TEXT: \"explicit flip\", \"semi\"",
     OPTION_CALL(take_only)},
    {"isa", "portable|avx2|avx512", "instruction set; portable is sse2 or neon", OPTION_CALL(take_isa)},
    {"json", "FILE", "write the figures to FILE too", OPTION_TEXT(struct bench, json)},
    {"compare", "FILE", "show each figure beside that of an earlier --json",
     OPTION_TEXT(struct bench, compare)},
    {"floor", NULL, "ratios to a plainly written pair instead (particle after particle, dense grid)",
     OPTION_FLAG(struct bench, plain)},
};

static const struct option_table known = {"bench", head, option_rows,
                                          sizeof option_rows / sizeof *option_rows, NULL};

static int read_options(int argc, char **argv, struct bench *b, struct error *err)
{
  struct option_words words;
  b->isa = ISA_COUNT;
  b->repeat = 5;
  int code = options_read(&known, argc, argv, b, &words, err);
  b->help = words.help;
  if (!code && !b->help && words.count > 0)
    code = error_set(err, FIRN_EINPUT, "bench: takes no argument, found \"%s\"", words.word[0]);
  if (b->size_count == 0) {
    b->sizes[b->size_count++] = 100000;
    b->sizes[b->size_count++] = 1000000;
  }
  return code;
}

/* One figure: seconds for all particles on the slowest rank become seconds a particle and core. */
static void add_row(struct bench *b, int64_t particles, double seconds, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void add_row(struct bench *b, int64_t particles, double seconds, const char *format, ...)
{
  comm_max(&b->comm, &seconds, 1);
  FIRN_ASSERT(b->row_count < MAX_ROWS);
  struct row *row = &b->rows[b->row_count++];
  va_list args;
  va_start(args, format);
  vsnprintf(row->name, sizeof row->name, format, args);
  va_end(args);
  row->particles = particles;
  row->seconds = seconds * b->comm.size / (double)particles;
  row->ratio = b->floor > 0.0 ? row->seconds / b->floor : 0.0;
}

/* --- the floor
 * --------------------------------------------------------------------------------------------------- */

/* A pair of transfers, whose rows begin with its name. The first pair is what ratios are to. */
static void time_pair(struct bench *b, void (*p2g)(struct bare *), void (*g2p)(struct bare *),
                      struct bare *bare, int64_t wanted, double scale, const char *name)
{
  double best[2] = {INFINITY, INFINITY};
  for (int k = 0; k <= b->repeat; k++) {
    const double start = timer_now();
    p2g(bare);
    const double middle = timer_now();
    g2p(bare);
    best[0] = fmin(best[0], middle - start);
    best[1] = fmin(best[1], timer_now() - middle);
  }
  add_row(b, wanted, (best[0] + best[1]) * scale, "%s pair", name);
  if (!(b->floor > 0.0)) {
    b->floor = b->rows[b->row_count - 1].seconds;
    b->rows[b->row_count - 1].ratio = 1.0;
  }
  add_row(b, wanted, best[0] * scale, "%s p2g", name);
  add_row(b, wanted, best[1] * scale, "%s g2p", name);
}

static void bench_floor(struct bench *b, const struct kernels *kernels, int64_t wanted)
{
  const int32_t cells = (int32_t)fmax(4.0, round(cbrt((double)wanted / b->comm.size / BARE_PER_CELL)));
  struct bare *bare = bare_create(cells);
  const double scale = (double)wanted / (double)bare_count(bare) / b->comm.size;
  b->floor = 0.0;
  if (b->plain) time_pair(b, kernels->plain_p2g, kernels->plain_g2p, bare, wanted, scale, "plain");
  time_pair(b, kernels->bare_p2g, kernels->bare_g2p, bare, wanted, scale, "bare");
  bare_destroy(&bare);
}

/* --- steps
 * ------------------------------------------------------------------------------------------------------- */

#define SOUND 19.7 /* m/s, of the paper's snow at rest */

static int make_sim(struct bench *b, const struct workload *w, int64_t particles, struct scene **scene,
                    struct sim **sim, struct error *err)
{
  char text[1024];
  const int cells = (int)fmax(4.0, round(cbrt((double)particles / 8.0)));
  snprintf(text, sizeof text,
           "domain: {lower: [-0.2, -0.2, -0.2], cells: [%d, %d, %d], spacing: 0.02}\n"
           "gravity: [0, 0, 0]\n"
           "time: {end: 1, step: %.17g, frame_rate: 1e-3}\n"
           "transfer: %s\n"
           "integrator: %s\n"
           "output: {folder: out/bench-%d}\n"
           "snow:\n"
           "  - box: {lower: [0, 0, 0], upper: [%.17g, %.17g, %.17g]}\n"
           "    per_cell: 8\n",
           cells + 20, cells + 20, cells + 20, w->cfl * 0.02 / SOUND, w->transfer, w->integrator, b->process,
           0.02 * cells, 0.02 * cells, 0.02 * cells);
  const int code = scene_parse(scene, "bench", text, NULL, 0, err);
  return code ? code : sim_create(sim, &b->comm, *scene, b->isa, err);
}

/* Draws the state of every particle from its id: a stretch within [0.97, 1.012] (limits 0.975 and 1.0075)
 * turned by random small rotations, J_P within 10 % of 1, a shearing and turning motion. */
static void deform(struct sim *sim, double speed)
{
  struct particles *p = sim->p;
  for (int32_t k = 0; k < p->count; k++) {
    const int32_t i = sim->order.slot[k];
    const uint64_t id = p->id[sim->order.home[k]];
    double f[9];
    for (int e = 0; e < 9; e++) f[e] = 0.01 * (rng_uniform(3, id, (uint64_t)e) - 0.5);
    for (int d = 0; d < 3; d++) f[4 * d] += 0.975 + 0.032 * rng_uniform(3, id, 9 + (uint64_t)d);
    const double angle = 0.8 * (rng_uniform(3, id, 12) - 0.5), c = cos(angle), s = sin(angle);
    for (int d = 0; d < 3; d++) {
      p->fe[d][i] = c * f[d] - s * f[3 + d];
      p->fe[3 + d][i] = s * f[d] + c * f[3 + d];
      p->fe[6 + d][i] = f[6 + d];
    }
    p->jp[i] = 0.9 + 0.2 * rng_uniform(3, id, 13);
    for (int d = 0; d < 3; d++)
      p->v[d][i] =
          speed * (sin(3.0 * p->x[(d + 1) % 3][i]) + 0.2 * (rng_uniform(3, id, 14 + (uint64_t)d) - 0.5));
  }
}

static int bench_steps(struct bench *b, const struct workload *w, int64_t particles, struct error *err)
{
  struct scene *scene = NULL;
  struct sim *sim = NULL;
  int code = make_sim(b, w, particles, &scene, &sim, err);
  const double dt = code ? 0.0 : w->cfl * scene->spacing / SOUND;
  double best[PHASES], total = INFINITY, iteration = INFINITY;
  int iterations = 0;
  for (int k = 0; k < PHASES; k++) best[k] = INFINITY;
  for (int k = 0; k <= b->repeat && !code; k++) {
    deform(sim, 0.1 * scene->spacing / dt);
    const double start = timer_now();
    code = sim_step(sim, err);
    const double took = timer_now() - start;
    if (k == 0) continue; /* buffers grow */
    total = fmin(total, took);
    for (int phase = 0; phase < PHASES; phase++) best[phase] = fmin(best[phase], sim->report.seconds[phase]);
    iterations = sim->report.iterations;
    if (iterations) iteration = fmin(iteration, sim->report.seconds[PHASE_SOLVE] / (iterations + 2));
  }
  if (!code) {
    const int64_t count = sim->totals.particles;
    add_row(b, count, total, "%s step", w->name);
    for (int phase = 0; phase < PHASES; phase++)
      if (best[phase] > 0.0) add_row(b, count, best[phase], "  %s", phase_names[phase]);
    if (iterations) {
      add_row(b, count, iteration, "  one CR iteration");
      add_row(b, count, total / (iterations + 2), "  step / (%d iterations + 2)", iterations);
    }
  }
  sim_destroy(&sim);
  scene_destroy(&scene);
  return code;
}

/* Collective: a new folder for a frame, below the one that output goes to by default; nothing else is in it.
 */
static int make_folder(struct bench *b, char **folder, struct error *err)
{
  char name[] = "out/bench_XXXXXX";
  int code = FIRN_OK;
  *folder = NULL;
  if (b->comm.rank == 0) {
    code = file_make_folder("out", err);
    if (!code && mkdtemp(name))
      *folder = mem_strdup(name);
    else if (!code)
      code = error_set(err, FIRN_EIO, "cannot make the folder %s: %s", name, strerror(errno));
  }
  comm_broadcast_text(&b->comm, folder);
  return comm_agree(&b->comm, code, err);
}

/* The frame, and the folders, which are empty then. */
static void remove_folder(const struct bench *b, const char *folder)
{
  if (!folder || b->comm.rank != 0) return;
  char *path = frame_path(folder, 0), *frames = file_join(folder, "frames");
  unlink(path);
  rmdir(frames);
  rmdir(folder);
  mem_free(path);
  mem_free(frames);
}

/* Parts that a step has many of or a run has few of: one exchange of shared bricks and one allreduce (of a CR
 * iteration), and a frame, written to the disk and removed again. */
static int bench_parts(struct bench *b, int64_t particles, struct error *err)
{
  enum { ROUNDS = 20 };
  struct scene *scene = NULL;
  struct sim *sim = NULL;
  char *folder = NULL;
  int code = make_sim(b, &workloads[0], particles, &scene, &sim, err);
  if (!code) code = sim_step(sim, err);
  if (!code) code = make_folder(b, &folder, err);
  if (!code) {
    mem_free(scene->output);
    scene->output = mem_strdup(folder);
  }
  double halo = INFINITY, sums = INFINITY, frame = INFINITY;
  for (int k = 0; k < b->repeat && !code; k++) {
    const enum node_field field = NODE_A_RESIDUAL;
    struct exact_sum dots[4] = {{{0}}};
    grid_clear(sim->mesh.grid, field);
    double start = timer_now();
    for (int round = 0; round < ROUNDS; round++)
      halo_exchange(sim->mesh.halo, sim->mesh.grid, &(struct halo_field){field, true}, 1);
    halo = fmin(halo, (timer_now() - start) / ROUNDS);
    start = timer_now();
    for (int round = 0; round < ROUNDS; round++) reduce_exact(&b->comm, dots, 4);
    sums = fmin(sums, (timer_now() - start) / ROUNDS);
    sim_tidy(sim);
    start = timer_now();
    code = frame_write(&b->comm, scene, sim->p, &(struct frame_info){0}, err);
    frame = fmin(frame, timer_now() - start);
  }
  if (!code && b->comm.size > 1) {
    add_row(b, sim->totals.particles, halo, "one exchange of shared nodes");
    add_row(b, sim->totals.particles, sums, "one allreduce of 4 sums");
  }
  if (!code) add_row(b, sim->totals.particles, frame, "frame, to the disk");
  remove_folder(b, folder);
  mem_free(folder);
  sim_destroy(&sim);
  scene_destroy(&scene);
  return code;
}

/* --- report
 * ------------------------------------------------------------------------------------------------------ */

/* The old figure of a row: files of --json have one row a line. */
static double old_seconds(const char *old, const struct row *row)
{
  char key[160];
  snprintf(key, sizeof key,
           "{\"particles\": %lld, \"name\": \"%s\", \"seconds\": ", (long long)row->particles, row->name);
  const char *at = old ? strstr(old, key) : NULL;
  return at ? strtod(at + strlen(key), NULL) : 0.0;
}

static void print_rows(const struct bench *b, const struct kernels *kernels, const char *old)
{
  printf("firn %s (%s), %d rank%s, %s kernels; the fastest of %d\n", FIRN_VERSION, FIRN_COMMIT, b->comm.size,
         b->comm.size > 1 ? "s" : "", kernels->name, b->repeat);
  int64_t size = -1;
  for (int k = 0; k < b->row_count; k++) {
    const struct row *row = &b->rows[k];
    if (size != row->particles && strcmp(row->name, b->plain ? "plain pair" : "bare pair") == 0) {
      size = row->particles;
      printf("\n%lld particles%35s%14s%14s%s\n", (long long)size, "M particles/s", "ns/particle",
             b->plain ? "x plain pair" : "x bare pair", old ? "     x old" : "");
    }
    printf("  %-34s%12.2f%14.1f%14.2f", row->name, 1e-6 / row->seconds, 1e9 * row->seconds, row->ratio);
    const double before = old_seconds(old, row);
    if (before > 0.0) printf("%10.2f", row->seconds / before);
    printf("\n");
  }
}

static const char json_head[] = "{\"firn\": \"";

static int write_json(const struct bench *b, const struct kernels *kernels, struct error *err)
{
  const size_t size = 1024 + 256 * (size_t)b->row_count;
  char *text = mem_alloc(size, 1);
  int used =
      snprintf(text, size, "%s%s\", \"commit\": \"%s\", \"kernels\": \"%s\", \"ranks\": %d, \"rows\": [\n",
               json_head, FIRN_VERSION, FIRN_COMMIT, kernels->name, b->comm.size);
  for (int k = 0; k < b->row_count; k++)
    used += snprintf(text + used, size - (size_t)used,
                     "{\"particles\": %lld, \"name\": \"%s\", \"seconds\": %.9g, \"ratio\": %.6g}%s\n",
                     (long long)b->rows[k].particles, b->rows[k].name, b->rows[k].seconds, b->rows[k].ratio,
                     k + 1 < b->row_count ? "," : "");
  used += snprintf(text + used, size - (size_t)used, "]}\n");
  const int code = file_write(b->json, 0, text, (size_t)used, err);
  mem_free(text);
  return code;
}

static int run_bench(struct bench *b, struct error *err)
{
  enum isa isa = isa_detect();
  if (b->isa < isa) isa = b->isa;
  const struct kernels *kernels = kernels_get(isa);
  char *old = NULL;
  size_t length;
  int code = b->compare ? file_read(b->compare, 1 << 24, &old, &length, err) : FIRN_OK;
  if (!code && b->json)
    code = file_check_replaceable(b->json, file_begins_with(b->json, json_head, strlen(json_head)),
                                  "a file of figures", err);
  code = comm_agree(&b->comm, code, err);
  if (!code) code = launch_check_isa(&b->comm, b->isa, err);
  for (int s = 0; s < b->size_count && !code; s++) {
    code = scene_particles_fit(&b->comm, (double)b->sizes[s], err);
    if (!code) bench_floor(b, kernels, b->sizes[s]);
    for (int w = 0; w < WORKLOADS && !code; w++)
      if (is_wanted(&workloads[w], b->only)) code = bench_steps(b, &workloads[w], b->sizes[s], err);
    if (!code && !b->only) code = bench_parts(b, b->sizes[s], err);
  }
  if (!code && b->comm.rank == 0) print_rows(b, kernels, old);
  if (!code && b->comm.rank == 0 && b->json) code = write_json(b, kernels, err);
  mem_free(old);
  return comm_agree(&b->comm, code, err);
}

int cmd_bench(int argc, char **argv)
{
  struct bench *b = mem_alloc(1, sizeof *b);
  struct error err = {0};
  int code = read_options(argc, argv, b, &err), exit_code = EXIT_SUCCESS;
  if (!code && b->help) {
    options_help(&known);
  } else {
    comm_start(&b->comm, &argc, &argv);
    b->process = (int)getpid();
    comm_broadcast(&b->comm, &b->process, sizeof b->process);
    log_configure(LOG_WARN, b->comm.rank, comm_abort);
    if (!code) code = run_bench(b, &err);
    if (code) exit_code = launch_fail(&b->comm, &err);
    comm_stop(&b->comm);
  }
  mem_free(b);
  return exit_code;
}
