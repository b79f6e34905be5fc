/* JSON as text, written from the top down; what is not finite becomes null. */
#ifndef FIRN_BASE_JSON_H
#define FIRN_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
  char *text; /* the caller frees it with mem_free() */
  size_t length, capacity;
  int depth;
  bool after; /* something stands in the open object already */
};

/* Opens an object '{' or a list '['. The key is NULL at the top and in lists, here and below. */
void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket); /* '}' or ']' */

void json_number(struct json *json, const char *key, double value);
void json_integer(struct json *json, const char *key, int64_t value);
void json_bool(struct json *json, const char *key, bool value);
void json_text(struct json *json, const char *key, const char *value); /* NULL becomes null */

/* The text as a quoted JSON string into out, cut to fit. Returns out. */
const char *json_quote(const char *text, char *out, size_t size);

#endif
