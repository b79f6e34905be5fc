#include "io/run/run_yml.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/version.h"
#include "io/file.h"
#include "io/scene/yaml.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BYTES = 16 << 20 };

static const char head[] = "# How this run was started; written by firn run, read by pictures and reports.\n";

bool run_record_is_one(const char *path)
{
  return file_begins_with(path, head, sizeof head - 1);
}

/* "    key: "value"" with what YAML wants escaped. */
static void append_pair(struct text *text, const char *indent, const char *key, const char *value)
{
  text_put(text, "%s", indent);
  text_put(text, "%s", key);
  text_put(text, "%s", ": \"");
  for (const char *c = value; *c; c++) {
    char escaped[8];
    if (*c == '"' || *c == '\\')
      snprintf(escaped, sizeof escaped, "\\%c", *c);
    else if ((unsigned char)*c < 0x20 || (unsigned char)*c == 0x7f)
      snprintf(escaped, sizeof escaped, "\\x%02x", (unsigned)(unsigned char)*c);
    else
      snprintf(escaped, sizeof escaped, "%c", *c);
    text_put(text, "%s", escaped);
  }
  text_put(text, "%s", "\"\n");
}

/* Whether a shell takes the word as it is. */
static bool is_plain(const char *word)
{
  static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  return *word && strspn(word, safe) == strlen(word);
}

char *run_record_command(int argc, char *const *argv)
{
  struct text text = {NULL, 0, 0};
  text_put(&text, "%s", "firn");
  for (int k = 0; k < argc; k++) {
    text_put(&text, "%s", " ");
    if (is_plain(argv[k])) {
      text_put(&text, "%s", argv[k]);
      continue;
    }
    text_put(&text, "%s", "'");
    for (const char *c = argv[k]; *c; c++) text_add(&text, *c == '\'' ? "'\\''" : c, *c == '\'' ? 4 : 1);
    text_put(&text, "%s", "'");
  }
  return text.bytes;
}

/* The list of starts as it is in the file so far; empty if there is none. */
static char *old_starts(const char *path)
{
  char *old = NULL;
  size_t size;
  if (file_read(path, MOST_BYTES, &old, &size, NULL) != FIRN_OK) return mem_strdup("");
  const char *list = strstr(old, "\nstarts:\n");
  char *kept = mem_strdup(list ? list + strlen("\nstarts:\n") : "");
  mem_free(old);
  return kept;
}

int run_record_add(const char *output, const char *scene, const char *command, const char *machine,
                   bool fresh, int64_t generation, struct error *err)
{
  char place[PATH_MAX], host[256] = "", folder[PATH_MAX], when[64];
  const time_t now = time(NULL);
  struct tm local;
  char *path = file_join(output, "run.yml"), *before = fresh ? mem_strdup("") : old_starts(path);
  struct text text = {NULL, 0, 0};
  if (gethostname(host, sizeof host - 1)) host[0] = '\0';
  if (!getcwd(folder, sizeof folder)) folder[0] = '\0';
  strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S %z", localtime_r(&now, &local));
  text_put(&text, "%s", head);
  append_pair(&text, "", "scene", realpath(scene, place) ? place : scene);
  text_put(&text, "%s", "starts:\n");
  text_put(&text, "%s", before);
  append_pair(&text, "  - ", "command", command);
  append_pair(&text, "    ", "folder", folder);
  append_pair(&text, "    ", "time", when);
  append_pair(&text, "    ", "host", host);
  append_pair(&text, "    ", "machine", machine ? machine : "");
  append_pair(&text, "    ", "version", FIRN_VERSION " (commit " FIRN_COMMIT ")");
  const int code = file_write(path, generation, text.bytes, text.length, err);
  mem_free(text.bytes);
  mem_free(before);
  mem_free(path);
  return code;
}

static char *copy_of(const struct yaml_item *map, const char *key)
{
  const struct yaml_item *item = yaml_find(map, key);
  return mem_strdup(item && item->text ? item->text : "");
}

int run_record_read(struct run_record **out, const char *output, struct error *err)
{
  char *path = file_join(output, "run.yml"), *text = NULL;
  size_t size;
  struct yaml *yaml = NULL;
  *out = NULL;
  if (access(path, F_OK)) {
    mem_free(path);
    return FIRN_OK;
  }
  int code = file_read(path, MOST_BYTES, &text, &size, err);
  if (!code) code = yaml_parse(&yaml, path, text, err);
  if (!code) {
    struct run_record *record = mem_alloc(1, sizeof *record);
    const struct yaml_item *list = yaml_find(yaml->root, "starts");
    record->scene = copy_of(yaml->root, "scene");
    record->count = list ? list->count : 0;
    record->start = mem_alloc((size_t)record->count, sizeof *record->start);
    for (int k = 0; k < record->count; k++) {
      const struct yaml_item *map = list->child[k];
      record->start[k] =
          (struct run_start){copy_of(map, "command"), copy_of(map, "folder"),  copy_of(map, "time"),
                             copy_of(map, "host"),    copy_of(map, "machine"), copy_of(map, "version")};
    }
    *out = record;
  }
  yaml_destroy(&yaml);
  mem_free(text);
  mem_free(path);
  return code;
}

void run_record_destroy(struct run_record **record)
{
  struct run_record *r = *record;
  if (!r) return;
  for (int k = 0; k < r->count; k++) {
    mem_free(r->start[k].command);
    mem_free(r->start[k].folder);
    mem_free(r->start[k].time);
    mem_free(r->start[k].host);
    mem_free(r->start[k].machine);
    mem_free(r->start[k].version);
  }
  mem_free(r->start);
  mem_free(r->scene);
  mem_free(r);
  *record = NULL;
}
