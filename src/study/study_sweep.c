/* What came of a sweep: one row a run with the numbers that the user chose, and the last frames side by side.
 */
#include "base/listing.h"
#include "base/log.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/particles/any_file.h"
#include "io/particles/hdf5.h"
#include "io/run/csv_table.h"
#include "io/run/run_json.h"
#include "render/sheet.h"
#include "study/study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char usual_columns[] = "run.steps,run.seconds.stepping,time,particles,kinetic,elastic,potential,"
                                    "max_speed,frame.position_y.mean,frame.position_y.max";

/* --- where numbers come from
 * ------------------------------------------------------------------------------------- */

struct outcome { /* of one run */
  struct yaml *record;
  char *history; /* text of history.csv, or NULL */
  char *frame;   /* path of the last one, or NULL */
};

static char *last_frame(const char *folder)
{
  char *frames = file_join(folder, "frames"), *path = NULL;
  struct file_list *list = NULL;
  if (file_list_create(&list, frames, "frame_", ".h5", NULL) == FIRN_OK && list->count > 0)
    path = file_join(frames, list->names[list->count - 1]);
  file_list_destroy(&list);
  mem_free(frames);
  return path;
}

static struct outcome outcome_of(const struct study *s, int k)
{
  char *folder = study_run_folder(s, k), *path = file_join(folder, "history.csv");
  struct outcome o = {.record = record_read(folder), .frame = last_frame(folder)};
  size_t size;
  file_read(path, (size_t)1 << 32, &o.history, &size, NULL);
  mem_free(path);
  mem_free(folder);
  return o;
}

static void outcome_free(struct outcome *o)
{
  yaml_destroy(&o->record);
  mem_free(o->history);
  mem_free(o->frame);
}

/* The column of the first line with this name; -1 where there is none. */
static int history_column(const char *text, const char *name)
{
  for (int k = 0;; k++) {
    const size_t length = strcspn(text, ",\n");
    if (length == strlen(name) && strncmp(text, name, length) == 0) return k;
    if (text[length] != ',') return -1;
    text += length + 1;
  }
}

/* Of the last whole line. */
static double from_history(const char *text, const char *name)
{
  const int column = text ? history_column(text, name) : -1;
  const char *end = text ? strrchr(text, '\n') : NULL, *line = end;
  while (line && line > text && line[-1] != '\n') line--;
  if (column < 0 || !line || line == text) return NAN;
  for (int k = 0; k < column && line; k++) line = strchr(line, ',') ? strchr(line, ',') + 1 : NULL;
  return line ? strtod(line, NULL) : NAN;
}

static double reduce(const double *values, int64_t count, int stride, int offset, const char *how)
{
  double least = INFINITY, most = -INFINITY, sum = 0.0;
  for (int64_t i = 0; i < count; i++) {
    const double value = values[i * stride + offset];
    least = fmin(least, value);
    most = fmax(most, value);
    sum += value;
  }
  if (count == 0) return NAN;
  if (strcmp(how, "min") == 0) return least;
  if (strcmp(how, "max") == 0) return most;
  if (strcmp(how, "sum") == 0) return sum;
  return strcmp(how, "mean") == 0 ? sum / (double)count : NAN;
}

/* position_y is component 1 of position; a field that is called like that itself comes first. */
static const struct any_file_field *find_field(const struct any_file *state, const char *name, int *component)
{
  const struct any_file_field *field = any_file_find(state, name);
  const size_t length = strlen(name);
  char stem[64];
  *component = 0;
  if (field || length < 3 || name[length - 2] != '_') return field;
  *component = name[length - 1] - 'x';
  snprintf(stem, sizeof stem, "%.*s", (int)length - 2, name);
  field = any_file_find(state, stem);
  return field && *component >= 0 && *component < field->components ? field : NULL;
}

/* "density.mean" or "position_y.max" of a frame. */
static double from_frame(const char *path, const char *name)
{
  char field_name[64];
  const char *dot = strrchr(name, '.');
  if (!path || !dot) return NAN;
  snprintf(field_name, sizeof field_name, "%.*s", (int)(dot - name), name);
  struct any_file *state = NULL;
  void *rows = NULL;
  double value = NAN;
  int component;
  if (any_file_open(&state, path, true, NULL) == FIRN_OK) {
    const struct any_file_field *field = find_field(state, field_name, &component);
    if (field && any_file_load(state, field, H5T_NATIVE_DOUBLE, &rows, NULL) == FIRN_OK)
      value = reduce(rows, state->count, field->components, component, dot + 1);
  }
  mem_free(rows);
  any_file_close(&state);
  return value;
}

static double value_of(const struct outcome *o, const char *column)
{
  if (strncmp(column, "run.", 4) == 0) return record_number(o->record, column + 4);
  if (strncmp(column, "frame.", 6) == 0) return from_frame(o->frame, column + 6);
  return from_history(o->history, column);
}

/* --- the table
 * --------------------------------------------------------------------------------------------------- */

static const char *state_of(const struct outcome *o)
{
  if (!o->record) return o->frame ? "unfinished" : "not run";
  return strcmp(record_text(o->record, "finished"), "true") == 0 ? "done" : "unfinished";
}

struct columns {
  char *text;
  const char *name[256];
  int count;
  bool seen[256]; /* some run has this number */
};

static int read_columns(const char *list, struct columns *c, struct error *err)
{
  *c = (struct columns){.text = mem_strdup(list ? list : usual_columns)};
  char *rest = NULL;
  for (char *word = strtok_r(c->text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
    if (c->count == 256) return error_set(err, FIRN_ELIMIT, "study: more than 256 columns");
    c->name[c->count++] = word;
  }
  return FIRN_OK;
}

static void add_row(struct listing *t, const struct study *s, int k, const struct outcome *o,
                    struct columns *c)
{
  int at = 0;
  listing_row(t);
  listing_put(t, at++, "%d", k);
  listing_put(t, at++, "%s", state_of(o));
  for (int key = 0; key < s->key_count; key++) listing_put(t, at++, "%s", s->runs[k].values[key]);
  for (int n = 0; n < c->count; n++, at++) {
    const double value = value_of(o, c->name[n]);
    if (isnan(value)) continue;
    c->seen[n] = true;
    listing_put(t, at, "%.9g", value);
  }
}

/* A name that no run knows is a mistake; a run that has no number yet is not. */
static int check_columns(const struct columns *c, bool any, struct error *err)
{
  for (int n = 0; n < c->count && any; n++)
    if (!c->seen[n])
      return error_set(err, FIRN_EINPUT,
                       "study: no run has a number \"%s\"; expected a column of history.csv, run.KEY of "
                       "run.json, or frame.FIELD.min, max, mean or sum",
                       c->name[n]);
  return FIRN_OK;
}

/* Short names and values of a run: "cfl=0.2 young=1e5". */
static char *label_of(const struct study *s, int k)
{
  char text[256] = "";
  size_t used = 0;
  for (int key = 0; key < s->key_count && used + 1 < sizeof text; key++) {
    const char *dot = strrchr(s->keys[key], '.');
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s=%s", key ? " " : "",
                             dot ? dot + 1 : s->keys[key], s->runs[k].values[key]);
  }
  return mem_strdup(text);
}

static int draw_sheet(const struct study *s, char **frames, char **labels, int count, struct error *err)
{
  if (count == 0) return FIRN_OK;
  char *path = file_join(s->folder, "sheet.png");
  struct sheet_layout layout;
  struct picture_report report = {.samples = 0};
  const struct sheet_request request = {.shot = {.frames = frames,
                                                 .frame_count = count,
                                                 .captions = labels,
                                                 .labels = true,
                                                 .aperture = -1.0,
                                                 .focus = -1.0},
                                        .output = path,
                                        .width = 480,
                                        .height = 270};
  const int code = sheet_draw(NULL, &request, &layout, &report, err);
  if (!code) log_info("%s: the last frames of %d runs", path, count);
  mem_free(path);
  return code;
}

int study_write_table(const struct study *s, const struct listing *t, FILE *file, struct error *err)
{
  char *path = file_join(s->folder, "results.csv");
  listing_print(t, file);
  const int code = table_write(t, path, "run,", err);
  mem_free(path);
  return code;
}

int study_collect_sweep(const struct study *s, const char *list, FILE *file, struct error *err)
{
  struct columns columns;
  struct listing *t = listing_create();
  char **frames = mem_alloc((size_t)s->run_count, sizeof *frames),
       **labels = mem_alloc((size_t)s->run_count, sizeof *labels);
  int drawn = 0;
  struct hdf5_silence silence;
  hdf5_silence_begin(&silence);
  int code = read_columns(list, &columns, err);
  listing_column(t, "run");
  listing_column(t, "state");
  for (int key = 0; key < s->key_count; key++) listing_column(t, s->keys[key]);
  for (int n = 0; n < columns.count; n++) listing_column(t, columns.name[n]);
  for (int k = 0; k < s->run_count && !code; k++) {
    struct outcome o = outcome_of(s, k);
    add_row(t, s, k, &o, &columns);
    if (o.frame) labels[drawn] = label_of(s, k);
    if (o.frame) frames[drawn++] = mem_strdup(o.frame);
    outcome_free(&o);
  }
  if (!code) code = check_columns(&columns, drawn > 0, err);
  if (!code) code = study_write_table(s, t, file, err);
  if (!code) code = draw_sheet(s, frames, labels, drawn, err);
  hdf5_silence_end(&silence);
  study_free_words(frames, drawn);
  study_free_words(labels, drawn);
  listing_destroy(&t);
  mem_free(columns.text);
  return code;
}
