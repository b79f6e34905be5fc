/* What came of a scaling study: times, speed-up, efficiency, where the time went, and whether all runs of a
 * scene wrote the same frames. */
#include "study/study_scaling.h"

#include "base/listing.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/run/run_json.h"
#include "render/plot/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Frames of a scene are the same files, byte for byte, on any number of ranks (writer.h). */
static bool digest_file(XXH3_state_t *state, const char *path)
{
  enum { PIECE = 1 << 20 };
  FILE *file = fopen(path, "re");
  char *piece = mem_alloc(PIECE, 1);
  size_t read = 0;
  while (file && (read = fread(piece, 1, PIECE, file)) > 0) XXH3_64bits_update(state, piece, read);
  const bool good = file && !ferror(file);
  if (file) fclose(file);
  mem_free(piece);
  return good;
}

static uint64_t digest_frames(const struct study *s, int k)
{
  char *folder = study_run_folder(s, k), *frames = file_join(folder, "frames");
  struct file_list *list = NULL;
  XXH3_state_t *state = XXH3_createState();
  uint64_t digest = 0;
  XXH3_64bits_reset(state);
  if (file_list_create(&list, frames, "frame_", ".h5", NULL) == FIRN_OK && list->count > 0) {
    bool good = true;
    for (int f = 0; f < list->count && good; f++) {
      char *path = file_join(frames, list->names[f]);
      XXH3_64bits_update(state, list->names[f], strlen(list->names[f]));
      good = digest_file(state, path);
      mem_free(path);
    }
    if (good) digest = XXH3_64bits_digest(state);
  }
  XXH3_freeState(state);
  file_list_destroy(&list);
  mem_free(frames);
  mem_free(folder);
  return digest;
}

static struct scaling_point read_point(const struct yaml *record)
{
  const double steps = record_number(record, "steps"), ranks = record_number(record, "ranks");
  struct scaling_point p = {.ranks = (int)ranks,
                            .threads = (int)record_number(record, "threads"),
                            .nodes = (int)record_number(record, "machine.nodes"),
                            .node_cores = (int)record_number(record, "machine.cores"),
                            .particles = record_number(record, "particles"),
                            .cells = record_number(record, "cells"),
                            .steps = steps,
                            .iterations = record_number(record, "iterations") / steps,
                            .memory = record_number(record, "memory.mean"),
                            .threads_imbalance = record_number(record, "thread_imbalance.mean"),
                            .repeats = 1,
                            .step = record_number(record, "seconds.stepping") / steps,
                            .imbalance = record_number(record, "imbalance")};
  p.speed = record_number(record, "particle_steps") / (steps * p.step);
  double all = 0.0;
  for (int k = 0; k < PHASES; k++) {
    char path[64];
    snprintf(path, sizeof path, "phases.%s.mean", phase_names[k]);
    p.seconds[k] = record_number(record, path) / steps;
    all += p.seconds[k];
  }
  p.communication = (p.seconds[PHASE_EXCHANGE] + p.seconds[PHASE_REDUCE]) / all;
  p.bytes = (record_number(record, "traffic.plane_bytes") + record_number(record, "traffic.particle_bytes")) /
            (steps * ranks);
  p.messages =
      (record_number(record, "traffic.plane_messages") + record_number(record, "traffic.particle_messages")) /
      (steps * ranks);
  snprintf(p.scene_hash, sizeof p.scene_hash, "%s", record_text(record, "scene_hash"));
  snprintf(p.commit, sizeof p.commit, "%s", record_text(record, "commit"));
  snprintf(p.isa, sizeof p.isa, "%s", record_text(record, "kernels"));
  snprintf(p.processor, sizeof p.processor, "%s", record_text(record, "machine.processor"));
  snprintf(p.binding, sizeof p.binding, "%s", record_text(record, "machine.binding"));
  snprintf(p.mpi, sizeof p.mpi, "%s", record_text(record, "machine.mpi"));
  p.cores = (int64_t)p.ranks * (p.threads > 0 ? p.threads : 1);
  p.least = p.most = p.step;
  return p;
}

static void read_points(const struct study *s, struct scaling *all)
{
  all->points = mem_alloc((size_t)s->run_count, sizeof *all->points);
  for (int k = 0; k < s->run_count; k++) {
    char *folder = study_run_folder(s, k);
    struct yaml *record = record_read(folder);
    if (strcmp(record_text(record, "finished"), "true") == 0) {
      struct scaling_point *p = &all->points[all->count++];
      *p = read_point(record);
      p->run = k;
      p->check = s->runs[k].check;
      p->digest = digest_frames(s, k);
    }
    yaml_destroy(&record);
    mem_free(folder);
  }
}

/* Each run against the first of the same scene that has frames. */
static void compare_bits(struct scaling *all)
{
  for (int k = 0; k < all->count; k++) {
    struct scaling_point *p = &all->points[k];
    for (int other = 0; other < all->count && p->digest; other++) {
      const struct scaling_point *q = &all->points[other];
      if (other == k || !q->digest || strcmp(p->scene_hash, q->scene_hash) != 0) continue;
      p->bits = p->digest == q->digest ? BITS_SAME : BITS_DIFFER;
      if (p->bits == BITS_DIFFER) break;
    }
    all->compared += p->bits != BITS_UNKNOWN;
    all->same += p->bits == BITS_SAME;
  }
}

static bool alike(const struct study *s, const struct scaling_point *a, const struct scaling_point *b)
{
  bool same = !a->check && !b->check && a->ranks == b->ranks && a->threads == b->threads;
  for (int key = 0; key < s->key_count && same; key++)
    same = strcmp(s->runs[a->run].values[key], s->runs[b->run].values[key]) == 0;
  return same;
}

static int by_step(const void *a, const void *b)
{
  const struct scaling_point *p = a, *q = b;
  return p->step != q->step ? (p->step > q->step) - (p->step < q->step) : p->run - q->run;
}

/* Repeated runs become one point, that of their median (the lower of two). */
static void merge_repeats(const struct study *s, struct scaling *all)
{
  struct scaling_point *group = mem_alloc((size_t)all->count, sizeof *group);
  int kept = 0;
  for (int k = 0; k < all->count; k++) {
    int count = 0;
    bool taken = false, differ = false;
    for (int before = 0; before < kept; before++)
      taken = taken || alike(s, &all->points[before], &all->points[k]);
    if (taken) continue;
    group[count++] = all->points[k];
    for (int more = k + 1; more < all->count; more++)
      if (alike(s, &all->points[k], &all->points[more])) group[count++] = all->points[more];
    for (int g = 0; g < count; g++) differ = differ || group[g].bits == BITS_DIFFER;
    qsort(group, (size_t)count, sizeof *group, by_step);
    struct scaling_point *p = &all->points[kept++];
    *p = group[(count - 1) / 2];
    p->least = group[0].step;
    p->most = group[count - 1].step;
    p->repeats = count;
    if (differ) p->bits = BITS_DIFFER;
  }
  all->count = kept;
  mem_free(group);
}

static void rate(const struct study *s, struct scaling *all)
{
  const struct scaling_point *first = NULL;
  for (int k = 0; k < all->count; k++) {
    struct scaling_point *p = &all->points[k];
    if (p->check) continue;
    if (!first) first = p;
    const double ratio = (double)p->cores / (double)first->cores;
    p->speedup = s->kind == STUDY_WEAK ? p->speed / first->speed : first->step / p->step;
    p->efficiency = p->speedup / ratio;
  }
}

static void put_machine(struct listing *t, int at, const struct scaling_point *p)
{
  static const char *const bits[] = {"nothing to compare", "same", "DIFFERENT"};
  listing_put(t, at++, "%s", bits[p->bits]);
  listing_put(t, at++, "%s", p->processor);
  listing_put(t, at++, "%d", p->node_cores);
  listing_put(t, at++, "%s", p->binding);
  listing_put(t, at++, "%s", p->mpi);
  listing_put(t, at++, "%s", p->isa);
  listing_put(t, at, "%s", p->commit);
}

static struct listing *make_table(const struct scaling *all)
{
  static const char *const names[] = {"run",
                                      "ranks",
                                      "threads",
                                      "cores",
                                      "nodes",
                                      "repeats",
                                      "ms_per_step",
                                      "ms_least",
                                      "ms_most",
                                      "speedup",
                                      "efficiency",
                                      "particle_steps_per_s",
                                      "waiting_percent",
                                      "imbalance",
                                      "thread_imbalance",
                                      "kB_per_step",
                                      "messages_per_step",
                                      "MB_per_rank",
                                      "particles",
                                      "cells",
                                      "particles_per_cell",
                                      "steps",
                                      "iterations_per_step"};
  static const char *const last[] = {"bits", "processor", "node_cores", "binding", "mpi", "isa", "commit"};
  enum { NAMES = sizeof names / sizeof *names, LAST = sizeof last / sizeof *last, SHOWN = 16 };
  char name[64];
  struct listing *t = listing_create();
  for (int k = 0; k < NAMES; k++) listing_column(t, names[k]);
  for (int k = 0; k < PHASES; k++) {
    snprintf(name, sizeof name, "%s_ms", phase_names[k]);
    listing_column(t, name);
  }
  for (int k = 0; k < LAST; k++) listing_column(t, last[k]);
  t->shown = SHOWN;
  for (int k = 0; k < all->count; k++) {
    const struct scaling_point *p = &all->points[k];
    int at = 0;
    listing_row(t);
    listing_put(t, at++, "%d%s", p->run, p->check ? " check" : "");
    listing_put(t, at++, "%d", p->ranks);
    listing_put(t, at++, "%d", p->threads);
    listing_put(t, at++, "%lld", (long long)p->cores);
    listing_put(t, at++, "%d", p->nodes);
    listing_put(t, at++, "%d", p->repeats);
    listing_put(t, at++, "%.4g", 1e3 * p->step);
    listing_put(t, at++, "%.4g", 1e3 * p->least);
    listing_put(t, at++, "%.4g", 1e3 * p->most);
    if (!p->check) listing_put(t, at, "%.3g", p->speedup);
    if (!p->check) listing_put(t, at + 1, "%.3g", p->efficiency);
    at += 2;
    listing_put(t, at++, "%.4g", p->speed);
    listing_put(t, at++, "%.3g", 100.0 * p->communication);
    listing_put(t, at++, "%.3g", p->imbalance);
    listing_put(t, at++, "%.3g", p->threads_imbalance);
    listing_put(t, at++, "%.4g", 1e-3 * p->bytes);
    listing_put(t, at++, "%.4g", p->messages);
    listing_put(t, at++, "%.4g", 1e-6 * p->memory);
    listing_put(t, at++, "%.0f", p->particles);
    if (p->cells > 0.0) listing_put(t, at, "%.0f", p->cells);
    if (p->cells > 0.0) listing_put(t, at + 1, "%.3g", p->particles / p->cells);
    at += 2;
    listing_put(t, at++, "%.0f", p->steps);
    listing_put(t, at++, "%.4g", p->iterations);
    for (int phase = 0; phase < PHASES; phase++) listing_put(t, at++, "%.4g", 1e3 * p->seconds[phase]);
    put_machine(t, at, p);
  }
  return t;
}

/* --- plots
 * ------------------------------------------------------------------------------------------------------- */

enum {
  QUANTITY_X, /* cores, or ranks if all runs have the same cores */
  QUANTITY_STEP,
  QUANTITY_LEAST,
  QUANTITY_MOST,
  QUANTITY_SPEEDUP,
  QUANTITY_EFFICIENCY,
  QUANTITY_WAITING,
  QUANTITY_IMBALANCE,
  QUANTITY_BYTES,
  QUANTITY_MEMORY,
  QUANTITY_IDEAL_STEP,
  QUANTITY_IDEAL_SPEEDUP,
  QUANTITY_ONE,
  QUANTITY_PLACE, /* 0, 1, 2, ... */
  QUANTITY_PHASES,
  QUANTITIES = QUANTITY_PHASES + PHASES
};

/* All that is drawn, a row a quantity. Runs that are there for their bits are left out. */
struct drawn {
  int count, repeats; /* repeats: the most of any point */
  char axis[64];
  double *rows[QUANTITIES];
};

/* The same cores in all runs: then it is their ranks that are compared. */
static int64_t common_cores(const struct scaling *all)
{
  int64_t cores = 0;
  int count = 0;
  for (int k = 0; k < all->count; k++) {
    if (all->points[k].check) continue;
    if (count++ && all->points[k].cores != cores) return 0;
    cores = all->points[k].cores;
  }
  return count > 1 ? cores : 0;
}

static void tabulate(const struct study *s, const struct scaling *all, struct drawn *d)
{
  const int64_t common = common_cores(all);
  double **rows = d->rows, first_cores = 1.0;
  snprintf(d->axis, sizeof d->axis, "cores");
  if (common) snprintf(d->axis, sizeof d->axis, "ranks, on %lld cores", (long long)common);
  for (int k = 0; k < all->count; k++) {
    const struct scaling_point *p = &all->points[k];
    const int n = d->count;
    if (p->check) continue;
    if (!n) first_cores = (double)p->cores;
    const double more = (double)p->cores / first_cores, first = n ? rows[QUANTITY_STEP][0] : 1e3 * p->step;
    const double values[QUANTITY_PHASES] = {
        [QUANTITY_X] = common ? p->ranks : (double)p->cores,
        [QUANTITY_STEP] = 1e3 * p->step,
        [QUANTITY_LEAST] = 1e3 * p->least,
        [QUANTITY_MOST] = 1e3 * p->most,
        [QUANTITY_SPEEDUP] = p->speedup,
        [QUANTITY_EFFICIENCY] = p->efficiency,
        [QUANTITY_WAITING] = 100.0 * p->communication,
        [QUANTITY_IMBALANCE] = p->imbalance,
        [QUANTITY_BYTES] = 1e-3 * p->bytes,
        [QUANTITY_MEMORY] = 1e-6 * p->memory,
        [QUANTITY_IDEAL_STEP] = s->kind == STUDY_WEAK ? first : first / more,
        [QUANTITY_IDEAL_SPEEDUP] = more,
        [QUANTITY_ONE] = 1.0,
        [QUANTITY_PLACE] = n,
    };
    for (int q = 0; q < QUANTITY_PHASES; q++) rows[q][n] = values[q];
    for (int q = 0; q < PHASES; q++) rows[QUANTITY_PHASES + q][n] = 1e3 * p->seconds[q];
    if (p->repeats > d->repeats) d->repeats = p->repeats;
    d->count++;
  }
}

static struct plot_panel *against(struct plot *plot, const char *title, const struct drawn *d, int quantity)
{
  struct plot_panel *panel = plot_panel(plot, title, d->axis, "");
  panel->log_x = true;
  panel->y_from_zero = true;
  plot_marks(panel, d->count, d->rows[QUANTITY_X], d->rows[QUANTITY_X]);
  plot_line(panel, d->repeats > 1 ? "median" : "measured", d->count, d->rows[QUANTITY_X], d->rows[quantity],
            PLOT_LINE_POINTS);
  return panel;
}

static struct plot_panel *against_ideal(struct plot *plot, const char *title, const struct drawn *d,
                                        int quantity, int ideal)
{
  struct plot_panel *panel = against(plot, title, d, quantity);
  plot_line(panel, "ideal", d->count, d->rows[QUANTITY_X], d->rows[ideal], PLOT_DASHED);
  plot_color(panel, -1);
  return panel;
}

static void add_spread(struct plot_panel *panel, const struct drawn *d)
{
  if (d->repeats < 2) return;
  plot_line(panel, "least and most", d->count, d->rows[QUANTITY_X], d->rows[QUANTITY_LEAST], PLOT_POINTS);
  plot_color(panel, -1);
  plot_line(panel, "", d->count, d->rows[QUANTITY_X], d->rows[QUANTITY_MOST], PLOT_POINTS);
  plot_color(panel, -1);
}

static void add_phases(struct plot *plot, const struct drawn *d)
{
  struct plot_panel *panel = plot_panel(plot, "phases, ms per step (mean of the ranks)", d->axis, "");
  plot_marks(panel, d->count, d->rows[QUANTITY_PLACE], d->rows[QUANTITY_X]);
  for (int k = 0; k < PHASES; k++)
    plot_line(panel, phase_names[k], d->count, d->rows[QUANTITY_PLACE], d->rows[QUANTITY_PHASES + k],
              PLOT_BARS);
}

static void add_panels(struct plot *plot, const struct drawn *d)
{
  struct plot_panel *panel = against_ideal(plot, "time per step, ms", d, QUANTITY_STEP, QUANTITY_IDEAL_STEP);
  panel->log_y = true;
  add_spread(panel, d);
  against_ideal(plot, "speed-up", d, QUANTITY_SPEEDUP, QUANTITY_IDEAL_SPEEDUP)->log_y = true;
  against_ideal(plot, "efficiency", d, QUANTITY_EFFICIENCY, QUANTITY_ONE);
  add_phases(plot, d);
  against(plot, "waiting for other ranks, %", d, QUANTITY_WAITING)->y_to = 100.0;
  against_ideal(plot, "imbalance: busiest rank / mean", d, QUANTITY_IMBALANCE, QUANTITY_ONE)->y_to = 2.0;
  against(plot, "sent to neighbours, kB per step and rank", d, QUANTITY_BYTES);
  against(plot, "memory, MB per rank", d, QUANTITY_MEMORY);
}

static void say_threads(const struct scaling *all, char out[32])
{
  int least = all->points[0].threads, most = least;
  for (int k = 1; k < all->count; k++) {
    const int threads = all->points[k].threads;
    if (threads < least) least = threads;
    if (threads > most) most = threads;
  }
  if (least == most)
    snprintf(out, 32, "%d", least);
  else
    snprintf(out, 32, "%d to %d", least, most);
}

/* What the plot says below its title: whose bits were compared, and where it was measured. */
static void describe(const struct scaling *all, char *note, size_t size)
{
  const struct scaling_point *last = &all->points[all->count - 1];
  const char *verdict = all->compared == 0          ? "frames: nothing to compare"
                        : all->same < all->compared ? "FRAMES DIFFER"
                                                    : "frames: the same bits";
  char threads[32];
  say_threads(all, threads);
  snprintf(note, size,
           "%s (%d of %d runs compared); %.3g particles, %.3g per cell; %s threads per rank; at most %d "
           "nodes; %s, %s; commit %s",
           verdict, all->same, all->compared, last->particles,
           last->cells > 0.0 ? last->particles / last->cells : 0.0, threads, last->nodes, last->processor,
           last->isa, last->commit);
}

static int draw_plots(const struct study *s, const struct scaling *all, FILE *file, struct error *err)
{
  if (all->count == 0) return FIRN_OK;
  struct drawn d = {0};
  for (int k = 0; k < QUANTITIES; k++) d.rows[k] = mem_alloc((size_t)all->count, sizeof **d.rows);
  const char *slash = strrchr(s->scene, '/');
  char title[512], note[512];
  snprintf(title, sizeof title, "%s scaling of %s", s->kind == STUDY_WEAK ? "Weak" : "Strong",
           slash ? slash + 1 : s->scene);
  describe(all, note, sizeof note);
  tabulate(s, all, &d);
  struct plot *plot = plot_create(title, 4);
  plot->note = mem_strdup(note);
  add_panels(plot, &d);
  char *path = file_join(s->folder, "scaling");
  const int code = d.count ? plot_write_both(plot, path, err) : FIRN_OK;
  if (!code && d.count) fprintf(file, "%s.svg and %s.png: plots of %d points\n", path, path, d.count);
  plot_destroy(&plot);
  mem_free(path);
  for (int k = 0; k < QUANTITIES; k++) mem_free(d.rows[k]);
  return code;
}

int study_collect_scaling(const struct study *s, FILE *file, struct error *err)
{
  struct scaling all = {0};
  read_points(s, &all);
  const int finished = all.count;
  compare_bits(&all);
  merge_repeats(s, &all);
  rate(s, &all);
  struct listing *t = make_table(&all);
  int code = study_write_table(s, t, file, err);
  if (!code && finished < s->run_count)
    fprintf(file, "%d of %d runs have not ended yet\n", s->run_count - finished, s->run_count);
  if (!code)
    fprintf(file, "frames: %d of %d runs that share a scene with another have the same bits\n", all.same,
            all.compared);
  if (!code) code = draw_plots(s, &all, file, err);
  if (!code && all.same < all.compared)
    code = error_set(err, FIRN_EDAMAGED, "%s: runs of the same scene wrote different frames; see results.csv",
                     s->folder);
  listing_destroy(&t);
  mem_free(all.points);
  return code;
}
