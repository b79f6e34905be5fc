#include "render/view/view.h"

#include "base/json.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/particles/frame.h"
#include "io/run/csv_table.h"
#include "render/preview/preview.h"
#include "render/shot.h"
#include "render/view/view_bodies.h"
#include "render/view/view_page.h"
#include "render/view/view_particles.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SERIES_ROWS = 500 };

/* A run on its way into the page. */
struct subject {
  char *name;
  char **paths; /* of the frames that go in */
  int count;
  struct scene *scene; /* NULL: none can be read */
  int64_t last;        /* number of the run's last frame */
};

static char *name_of(const char *run)
{
  char *copy = mem_strdup(run);
  size_t length = strlen(copy);
  while (length > 1 && copy[length - 1] == '/') copy[--length] = '\0';
  const char *slash = strrchr(copy, '/');
  char *name = mem_strdup(slash && slash[1] ? slash + 1 : copy);
  mem_free(copy);
  return name;
}

static int subject_open(struct subject *s, const char *run, int most, struct error *err)
{
  struct file_list *list = NULL;
  char *folder = file_join(run, "frames");
  memset(s, 0, sizeof *s);
  s->name = name_of(run);
  int code = file_list_create(&list, folder, "frame_", ".h5", err);
  if (code)
    code =
        error_set(err, FIRN_EINPUT, "%s is not the output folder of a run: it has no folder 'frames'", run);
  if (!code && list->count == 0) code = error_set(err, FIRN_EINPUT, "%s: there are no frames yet", folder);
  if (!code) {
    s->count = list->count < most ? list->count : most;
    s->last = frame_number(list->names[list->count - 1]);
    s->paths = mem_alloc((size_t)s->count, sizeof *s->paths);
    for (int k = 0; k < s->count; k++) {
      const int64_t index = s->count < 2 ? list->count - 1 : (int64_t)k * (list->count - 1) / (s->count - 1);
      s->paths[k] = file_join(folder, list->names[index]);
    }
  }
  file_list_destroy(&list);
  mem_free(folder);
  return code;
}

static void subject_close(struct subject *s)
{
  for (int k = 0; k < s->count; k++) mem_free(s->paths[k]);
  mem_free(s->paths);
  mem_free(s->name);
  scene_destroy(&s->scene);
}

/* The scene of the newest frame that says which. */
static void find_scene(struct subject *s)
{
  for (int k = s->count - 1; k >= 0 && !s->scene; k--) {
    struct frame_origin origin;
    if (frame_read_origin(&origin, s->paths[k], NULL)) continue;
    shot_stored_scene(origin.resolved, s->paths[k], &s->scene);
    frame_origin_free(&origin);
  }
}

/* As a JSON string that may stand in a page. */
static void put_string(struct text *json, const char *plain)
{
  char quoted[1024];
  for (const char *c = json_quote(plain, quoted, sizeof quoted); *c; c++)
    if (*c == '<')
      text_put(json, "\\u003c");
    else
      text_add(json, c, 1);
}

static void put_vector(struct text *json, const char *key, const double v[3])
{
  text_put(json, ",\"%s\":[%.9g,%.9g,%.9g]", key, v[0], v[1], v[2]);
}

/* Columns of a table over its time; those that tell of the machine are left out. */
static void put_series(struct text *json, const char *run, const char *file, bool *first)
{
  struct table *table = NULL;
  char *path = file_join(run, file);
  const int code = table_read(&table, path, NULL);
  mem_free(path);
  const double *time = code ? NULL : table_column(table, "time");
  const int64_t rows = time ? table->rows : 0, stride = rows / SERIES_ROWS + 1;
  for (int c = 0; c < (rows > 0 ? table->columns : 0); c++) {
    const char *name = table->name[c];
    if (strcmp(name, "imbalance") == 0 || strncmp(name, "seconds_", 8) == 0) continue;
    if (strcmp(name, "step") == 0 || strcmp(name, "time") == 0) continue;
    text_put(json, "%s{\"name\":", *first ? "" : ",\n");
    *first = false;
    put_string(json, name);
    for (int part = 0; part < 2; part++) {
      text_put(json, part ? "],\"value\":[" : ",\"time\":[");
      for (int64_t i = 0; i < rows; i += stride) {
        const double value = part ? table->value[c][i] : time[i];
        if (i) text_put(json, ",");
        if (isfinite(value))
          text_put(json, "%.5g", value);
        else
          text_put(json, "null");
      }
    }
    text_put(json, "]}");
  }
  table_destroy(&table);
}

static void put_scene(struct text *json, const struct subject *s, const struct view_particles *p)
{
  const struct scene *scene = s->scene;
  struct preview_stage stage;
  preview_stage_init(&stage, scene ? scene->gravity : NULL);
  put_vector(json, "up", stage.up);
  put_vector(json, "sun", scene && scene->sun.given ? scene->sun.direction : stage.sun);
  preview_stage_destroy(&stage);
  text_put(json, ",\"finished\":%s",
           scene && s->last + scene->frame_every > scene_last_frame(scene) ? "true" : "false");
  text_put(json, ",\"materials\":[");
  for (int k = 0; scene && k < scene->material_count; k++) {
    if (k) text_put(json, ",");
    put_string(json, scene->materials[k].name);
  }
  text_put(json, "]");
  if (scene && scene->camera.given) {
    const struct scene_camera camera = scene_camera_at(&scene->camera, p->frame[0].time);
    text_put(json, ",\"camera\":{\"fov\":%.6g", camera.field_of_view);
    put_vector(json, "eye", camera.eye);
    put_vector(json, "target", camera.target);
    text_put(json, "}");
  }
  double *times = mem_alloc((size_t)p->frame_count, sizeof *times);
  for (int k = 0; k < p->frame_count; k++) times[k] = p->frame[k].time;
  text_put(json, ",\n\"bodies\":");
  view_bodies_put(json, scene ? scene->bodies : NULL, scene ? scene->body_count : 0, times, p->frame_count);
  mem_free(times);
}

static void put_run(struct text *json, const char *run, const struct subject *s,
                    const struct view_particles *p)
{
  bool first = true;
  text_put(json, "{\"name\":");
  put_string(json, s->name);
  text_put(json, ",\"most\":%lld,\"spacing\":%.6g", (long long)p->most, p->spacing);
  put_vector(json, "lower", p->lower);
  put_vector(json, "upper", p->upper);
  text_put(json, ",\n\"frames\":[");
  for (int k = 0; k < p->frame_count; k++)
    text_put(json, "%s[%lld,%.9g,%lld]", k ? "," : "", (long long)p->frame[k].index, p->frame[k].time,
             (long long)p->frame[k].count);
  text_put(json, "],\n\"fields\":[");
  for (int f = 0; f < p->field_count; f++) {
    text_put(json, "%s{\"name\":", f ? "," : "");
    put_string(json, p->field[f].name);
    text_put(json, ",\"unit\":");
    put_string(json, p->field[f].unit);
    text_put(json, ",\"whole\":%s,\"low\":%.7g,\"high\":%.7g}", p->field[f].whole ? "true" : "false",
             (double)p->field[f].low, (double)p->field[f].high);
  }
  text_put(json, "],\n\"layers\":[");
  for (int l = 0; l < p->layer_count; l++)
    text_put(json, "%s[%lld,%lld]", l ? "," : "", (long long)p->slots[l], (long long)p->raw[l]);
  text_put(json, "]");
  put_scene(json, s, p);
  text_put(json, ",\n\"series\":[");
  put_series(json, run, "history.csv", &first);
  put_series(json, run, "probes.csv", &first);
  text_put(json, "]}");
}

/* The page around what is known of the runs. */
static void put_page(struct text *page, const struct text *json, struct view_particles *const *particles,
                     int count)
{
  static const char mark[] = "<!--DATA-->\n";
  const char *template = (const char *)view_page, *middle = strstr(template, mark);
  text_add(page, template, (size_t)(middle - template));
  text_put(page, "<script type=\"application/json\" id=\"meta\">\n");
  text_add(page, json->bytes, json->length);
  text_put(page, "\n</script>\n");
  for (int r = 0; r < count; r++)
    for (int l = 0; l < particles[r]->layer_count; l++) {
      text_put(page, "<script type=\"text/plain\" id=\"d%d_%d\">", r, l);
      text_put_base64(page, particles[r]->layer[l].bytes, particles[r]->layer[l].length);
      text_put(page, "</script>\n");
    }
  text_put(page, "%s", middle + strlen(mark));
}

int view_make(struct text *page, const struct view_options *o, struct view_report *report, struct error *err)
{
  struct subject subject[VIEW_RUNS];
  struct view_particles *particles[VIEW_RUNS] = {NULL};
  struct text json = {NULL, 0, 0};
  int code = FIRN_OK;
  memset(subject, 0, sizeof subject);
  memset(report, 0, sizeof *report);
  for (int r = 0; r < o->run_count && !code; r++) code = subject_open(&subject[r], o->run[r], o->frames, err);
  /* Base64 takes four bytes for three; some is left for the page itself and the plots. */
  const int64_t room = (o->size - 400000) / 4 * 3 / o->run_count;
  for (int r = 0; r < o->run_count && !code; r++) {
    find_scene(&subject[r]);
    code = view_particles_read(&particles[r], subject[r].paths, subject[r].count, room > 1 ? room : 1, err);
  }
  if (!code) {
    text_put(&json, "{\"title\":");
    char title[256];
    snprintf(title, sizeof title, "%s%s%s", subject[0].name, o->run_count > 1 ? " and " : "",
             o->run_count > 1 ? subject[1].name : "");
    put_string(&json, title);
    text_put(&json, ",\"runs\":[");
    for (int r = 0; r < o->run_count; r++) {
      if (r) text_put(&json, ",\n");
      put_run(&json, o->run[r], &subject[r], particles[r]);
      report->frames[r] = particles[r]->frame_count;
      report->particles[r] = particles[r]->most;
      for (int l = 0; l < particles[r]->layer_count; l++) report->shown[r] += particles[r]->slots[l];
    }
    text_put(&json, "]}");
    put_page(page, &json, particles, o->run_count);
  }
  mem_free(json.bytes);
  for (int r = 0; r < o->run_count; r++) {
    view_particles_destroy(&particles[r]);
    subject_close(&subject[r]);
  }
  return code;
}

int view_write(const char *path, const struct view_options *options, struct view_report *report,
               struct error *err)
{
  static const char beginning[] = "<!DOCTYPE html>\n<!-- Made by firn view.";
  struct text page = {NULL, 0, 0};
  int code = file_check_replaceable(path, file_begins_with(path, beginning, strlen(beginning)),
                                    "a page of firn view", err);
  if (!code) code = view_make(&page, options, report, err);
  if (!code) code = file_write(path, 0, page.bytes, page.length, err);
  mem_free(page.bytes);
  return code;
}
