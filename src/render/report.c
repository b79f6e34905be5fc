#include "render/report.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/version.h"
#include "io/file.h"
#include "io/particles/frame.h"
#include "io/particles/hdf5.h"
#include "io/run/csv_table.h"
#include "io/run/run_yml.h"
#include "render/plot/run_plots.h"
#include "render/shot.h"
#include "render/view/view.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What is known about the run. */
struct subject {
  char *name;
  struct file_list *frames;
  char *folder;           /* of the frames */
  struct frame_info last; /* the last frame */
  int64_t particles;      /* in it */
  struct scene *scene;    /* NULL: cannot be read */
  char *scene_text, *resolved, *hash, *version, *commit;
  struct table *history;     /* NULL: none */
  struct run_record *record; /* NULL: none */
};

static char *base_name(const char *path)
{
  char *copy = mem_strdup(path);
  size_t length = strlen(copy);
  while (length > 1 && copy[length - 1] == '/') copy[--length] = '\0';
  const char *slash = strrchr(copy, '/');
  char *name = mem_strdup(slash && slash[1] ? slash + 1 : copy);
  mem_free(copy);
  return name;
}

static char *frame_file(const struct subject *s, int index)
{
  return file_join(s->folder, s->frames->names[index]);
}

/* Attributes of the last frame that is whole. */
static int read_last(struct subject *s, struct error *err)
{
  char *path = frame_file(s, s->frames->count - 1);
  struct hdf5_silence silence;
  const int code = frame_read_info(path, &s->last, &s->particles, err);
  if (!code) {
    hdf5_silence_begin(&silence);
    const hid_t file = hdf5_open(path, NULL);
    if (file >= 0) {
      s->scene_text = hdf5_get_text(file, "scene");
      s->resolved = hdf5_get_text(file, "scene_resolved");
      s->hash = hdf5_get_text(file, "scene_hash");
      s->version = hdf5_get_text(file, "firn_version");
      s->commit = hdf5_get_text(file, "firn_commit");
      H5Fclose(file);
    }
    hdf5_silence_end(&silence);
  }
  if (!code && s->resolved && scene_parse_stored(&s->scene, path, s->resolved, NULL)) s->scene = NULL;
  mem_free(path);
  return code;
}

static int subject_open(struct subject *s, const char *run, struct error *err)
{
  memset(s, 0, sizeof *s);
  s->name = base_name(run);
  s->folder = file_join(run, "frames");
  int code = file_list_create(&s->frames, s->folder, "frame_", ".h5", err);
  if (!code && s->frames->count == 0)
    code = error_set(err, FIRN_EINPUT, "%s: there are no frames yet", s->folder);
  if (!code) code = read_last(s, err);
  if (code) return code;
  char *history = file_join(run, "history.csv");
  if (table_read(&s->history, history, NULL)) s->history = NULL;
  mem_free(history);
  if (run_record_read(&s->record, run, NULL)) s->record = NULL;
  return FIRN_OK;
}

static void subject_close(struct subject *s)
{
  file_list_destroy(&s->frames);
  scene_destroy(&s->scene);
  table_destroy(&s->history);
  run_record_destroy(&s->record);
  mem_free(s->name);
  mem_free(s->folder);
  mem_free(s->scene_text);
  mem_free(s->resolved);
  mem_free(s->hash);
  mem_free(s->version);
  mem_free(s->commit);
}

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<style>\n"
    ":root{--ink:#20252d;--soft:#5a6470;--line:#dfe3e8;--paper:#fff;--back:#f3f5f8;--deep:#2a3a52}\n"
    "*{box-sizing:border-box}body{margin:0;background:var(--back);color:var(--ink);"
    "font:16px/1.55 system-ui,'DejaVu Sans',Verdana,sans-serif}\n"
    "header{background:var(--deep);color:#fff;padding:2rem max(1rem,calc(50vw - 560px))}"
    "header h1{margin:0;font-size:1.9rem}header p{margin:.3rem 0 0;opacity:.85}\n"
    "main{max-width:1152px;margin:0 auto;padding:1rem}\n"
    "section{background:var(--paper);border:1px solid var(--line);border-radius:8px;padding:1rem 1.25rem;"
    "margin:0 0 1rem}h2{margin:0 0 .6rem;font-size:1.2rem}\n"
    "figure{margin:0}figcaption{color:var(--soft);font-size:.85rem;padding:.15rem 0 .5rem}"
    "img{width:100%;height:auto;display:block;border-radius:4px}"
    ".strip{display:grid;grid-template-columns:repeat(auto-fill,minmax(260px,1fr));gap:.6rem;margin-top:."
    "6rem}\n"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.25rem .8rem .25rem 0;"
    "border-bottom:1px solid "
    "var(--line);vertical-align:top}th{font-weight:normal;color:var(--soft);width:17rem}\n"
    "pre{background:#f6f8fa;border:1px solid var(--line);border-radius:4px;padding:.8rem;overflow-x:auto;"
    "font:13px/1.45 ui-monospace,'DejaVu Sans Mono',monospace;margin:.4rem 0}\n"
    "summary{cursor:pointer;color:var(--soft)}svg{max-width:100%;height:auto}\n"
    ".two{display:grid;grid-template-columns:repeat(auto-fit,minmax(430px,1fr));gap:0 2rem}\n"
    "@media(max-width:500px){.two{grid-template-columns:1fr}th{width:9rem}}\n"
    "</style>\n";

static void row(struct text *t, const char *name, const char *value)
{
  if (!value || !*value) return;
  text_put(t, "<tr><th>");
  text_put_escaped(t, name);
  text_put(t, "</th><td>");
  text_put_escaped(t, value);
  text_put(t, "</td></tr>\n");
}

__attribute__((format(printf, 3, 4))) static void row_of(struct text *t, const char *name, const char *format,
                                                         ...)
{
  char value[512];
  va_list args;
  va_start(args, format);
  vsnprintf(value, sizeof value, format, args);
  va_end(args);
  row(t, name, value);
}

/* Whether the last frame is the scene's last. */
static bool is_finished(const struct subject *s)
{
  return s->scene && s->last.index + s->scene->frame_every > scene_last_frame(s->scene);
}

static void put_head(struct text *t, const struct subject *s)
{
  text_put(t, "%s<title>", head);
  text_put_escaped(t, s->name);
  text_put(t, " - Firn</title></head>\n<body><header><h1>");
  text_put_escaped(t, s->name);
  text_put(t, "</h1><p>%lld particles, %.4g s of snow", (long long)s->particles, s->last.time);
  if (s->scene)
    text_put(t, is_finished(s) ? ", finished" : ", %.0f %% of the run done",
             100.0 * s->last.time / fmax(s->scene->end, 1e-30));
  text_put(t, "</p></header>\n<main>\n");
}

static const double *column(const struct subject *s, const char *name)
{
  return s->history && s->history->rows > 0 ? table_column(s->history, name) : NULL;
}

static double sum_of(const struct subject *s, const char *name)
{
  const double *values = column(s, name);
  double sum = 0.0;
  for (int64_t i = 0; values && i < s->history->rows; i++) sum += values[i];
  return sum;
}

/* Seconds of all phases in the rows of the history. */
static double wall_seconds(const struct subject *s)
{
  double sum = 0.0;
  for (int c = 0; s->history && c < s->history->columns; c++)
    if (strncmp(s->history->name[c], "seconds_", 8) == 0) sum += sum_of(s, s->history->name[c]);
  return sum;
}

/* "snow: snow, 400 kg/m3, young 1.4e+05 Pa, ..." */
static void put_material(struct text *t, const char *left, const struct material *m)
{
  const struct material_words *words = material_words(m->model);
  const struct material_key *other;
  char line[512];
  int used = snprintf(line, sizeof line, "%s: %s, %g kg/m3", m->name, words->name, m->density);
  for (int k = 0; k < words->key_count && used < (int)sizeof line; k++) {
    const struct material_key *key = &words->keys[k];
    if (key->type != MATERIAL_NUMBER || !material_has_effect(m, key, false, &other)) continue;
    used += snprintf(line + used, sizeof line - (size_t)used, ", %s %.4g%s%s", key->word, m->value[key->at],
                     key->unit ? " " : "", key->unit ? key->unit : "");
  }
  row_of(t, left, "%s", line);
}

static void put_scene_numbers(struct text *t, const struct scene *scene)
{
  static const char *const kernels[] = {"cubic", "quadratic"};
  if (!scene) return;
  row_of(t, "grid", "%lld x %lld x %lld cells of %g mm", (long long)scene->cells[0],
         (long long)scene->cells[1], (long long)scene->cells[2], 1e3 * scene->spacing);
  row_of(t, "end", "%g s, %g frames per second", scene->end, scene->frame_rate);
  row_of(t, "integrator", "%s", scene->beta > 0.0 ? "semi-implicit" : "explicit");
  if (scene->scheme == SCHEME_APIC)
    row_of(t, "transfer", "APIC, %s kernel", kernels[scene->kernel]);
  else
    row_of(t, "transfer", "FLIP %g, %s kernel", scene->flip_fraction, kernels[scene->kernel]);
  for (int k = 0; k < scene->material_count; k++) put_material(t, k ? "" : "materials", &scene->materials[k]);
}

static void put_history_numbers(struct text *t, const struct subject *s)
{
  const double *particles = column(s, "particles"), *mass = column(s, "mass");
  const double *kinetic = column(s, "kinetic"), *elastic = column(s, "elastic"),
               *potential = column(s, "potential");
  if (!particles) return;
  const int64_t last = s->history->rows - 1;
  const double seconds = wall_seconds(s), solves = (double)s->history->rows;
  double particle_steps = 0.0;
  for (int64_t i = 0; i <= last; i++) particle_steps += particles[i];
  row_of(t, "steps", "%lld, %g halved", (long long)s->last.step, sum_of(s, "halvings"));
  row_of(t, "iterations per step", "%.2f", sum_of(s, "iterations") / solves);
  row_of(t, "wall time of the steps", seconds < 120.0 ? "%.1f s" : "%.0f s (%.1f min)", seconds,
         seconds / 60.0);
  row_of(t, "speed", "%.3g million particle-steps per second", 1e-6 * particle_steps / fmax(seconds, 1e-9));
  row_of(t, "mean imbalance", "%.3f", sum_of(s, "imbalance") / solves);
  if (mass) row_of(t, "mass", "%.6g kg at first, %.6g kg now", mass[0], mass[last]);
  if (kinetic && elastic && potential)
    row_of(t, "energy", "%.5g J at first, %.5g J now", kinetic[0] + elastic[0] + potential[0],
           kinetic[last] + elastic[last] + potential[last]);
}

static void put_numbers(struct text *t, const struct subject *s)
{
  text_put(t, "<section><h2>Numbers</h2><div class=\"two\"><table>\n");
  row_of(t, "particles", "%lld", (long long)s->particles);
  put_history_numbers(t, s);
  text_put(t, "</table><table>\n");
  put_scene_numbers(t, s->scene);
  text_put(t, "</table></div></section>\n");
}

static void put_again(struct text *t, const struct subject *s)
{
  const struct run_record *record = s->record;
  text_put(t, "<section><h2>How to make it again</h2>\n");
  if (record && record->count > 0) {
    text_put(t, "<pre>");
    text_put_escaped(t, record->start[0].command);
    text_put(t, "</pre>\n");
  }
  text_put(t, "<table>\n");
  row(t, "Firn", s->version);
  row(t, "commit", s->commit);
  row(t, "hash of the scene", s->hash);
  if (record) row(t, "scene file", record->scene);
  for (int k = 0; record && k < record->count; k++) {
    const struct run_start *start = &record->start[k];
    row_of(t, k == 0 ? "started" : "started again", "%s on %s, in %s", start->time, start->host,
           start->folder);
    row(t, "machine", start->machine);
    if (k > 0) row(t, "command", start->command);
  }
  text_put(t, "</table></section>\n");
}

static void put_scene(struct text *t, const struct subject *s)
{
  if (!s->scene_text) return;
  text_put(t, "<section><h2>Scene</h2><pre>");
  text_put_escaped(t, s->scene_text);
  text_put(t, "</pre>\n");
  if (s->resolved) {
    text_put(t, "<details><summary>with all defaults</summary><pre>");
    text_put_escaped(t, s->resolved);
    text_put(t, "</pre></details>\n");
  }
  text_put(t, "</section>\n");
}

static int put_plots(struct text *t, const struct subject *s, struct error *err)
{
  struct plot *plot = NULL;
  if (!s->history || s->history->rows == 0) return FIRN_OK;
  const struct run_history run = {s->name, s->history};
  const int code = run_plots(&plot, &run, 1, ~0u, false, "", err);
  if (code) return code;
  char *svg = plot_svg(plot);
  text_put(t, "<section><h2>History</h2>\n");
  text_add(t, svg, strlen(svg));
  text_put(t, "</section>\n");
  mem_free(svg);
  plot_destroy(&plot);
  return FIRN_OK;
}

static int put_picture(struct text *t, const struct image *image, double time, struct error *err)
{
  uint8_t *bytes = NULL;
  size_t size;
  const int code = image_encode_png(image, &bytes, &size, err);
  if (code) return code;
  text_put(t, "<figure><img alt=\"the snow at %.4g s\" src=\"data:image/png;base64,", time);
  text_put_base64(t, bytes, size);
  text_put(t, "\"><figcaption>%.4g s</figcaption></figure>\n", time);
  mem_free(bytes);
  return FIRN_OK;
}

/* Number of the k-th of `count` frames spread over all, the last one first: it opens the page. */
static int chosen(const struct subject *s, int count, int k)
{
  const int last = s->frames->count - 1;
  if (k == 0 || count < 2) return last;
  return count == 2 ? 0 : (int)((int64_t)last * (k - 1) / (count - 1));
}

/* Times of the pictures follow from their numbers where the frames say nothing else. */
static double time_of(const char *path)
{
  struct frame_info info = {.time = 0.0};
  int64_t count;
  return frame_read_info(path, &info, &count, NULL) ? 0.0 : info.time;
}

/* Paints the chosen frames; rank 0 puts them into the text. */
static int put_pictures(struct text *t, const struct comm *comm, const struct subject *s,
                        const struct report_options *o, struct error *err)
{
  const int count = o->pictures < s->frames->count ? o->pictures : s->frames->count;
  if (count == 0) return FIRN_OK;
  char **paths = mem_alloc((size_t)count, sizeof *paths);
  for (int k = 0; k < count; k++) paths[k] = frame_file(s, chosen(s, count, k));
  const struct shot_options options = {.trace = o->trace,
                                       .frames = paths,
                                       .frame_count = count,
                                       .aspect = (double)o->width / o->height,
                                       .aperture = -1.0,
                                       .focus = -1.0};
  struct shot *shot = NULL;
  struct image *image = image_create(o->width, o->height);
  const bool root = !comm || comm->rank == 0;
  int code = shot_open(&shot, comm, &options, err);
  if (root) text_put(t, "<section><h2>Pictures</h2>\n");
  for (int k = 0; k < count && !code; k++) {
    struct picture_report report;
    if (root && k == 1) text_put(t, "<div class=\"strip\">\n");
    if (o->trace || root) code = shot_paint(shot, k, image, NULL, &report, err);
    if (!code && root) code = put_picture(t, image, time_of(paths[k]), err);
    if (comm) code = comm_agree(comm, code, err);
  }
  if (root) text_put(t, count > 1 ? "</div></section>\n" : "</section>\n");
  image_destroy(&image);
  shot_close(&shot);
  for (int k = 0; k < count; k++) mem_free(paths[k]);
  mem_free(paths);
  return code;
}

/* The page of firn view as a page in the page. */
static int put_view(struct text *t, const struct report_options *o, struct error *err)
{
  const struct view_options options = {.run = {o->run}, .run_count = 1, .size = o->view, .frames = 60};
  struct view_report report;
  struct text page = {NULL, 0, 0};
  if (o->view == 0) return FIRN_OK;
  const int code = view_make(&page, &options, &report, err);
  if (!code) {
    text_put(t, "<section><h2>In motion</h2>\n<iframe title=\"the snow in motion\" loading=\"lazy\" "
                "allowfullscreen style=\"width:100%%;height:620px;border:0;border-radius:4px\" srcdoc=\"");
    text_put_escaped(t, page.bytes);
    text_put(t, "\"></iframe>\n</section>\n");
  }
  mem_free(page.bytes);
  return code;
}

int report_write(const struct comm *comm, const struct report_options *o, struct error *err)
{
  struct subject subject;
  struct text text = {NULL, 0, 0};
  int code = subject_open(&subject, o->run, err);
  if (!code)
    code =
        file_check_replaceable(o->output, file_begins_with(o->output, head, strlen(head)), "a report", err);
  if (comm) code = comm_agree(comm, code, err);
  const bool root = !comm || comm->rank == 0;
  if (!code && root) put_head(&text, &subject);
  if (!code) code = put_pictures(&text, comm, &subject, o, err);
  if (!code && root) {
    code = put_view(&text, o, err);
    put_numbers(&text, &subject);
    if (!code) code = put_plots(&text, &subject, err);
    put_again(&text, &subject);
    put_scene(&text, &subject);
    text_put(&text, "<p style=\"color:var(--soft)\">Made by firn %s (commit %s).</p></main></body></html>\n",
             FIRN_VERSION, FIRN_COMMIT);
    if (!code) code = file_write(o->output, 0, text.bytes, text.length, err);
  }
  if (comm) code = comm_agree(comm, code, err);
  mem_free(text.bytes);
  subject_close(&subject);
  return code;
}
