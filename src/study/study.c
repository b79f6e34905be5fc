#include "study/study.h"

#include "base/json.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/scene/yaml.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const study_kinds[STUDY_KINDS] = {"sweep", "strong", "weak"};

/* --- texts
 * ------------------------------------------------------------------------------------------------------- */

static void add_word(char ***words, int *count, const char *text, size_t length)
{
  *words = mem_resize(*words, (size_t)*count, (size_t)*count + 1, sizeof **words);
  char *word = (*words)[(*count)++] = mem_alloc(length + 1, 1);
  memcpy(word, text, length);
}

void study_free_words(char **words, int count)
{
  for (int k = 0; k < count; k++) mem_free(words[k]);
  mem_free(words);
}

/* The end of a value: a comma that is in no bracket and no quotes, or the end of the text. */
static const char *value_end(const char *text)
{
  int depth = 0;
  char quote = '\0';
  for (; *text; text++) {
    if (quote) {
      if (*text == quote) quote = '\0';
    } else if (*text == '"' || *text == '\'') {
      quote = *text;
    } else if (strchr("[{", *text)) {
      depth++;
    } else if (strchr("]}", *text)) {
      depth--;
    } else if (*text == ',' && depth <= 0) {
      break;
    }
  }
  return text;
}

static void split(const char *text, char ***words, int *count)
{
  for (;;) {
    const char *end = value_end(text);
    add_word(words, count, text, (size_t)(end - text));
    if (!*end) return;
    text = end + 1;
  }
}

/* --- making
 * ------------------------------------------------------------------------------------------------------ */

static struct study *study_create(enum study_kind kind, const char *scene)
{
  struct study *s = mem_alloc(1, sizeof *s);
  char whole[PATH_MAX];
  s->kind = kind;
  s->scene = mem_strdup(realpath(scene, whole) ? whole : scene);
  return s;
}

void study_destroy(struct study **study)
{
  struct study *s = *study;
  if (!s) return;
  for (int k = 0; k < s->run_count; k++) study_free_words(s->runs[k].values, s->key_count);
  study_free_words(s->keys, s->key_count);
  study_free_words(s->arguments, s->argument_count);
  mem_free(s->runs);
  mem_free(s->folder);
  mem_free(s->scene);
  mem_free(s);
  *study = NULL;
}

static struct study_run *add_run(struct study *s)
{
  s->runs = mem_resize(s->runs, (size_t)s->run_count, (size_t)s->run_count + 1, sizeof *s->runs);
  return &s->runs[s->run_count++];
}

static int sweep_words(struct study *s, char *const *words, int count, struct error *err)
{
  char **values[STUDY_MOST_KEYS] = {NULL};
  int many[STUDY_MOST_KEYS] = {0}, code = FIRN_OK;
  long long runs = 1;
  if (count > STUDY_MOST_KEYS)
    return error_set(err, FIRN_EINPUT, "study: %d keys are too many; at most %d", count, STUDY_MOST_KEYS);
  for (int k = 0; k < count && !code; k++) {
    const char *equals = strchr(words[k], '=');
    if (!equals || equals == words[k] || !equals[1]) {
      code = error_set(
          err, FIRN_EINPUT,
          "study: \"%s\" is neither KEY=A,B,C such as time.cfl=0.2,0.4 nor a table that can be read",
          words[k]);
      break;
    }
    add_word(&s->keys, &s->key_count, words[k], (size_t)(equals - words[k]));
    split(equals + 1, &values[k], &many[k]);
    runs *= many[k];
    if (runs > STUDY_MOST_RUNS)
      code = error_set(err, FIRN_ELIMIT, "study: more than %d runs", STUDY_MOST_RUNS);
  }
  for (long long run = 0; run < runs && !code; run++) {
    struct study_run *r = add_run(s);
    r->values = mem_alloc((size_t)count, sizeof *r->values);
    long long rest = run;
    for (int k = count - 1; k >= 0; k--) {
      r->values[k] = mem_strdup(values[k][rest % many[k]]);
      rest /= many[k];
    }
  }
  for (int k = 0; k < count; k++) study_free_words(values[k], many[k]);
  return code;
}

/* A field of a CSV line without its quotes. */
static char *unquoted(const char *field)
{
  while (isspace((unsigned char)*field)) field++;
  size_t length = strlen(field);
  while (length > 0 && isspace((unsigned char)field[length - 1])) length--;
  char *text = mem_alloc(length + 1, 1);
  if (length < 2 || field[0] != '"' || field[length - 1] != '"') {
    memcpy(text, field, length);
    return text;
  }
  char *at = text;
  for (size_t k = 1; k + 1 < length; k++) {
    *at++ = field[k];
    if (field[k] == '"' && field[k + 1] == '"' && k + 2 < length) k++;
  }
  return text;
}

static int add_table_line(struct study *s, const char *path, int line, const char *text, struct error *err)
{
  char **fields = NULL;
  int count = 0;
  split(text, &fields, &count);
  for (int k = 0; k < count; k++) {
    char *plain = unquoted(fields[k]);
    mem_free(fields[k]);
    fields[k] = plain;
  }
  if (!s->keys) {
    s->keys = fields;
    s->key_count = count;
    if (count <= STUDY_MOST_KEYS) return FIRN_OK;
    return error_set(err, FIRN_EINPUT, "%s:%d: more than %d keys", path, line, STUDY_MOST_KEYS);
  }
  if (count != s->key_count || s->run_count == STUDY_MOST_RUNS) {
    study_free_words(fields, count);
    return error_set(err, FIRN_EINPUT, "%s:%d: %d values for the %d keys of the first line", path, line,
                     count, s->key_count);
  }
  add_run(s)->values = fields;
  return FIRN_OK;
}

static int sweep_table(struct study *s, const char *path, struct error *err)
{
  char *text = NULL, *rest = NULL;
  size_t size;
  int code = file_read(path, 1 << 24, &text, &size, err), number = 1;
  for (char *line = text; !code && line && *line; line = rest, number++) {
    rest = strchr(line, '\n');
    if (rest) *rest++ = '\0';
    line[strcspn(line, "\r")] = '\0';
    if (*line && *line != '#') code = add_table_line(s, path, number, line, err);
  }
  mem_free(text);
  if (!code && s->run_count == 0)
    code = error_set(err, FIRN_EINPUT, "%s: expected a line of keys and then a line of values per run", path);
  return code;
}

int study_sweep(struct study **out, const char *scene, char *const *words, int word_count, struct error *err)
{
  struct study *s = study_create(STUDY_SWEEP, scene);
  const bool table =
      word_count == 1 && !strchr(words[0], '=') && file_check_readable(words[0], NULL) == FIRN_OK;
  const int code = table ? sweep_table(s, words[0], err) : sweep_words(s, words, word_count, err);
  if (code) study_destroy(&s);
  *out = s;
  return code;
}

/* An entry of --ranks. */
struct layout {
  int ranks, threads; /* threads: 0 if not given */
  int64_t cores, copies;
};

static void add_scaling_run(struct study *s, const struct layout *l, int ranks, bool check,
                            int64_t copy_cells)
{
  char text[32];
  struct study_run *run = add_run(s);
  const int64_t values[2] = {l->copies, copy_cells};
  run->ranks = ranks;
  run->threads = l->threads;
  run->check = check;
  run->values = mem_alloc((size_t)s->key_count, sizeof *run->values);
  for (int k = 0; k < s->key_count; k++) {
    snprintf(text, sizeof text, "%lld", (long long)values[k]);
    run->values[k] = mem_strdup(text);
  }
}

static bool read_layout(const char *word, struct layout *out)
{
  char *end;
  const long ranks = strtol(word, &end, 10);
  long threads = 0;
  if (end == word || ranks < 1 || ranks > 1000000) return false;
  if (*end == 'x') {
    const char *second = end + 1;
    threads = strtol(second, &end, 10);
    if (end == second || threads < 1 || threads > 100000) return false;
  }
  *out = (struct layout){
      .ranks = (int)ranks, .threads = (int)threads, .cores = (int64_t)ranks * (threads ? threads : 1)};
  return *end == '\0';
}

/* Entries with threads and such without cannot be compared; nor is one of use twice. */
static bool follows(const struct layout *all, int count)
{
  const struct layout *last = &all[count];
  for (int k = 0; k < count; k++) {
    if (all[k].cores > last->cores || (all[k].threads == 0) != (last->threads == 0)) return false;
    if (all[k].ranks == last->ranks && all[k].threads == last->threads) return false;
  }
  return true;
}

/* As much snow a core as in the first. */
static int count_copies(struct layout *all, int count, struct error *err)
{
  for (int k = 0; k < count; k++) {
    all[k].copies = all[k].cores * all[0].ranks / all[0].cores;
    if (all[k].copies * all[0].cores == all[k].cores * all[0].ranks) continue;
    return error_set(err, FIRN_EINPUT,
                     "study: %lld cores are no multiple of the %lld of one copy of the scene",
                     (long long)all[k].cores, (long long)(all[0].cores / all[0].ranks));
  }
  return FIRN_OK;
}

static int read_layouts(const char *text, struct layout **out, int *count, struct error *err)
{
  char **list = NULL;
  int words = 0, code = FIRN_OK;
  split(text, &list, &words);
  *out = mem_alloc((size_t)words, sizeof **out);
  for (*count = 0; *count < words && !code; ++*count)
    if (!read_layout(list[*count], &(*out)[*count]) || !follows(*out, *count))
      code = error_set(err, FIRN_EINPUT,
                       "study: --ranks takes rising numbers such as 1,2,4,8, or ranks and threads such as "
                       "1x4,2x4,4x4 whose cores do not fall, not \"%s\"",
                       text);
  study_free_words(list, words);
  return code;
}

int study_scaling(struct study **out, enum study_kind kind, const char *scene, const struct study_plan *plan,
                  struct error *err)
{
  struct study *s = study_create(kind, scene);
  struct layout *all = NULL;
  int count = 0, code = read_layouts(plan->ranks, &all, &count, err);
  if (!code && kind == STUDY_WEAK) code = count_copies(all, count, err);
  if (!code && kind == STUDY_WEAK) {
    add_word(&s->keys, &s->key_count, "domain.copies", strlen("domain.copies"));
    if (plan->copy_cells) add_word(&s->keys, &s->key_count, "domain.copy_cells", strlen("domain.copy_cells"));
  }
  /* Repeats come in turn, so that what changes slowly on a machine touches all alike. */
  for (int repeat = 0; repeat < plan->repeats && !code; repeat++)
    for (int k = 0; k < count; k++) {
      const int ranks = all[k].ranks;
      add_scaling_run(s, &all[k], ranks, false, plan->copy_cells);
      if (kind == STUDY_WEAK && repeat == 0)
        add_scaling_run(s, &all[k], ranks > 1 ? ranks - 1 : 2, true, plan->copy_cells);
    }
  mem_free(all);
  if (code) study_destroy(&s);
  *out = s;
  return code;
}

/* --- the file
 * ---------------------------------------------------------------------------------------------------- */

static void put_words(struct json *json, const char *key, char *const *words, int count)
{
  json_open(json, key, '[');
  for (int k = 0; k < count; k++) json_text(json, NULL, words[k]);
  json_close(json, ']');
}

/* Scripts take the words of a run line by line. */
static int check_word(const char *word, struct error *err)
{
  for (const char *c = word; *c; c++)
    if (iscntrl((unsigned char)*c))
      return error_set(err, FIRN_EINPUT,
                       "study: the word \"%.*s\" continues with a control character, such as a line break, "
                       "which the runs of a study cannot be given; remove it",
                       (int)(c - word), word);
  return FIRN_OK;
}

int study_check_words(const struct study *s, struct error *err)
{
  char whole[PATH_MAX];
  int code = check_word(s->folder, err);
  if (!code && (realpath(s->folder, whole) || realpath(".", whole))) code = check_word(whole, err);
  if (!code && strchr(s->folder, '\\'))
    code =
        error_set(err, FIRN_EINPUT,
                  "study: %s has a backslash, which sbatch takes for a sign of its own; choose another name",
                  s->folder);
  if (!code) code = check_word(s->scene, err);
  for (int a = 0; a < s->argument_count && !code; a++) code = check_word(s->arguments[a], err);
  for (int key = 0; key < s->key_count && !code; key++) code = check_word(s->keys[key], err);
  for (int k = 0; k < s->run_count; k++)
    for (int key = 0; key < s->key_count && !code; key++) code = check_word(s->runs[k].values[key], err);
  return code;
}

int study_write(const struct study *s, struct error *err)
{
  char *path = file_join(s->folder, "study.json");
  struct json json = {0};
  int code = file_make_folder(s->folder, err);
  if (!code && access(path, F_OK) == 0)
    code = error_set(err, FIRN_EINPUT, "%s holds a study already; remove it or choose another folder",
                     s->folder);
  json_open(&json, NULL, '{');
  json_text(&json, "kind", study_kinds[s->kind]);
  json_text(&json, "scene", s->scene);
  put_words(&json, "arguments", s->arguments, s->argument_count);
  put_words(&json, "keys", s->keys, s->key_count);
  json_open(&json, "runs", '[');
  for (int k = 0; k < s->run_count; k++) {
    json_open(&json, NULL, '{');
    json_integer(&json, "ranks", s->runs[k].ranks);
    json_integer(&json, "threads", s->runs[k].threads);
    json_bool(&json, "check", s->runs[k].check);
    put_words(&json, "values", s->runs[k].values, s->key_count);
    json_close(&json, '}');
  }
  json_close(&json, ']');
  json_close(&json, '}');
  if (!code) code = file_write(path, 0, json.text, json.length, err);
  mem_free(json.text);
  mem_free(path);
  return code;
}

static bool read_words(const struct yaml_item *list, char ***words, int *count)
{
  if (!list || list->kind != YAML_LIST) return false;
  for (int k = 0; k < list->count; k++) {
    if (list->child[k]->kind != YAML_SCALAR) return false;
    add_word(words, count, list->child[k]->text, strlen(list->child[k]->text));
  }
  return true;
}

static const char *text_of(const struct yaml_item *map, const char *key)
{
  const struct yaml_item *item = yaml_find(map, key);
  return item && item->kind == YAML_SCALAR ? item->text : "";
}

static bool read_run(struct study *s, const struct yaml_item *item)
{
  int count = 0;
  struct study_run *run = add_run(s);
  run->ranks = atoi(text_of(item, "ranks"));
  run->threads = atoi(text_of(item, "threads"));
  run->check = strcmp(text_of(item, "check"), "true") == 0;
  const bool good = read_words(yaml_find(item, "values"), &run->values, &count) && count == s->key_count;
  if (good) return true;
  study_free_words(run->values, count);
  s->run_count--;
  return false;
}

static bool read_all(struct study *s, const struct yaml_item *root)
{
  s->kind = STUDY_KINDS;
  for (int k = 0; k < STUDY_KINDS; k++)
    if (strcmp(text_of(root, "kind"), study_kinds[k]) == 0) s->kind = (enum study_kind)k;
  s->scene = mem_strdup(text_of(root, "scene"));
  bool good = s->kind != STUDY_KINDS &&
              read_words(yaml_find(root, "arguments"), &s->arguments, &s->argument_count) &&
              read_words(yaml_find(root, "keys"), &s->keys, &s->key_count);
  const struct yaml_item *runs = yaml_find(root, "runs");
  good = good && runs && runs->kind == YAML_LIST;
  for (int k = 0; good && k < runs->count; k++) good = read_run(s, runs->child[k]);
  return good;
}

int study_read(struct study **out, const char *folder, struct error *err)
{
  char *path = file_join(folder, "study.json"), *text = NULL;
  size_t size;
  struct yaml *yaml = NULL;
  struct study *s = NULL;
  int code = file_read(path, 1 << 26, &text, &size, err);
  if (!code) code = yaml_parse(&yaml, path, text, err);
  if (!code) {
    s = mem_alloc(1, sizeof *s);
    s->folder = mem_strdup(folder);
    code = read_all(s, yaml->root) ? study_check_words(s, err)
                                   : error_set(err, FIRN_EINPUT, "%s: not a study of Firn", path);
  }
  if (code) study_destroy(&s);
  yaml_destroy(&yaml);
  mem_free(text);
  mem_free(path);
  *out = s;
  return code;
}

/* --- the runs
 * ---------------------------------------------------------------------------------------------------- */

char *study_run_folder(const struct study *s, int k)
{
  char name[32];
  snprintf(name, sizeof name, "run_%03d", k);
  return file_join(s->folder, name);
}

char **study_assignments(const struct study *s, int k)
{
  char **words = mem_alloc((size_t)s->key_count, sizeof *words);
  for (int key = 0; key < s->key_count; key++) {
    const size_t size = strlen(s->keys[key]) + strlen(s->runs[k].values[key]) + 2;
    words[key] = mem_alloc(size, 1);
    snprintf(words[key], size, "%s=%s", s->keys[key], s->runs[k].values[key]);
  }
  return words;
}

void study_print_arguments(const struct study *s, int k, FILE *file)
{
  char *folder = study_run_folder(s, k), **assignments = study_assignments(s, k), whole[PATH_MAX];
  fprintf(file, "%s\n", s->scene);
  for (int a = 0; a < s->argument_count; a++) fprintf(file, "%s\n", s->arguments[a]);
  for (int key = 0; key < s->key_count; key++) fprintf(file, "--set\n%s\n", assignments[key]);
  if (s->runs[k].threads) fprintf(file, "--threads\n%d\n", s->runs[k].threads);
  if (!realpath(s->folder, whole)) snprintf(whole, sizeof whole, "%s", s->folder);
  fprintf(file, "--output\n%s/%s\n", whole, strrchr(folder, '/') + 1);
  study_free_words(assignments, s->key_count);
  mem_free(folder);
}
