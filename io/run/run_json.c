#include "io/run/run_json.h"

#include "base/memory.h"
#include "io/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct yaml *record_read(const char *folder)
{
  char *path = file_join(folder, "run.json"), *text = NULL;
  size_t size;
  struct yaml *yaml = NULL;
  if (file_read(path, 1 << 26, &text, &size, NULL) == FIRN_OK) yaml_parse(&yaml, path, text, NULL);
  mem_free(text);
  mem_free(path);
  return yaml;
}

static const struct yaml_item *find(const struct yaml *record, const char *path)
{
  char key[64];
  const struct yaml_item *item = record ? record->root : NULL;
  for (;;) {
    const size_t length = strcspn(path, ".");
    snprintf(key, sizeof key, "%.*s", (int)length, path);
    item = item && item->kind == YAML_MAP ? yaml_find(item, key) : NULL;
    if (!item || !path[length]) return item && item->kind == YAML_SCALAR ? item : NULL;
    path += length + 1;
  }
}

double record_number(const struct yaml *record, const char *path)
{
  const struct yaml_item *item = find(record, path);
  return item && !yaml_is_null(item) ? strtod(item->text, NULL) : NAN;
}

const char *record_text(const struct yaml *record, const char *path)
{
  const struct yaml_item *item = find(record, path);
  return item ? item->text : "";
}
