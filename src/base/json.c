#include "base/json.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void append(struct json *json, const char *text)
{
  const size_t length = strlen(text);
  if (json->length + length + 1 > json->capacity) {
    const size_t capacity = 2 * (json->length + length) + 256;
    json->text = mem_resize(json->text, json->length, capacity, 1);
    json->capacity = capacity;
  }
  memcpy(json->text + json->length, text, length + 1);
  json->length += length;
}

const char *json_quote(const char *text, char *out, size_t size)
{
  size_t used = 0;
  out[used++] = '"';
  for (; *text && used + 8 < size; text++) {
    const unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      used += (size_t)snprintf(out + used, size - used, "\\%c", c);
    else if (c < 0x20)
      used += (size_t)snprintf(out + used, size - used, "\\u%04x", c);
    else
      out[used++] = (char)c;
  }
  out[used++] = '"';
  out[used] = '\0';
  return out;
}

/* What comes before a value: a comma, a line of its own, its key. */
static void begin(struct json *json, const char *key)
{
  char quoted[256];
  if (json->after) append(json, ",");
  if (json->depth) append(json, "\n");
  for (int k = 0; k < json->depth; k++) append(json, "  ");
  if (key) {
    append(json, json_quote(key, quoted, sizeof quoted));
    append(json, ": ");
  }
  json->after = true;
}

void json_open(struct json *json, const char *key, char bracket)
{
  begin(json, key);
  append(json, (char[]){bracket, '\0'});
  json->depth++;
  json->after = false;
}

void json_close(struct json *json, char bracket)
{
  json->depth--;
  json->after = false;
  begin(json, NULL);
  if (json->depth == 0) append(json, "\n");
  append(json, (char[]){bracket, '\0'});
  if (json->depth == 0) append(json, "\n");
}

void json_number(struct json *json, const char *key, double value)
{
  char text[32] = "null";
  if (isfinite(value)) snprintf(text, sizeof text, "%.9g", value);
  begin(json, key);
  append(json, text);
}

void json_integer(struct json *json, const char *key, int64_t value)
{
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)value);
  begin(json, key);
  append(json, text);
}

void json_bool(struct json *json, const char *key, bool value)
{
  begin(json, key);
  append(json, value ? "true" : "false");
}

void json_text(struct json *json, const char *key, const char *value)
{
  char quoted[4096];
  begin(json, key);
  append(json, value ? json_quote(value, quoted, sizeof quoted) : "null");
}
