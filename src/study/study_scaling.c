/* What came of a scaling study: times, speed-up, efficiency, where the time went, and whether all runs of a
 * scene wrote the same frames. */
#include "study/study_scaling.h"

#include "base/listing.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/run/run_json.h"
#include "render/plot/plot.h"

#include <math.h>
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

static void rate(const struct study *s, struct scaling *all)
{
  const struct scaling_point *first = NULL;
  for (int k = 0; k < all->count; k++) {
    struct scaling_point *p = &all->points[k];
    if (p->check) continue;
    if (!first) first = p;
    const double ratio = (double)p->ranks / first->ranks;
    p->speedup = s->kind == STUDY_WEAK ? p->speed / first->speed : first->step / p->step;
    p->efficiency = p->speedup / ratio;
  }
}

static struct listing *make_table(const struct scaling *all)
{
  static const char *const names[] = {"run",         "ranks",     "threads",          "nodes",
                                      "ms per step", "speed-up",  "efficiency",       "M particle-steps/s",
                                      "waiting %",   "imbalance", "kB sent per step", "messages per step"};
  static const char *const bits[] = {"nothing to compare", "same", "DIFFERENT"};
  enum { NAMES = sizeof names / sizeof *names };
  char name[64];
  struct listing *t = listing_create();
  for (int k = 0; k < NAMES; k++) listing_column(t, names[k]);
  for (int k = 0; k < PHASES; k++) {
    snprintf(name, sizeof name, "%s ms", phase_names[k]);
    listing_column(t, name);
  }
  listing_column(t, "frames' bits");
  for (int k = 0; k < all->count; k++) {
    const struct scaling_point *p = &all->points[k];
    listing_row(t);
    listing_put(t, 0, "%d%s", p->run, p->check ? " check" : "");
    listing_put(t, 1, "%d", p->ranks);
    listing_put(t, 2, "%d", p->threads);
    listing_put(t, 3, "%d", p->nodes);
    listing_put(t, 4, "%.4g", 1e3 * p->step);
    if (!p->check) listing_put(t, 5, "%.3g", p->speedup);
    if (!p->check) listing_put(t, 6, "%.3g", p->efficiency);
    listing_put(t, 7, "%.4g", 1e-6 * p->speed);
    listing_put(t, 8, "%.3g", 100.0 * p->communication);
    listing_put(t, 9, "%.3g", p->imbalance);
    listing_put(t, 10, "%.4g", 1e-3 * p->bytes);
    listing_put(t, 11, "%.4g", p->messages);
    for (int phase = 0; phase < PHASES; phase++)
      listing_put(t, NAMES + phase, "%.4g", 1e3 * p->seconds[phase]);
    listing_put(t, NAMES + PHASES, "%s", bits[p->bits]);
  }
  return t;
}

/* --- plots
 * ------------------------------------------------------------------------------------------------------- */

enum {
  QUANTITY_RANKS,
  QUANTITY_STEP,
  QUANTITY_SPEEDUP,
  QUANTITY_EFFICIENCY,
  QUANTITY_WAITING,
  QUANTITY_IMBALANCE,
  QUANTITY_IDEAL_STEP,
  QUANTITY_IDEAL_SPEEDUP,
  QUANTITY_ONE,
  QUANTITY_PLACE, /* 0, 1, 2, ... */
  QUANTITY_PHASES,
  QUANTITIES = QUANTITY_PHASES + PHASES
};

/* All that is drawn, a row a quantity. Runs that are there for their bits are left out. */
static int tabulate(const struct study *s, const struct scaling *all, double *rows[QUANTITIES])
{
  int count = 0;
  for (int k = 0; k < all->count; k++) {
    const struct scaling_point *p = &all->points[k];
    if (p->check) continue;
    const double more = count ? p->ranks / rows[QUANTITY_RANKS][0] : 1.0;
    const double first = count ? rows[QUANTITY_STEP][0] : 1e3 * p->step;
    rows[QUANTITY_RANKS][count] = p->ranks;
    rows[QUANTITY_STEP][count] = 1e3 * p->step;
    rows[QUANTITY_SPEEDUP][count] = p->speedup;
    rows[QUANTITY_EFFICIENCY][count] = p->efficiency;
    rows[QUANTITY_WAITING][count] = 100.0 * p->communication;
    rows[QUANTITY_IMBALANCE][count] = p->imbalance;
    rows[QUANTITY_IDEAL_STEP][count] = s->kind == STUDY_WEAK ? first : first / more;
    rows[QUANTITY_IDEAL_SPEEDUP][count] = more;
    rows[QUANTITY_ONE][count] = 1.0;
    rows[QUANTITY_PLACE][count] = count;
    for (int k2 = 0; k2 < PHASES; k2++) rows[QUANTITY_PHASES + k2][count] = 1e3 * p->seconds[k2];
    count++;
  }
  return count;
}

/* Drawn over the number of ranks, of which there are `count`. */
static void against_ideal(struct plot *plot, const char *title, int count, const double *ranks,
                          const double *y, const double *ideal)
{
  struct plot_panel *panel = plot_panel(plot, title, "ranks", "");
  panel->log_x = true;
  panel->y_from_zero = true;
  plot_marks(panel, count, ranks, ranks);
  plot_line(panel, "measured", count, ranks, y, PLOT_LINE_POINTS);
  if (!ideal) return;
  plot_line(panel, "ideal", count, ranks, ideal, PLOT_DASHED);
  plot_color(panel, -1);
}

static void add_phases(struct plot *plot, int count, double *const rows[QUANTITIES])
{
  struct plot_panel *panel = plot_panel(plot, "phases, ms per step (mean of the ranks)", "ranks", "");
  plot_marks(panel, count, rows[QUANTITY_PLACE], rows[QUANTITY_RANKS]);
  for (int k = 0; k < PHASES; k++)
    plot_line(panel, phase_names[k], count, rows[QUANTITY_PLACE], rows[QUANTITY_PHASES + k], PLOT_BARS);
}

static void add_panels(struct plot *plot, int count, double *const rows[QUANTITIES])
{
  const double *ranks = rows[QUANTITY_RANKS];
  against_ideal(plot, "time per step, ms", count, ranks, rows[QUANTITY_STEP], rows[QUANTITY_IDEAL_STEP]);
  against_ideal(plot, "speed-up", count, ranks, rows[QUANTITY_SPEEDUP], rows[QUANTITY_IDEAL_SPEEDUP]);
  against_ideal(plot, "efficiency", count, ranks, rows[QUANTITY_EFFICIENCY], rows[QUANTITY_ONE]);
  add_phases(plot, count, rows);
  against_ideal(plot, "waiting for other ranks, %", count, ranks, rows[QUANTITY_WAITING], NULL);
  against_ideal(plot, "imbalance: busiest rank / mean", count, ranks, rows[QUANTITY_IMBALANCE],
                rows[QUANTITY_ONE]);
  plot->panel[0]->log_y = plot->panel[1]->log_y = true;
  plot->panel[4]->y_to = 100.0;
  plot->panel[5]->y_to = 2.0;
}

/* What the plot says below its title: whose bits were compared, and where it was measured. */
static void describe(const struct scaling *all, char *note, size_t size)
{
  const struct scaling_point *last = &all->points[all->count - 1];
  const char *verdict = all->compared == 0          ? "frames: nothing to compare"
                        : all->same < all->compared ? "FRAMES DIFFER"
                                                    : "frames: the same bits";
  snprintf(note, size, "%s (%d of %d runs compared); %d threads per rank; at most %d nodes; commit %s",
           verdict, all->same, all->compared, last->threads, last->nodes, last->commit);
}

static int draw_plots(const struct study *s, const struct scaling *all, FILE *file, struct error *err)
{
  if (all->count == 0) return FIRN_OK;
  double *rows[QUANTITIES];
  for (int k = 0; k < QUANTITIES; k++) rows[k] = mem_alloc((size_t)all->count, sizeof **rows);
  const char *slash = strrchr(s->scene, '/');
  char title[512], note[256];
  snprintf(title, sizeof title, "%s scaling of %s", s->kind == STUDY_WEAK ? "Weak" : "Strong",
           slash ? slash + 1 : s->scene);
  describe(all, note, sizeof note);
  const int count = tabulate(s, all, rows);
  struct plot *plot = plot_create(title, 3);
  plot->note = mem_strdup(note);
  add_panels(plot, count, rows);
  char *path = file_join(s->folder, "scaling");
  const int code = count ? plot_write_both(plot, path, err) : FIRN_OK;
  if (!code && count) fprintf(file, "%s.svg and %s.png: plots of %d runs\n", path, path, count);
  plot_destroy(&plot);
  mem_free(path);
  for (int k = 0; k < QUANTITIES; k++) mem_free(rows[k]);
  return code;
}

int study_collect_scaling(const struct study *s, FILE *file, struct error *err)
{
  struct scaling all = {0};
  read_points(s, &all);
  compare_bits(&all);
  rate(s, &all);
  struct listing *t = make_table(&all);
  int code = study_write_table(s, t, file, err);
  if (!code && all.count < s->run_count)
    fprintf(file, "%d of %d runs have not ended yet\n", s->run_count - all.count, s->run_count);
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
