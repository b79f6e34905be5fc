/* The typed getters. A value that is neither what the key wants nor missing is an error that says what was
 * found and what was expected; nothing is converted silently. Numbers are decimal, finite and fill their
 * whole token. */
#include "io/scene/reader.h"

#include "base/memory.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int reader_fail(struct reader *r, const struct yaml_item *item, const char *format, ...)
{
  if (r->code) return r->code;
  va_list args;
  va_start(args, format);
  r->code = yaml_verror(r->yaml, item, r->err, format, args);
  va_end(args);
  return r->code;
}

int reader_fail_key(struct reader *r, const struct yaml_item *map, const char *key, const char *format, ...)
{
  if (r->code) return r->code;
  const struct yaml_item *item = yaml_find(map, key);
  if (!item) item = map;
  va_list args;
  va_start(args, format);
  r->code = yaml_verror(r->yaml, item ? item : r->yaml->root, r->err, format, args);
  va_end(args);
  return r->code;
}

void reader_refuse(struct reader *r, const struct yaml_item *map, const char *key, const char *why)
{
  struct yaml_item *item = yaml_find(map, key);
  if (item && r->stored)
    item->used = true;
  else if (item)
    reader_fail(r, item, "has no effect %s; remove it", why);
}

void reader_write(struct reader *r, const char *format, ...)
{
  if (r->unwritten || r->code) return; /* after an error an item may be open that was never begun */
  char line[8192];
  va_list args;
  va_start(args, format);
  const int wanted = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  const size_t size = wanted < (int)sizeof line ? (size_t)wanted : sizeof line - 1,
               indent = 2 * (size_t)r->depth;
  const size_t needed = r->length + indent + size + 2;
  if (needed > r->capacity) {
    r->text = mem_resize(r->text, r->capacity, 2 * needed, 1);
    r->capacity = 2 * needed;
  }
  char *at = r->text + r->length;
  memset(at, ' ', indent);
  if (r->new_item) at[indent - 2] = '-';
  r->new_item = false;
  memcpy(at + indent, line, size);
  memcpy(at + indent + size, "\n", 2);
  r->length = needed - 1;
}

/* Edit distance with swaps of neighbours, for words of at most 31 letters. */
static int edit_distance(const char *a, const char *b)
{
  const size_t n = strlen(a), m = strlen(b);
  int d[32][32];
  if (n > 31 || m > 31) return 32;
  for (size_t i = 0; i <= n; i++) {
    for (size_t j = 0; j <= m; j++) {
      if (!i || !j) {
        d[i][j] = (int)(i + j);
        continue;
      }
      const int same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
      int best = d[i - 1][j - 1] + !same;
      if (d[i - 1][j] + 1 < best) best = d[i - 1][j] + 1;
      if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
        best = d[i - 2][j - 2] + 1;
      d[i][j] = best;
    }
  }
  return d[n][m];
}

const char *reader_nearest(const char *word, const char *const *words)
{
  const char *nearest = NULL;
  int least = 32;
  for (; *words; words++) {
    const int distance = edit_distance(word, *words), length = (int)strlen(*words);
    if (distance >= least || distance >= length || distance > (length + 2) / 3) continue;
    least = distance;
    nearest = *words;
  }
  return nearest;
}

/* "a, b, c" as far as there is room. */
static void join(const char *const *words, char *buffer, size_t size)
{
  size_t used = 0;
  buffer[0] = '\0';
  for (; *words && used < size; words++)
    used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? ", " : "", *words);
}

/* The last sentence of a message about an unknown word. */
static void suggest(const char *word, const char *const *words, char *buffer, size_t size)
{
  char list[320];
  const char *nearest = reader_nearest(word, words);
  join(words, list, sizeof list);
  if (nearest)
    snprintf(buffer, size, "did you mean '%s'? (valid: %s)", nearest, list);
  else
    snprintf(buffer, size, "valid: %s", list);
}

/* "the list" and such, for messages. */
static const char *found(const struct yaml_item *item, char *buffer, size_t size)
{
  char word[48];
  if (item->kind == YAML_LIST)
    snprintf(buffer, size, "a list of %d", item->count);
  else if (item->kind == YAML_MAP)
    snprintf(buffer, size, "a map of keys");
  else if (yaml_is_null(item))
    snprintf(buffer, size, "nothing");
  else
    snprintf(buffer, size, item->quoted ? "the text \"%s\"" : "'%s'",
             yaml_clean(item->text, word, sizeof word));
  return buffer;
}

enum { GUESS = 96 };

/* What a comma in a number was meant to be, as the end of a message; nothing where there is none. */
static const char *guess_comma(const char *text, char buffer[GUESS])
{
  const char *comma = strchr(text, ',');
  buffer[0] = '\0';
  if (!comma || text[strspn(text, "0123456789+-.,eE")] || strlen(text) > 24) return buffer;
  if (strchr(comma + 1, ','))
    snprintf(buffer, GUESS, "; write numbers without commas between their digits");
  else
    snprintf(buffer, GUESS, "; write numbers with a point: %.*s.%s", (int)(comma - text), text, comma + 1);
  return buffer;
}

static int fail_type(struct reader *r, const struct yaml_item *item, const char *expected)
{
  char what[96], guess[GUESS] = "";
  if (item->kind == YAML_SCALAR && !item->quoted) guess_comma(item->text, guess);
  return reader_fail(r, item, "expected %s, found %s%s", expected, found(item, what, sizeof what), guess);
}

/* A list of other than `count` numbers, or no list. */
static int fail_list(struct reader *r, const struct yaml_item *item, int count, const char *expected)
{
  char what[96];
  return reader_fail(r, item, "expected %s, found %s%s", expected, found(item, what, sizeof what),
                     item->kind == YAML_LIST && item->count > count
                         ? "; a comma separates two numbers: write 0.5, not 0,5"
                         : "");
}

/* {radius: 0,05} is a radius of 0 and a key 05. The number that was meant, or nothing. */
static const char *guess_split(const struct yaml_item *map, int k, char buffer[GUESS])
{
  const struct yaml_item *item = map->child[k], *before = k > 0 ? map->child[k - 1] : NULL;
  char whole[64];
  buffer[0] = '\0';
  if (!before || before->kind != YAML_SCALAR || !yaml_is_null(item)) return buffer;
  if (item->key[strspn(item->key, "0123456789eE+-")] || strlen(item->key) + strlen(before->text) > 24)
    return buffer;
  snprintf(whole, sizeof whole, "%s,%s", before->text, item->key);
  return guess_comma(whole, buffer);
}

void reader_check_keys(struct reader *r, const struct yaml_item *item, const char *const *keys)
{
  if (r->code) return;
  if (item->kind != YAML_MAP) {
    char list[320], expected[384];
    join(keys, list, sizeof list);
    snprintf(expected, sizeof expected, "a map with the keys %s", list);
    fail_type(r, item, expected);
    return;
  }
  for (int k = 0; k < item->count; k++) {
    const struct yaml_item *child = item->child[k];
    bool known = false;
    for (const char *const *key = keys; *key && !known; key++) known = !strcmp(*key, child->key);
    if (known) continue;
    char advice[448], guess[GUESS];
    suggest(child->key, keys, advice, sizeof advice);
    reader_fail(r, child, "unknown key%s; %s", guess_split(item, k, guess), advice);
    return;
  }
}

struct yaml_item *reader_get(struct reader *r, const struct yaml_item *map, const char *key)
{
  if (r->code) return NULL;
  struct yaml_item *item = yaml_find(map, key);
  if (item) item->used = true;
  return item;
}

const struct yaml_item *reader_open(struct reader *r, const struct yaml_item *map, const char *key,
                                    const char *const *keys)
{
  const struct yaml_item *item = reader_get(r, map, key);
  if (item) reader_check_keys(r, item, keys);
  reader_write(r, "%s:", key);
  r->depth++;
  return r->code ? NULL : item;
}

void reader_close(struct reader *r)
{
  r->depth--;
}

void reader_open_item(struct reader *r)
{
  r->depth++;
  r->new_item = true;
}

static void fail_missing(struct reader *r, const struct yaml_item *map, const char *key, const char *expected)
{
  reader_fail(r, map ? map : r->yaml->root, "the key '%s' is missing; expected %s", key, expected);
}

/* True if the token is a decimal number that a double can hold. */
static bool to_number(const struct yaml_item *item, double *out)
{
  if (item->kind != YAML_SCALAR || item->quoted || !item->text[0]) return false;
  if (item->text[strspn(item->text, "0123456789+-.eE")]) return false; /* no hex, nan, inf */
  char *end;
  *out = strtod(item->text, &end);
  return !*end && isfinite(*out);
}

/* Coordinates, speeds and moduli are squared and multiplied later on: a bound here keeps every product
 * finite. Sizes that must not be 0 are divided by: so does a bound from below. */
static const double largest = 1e15, smallest = 1e-30;

static bool take_number(struct reader *r, const struct yaml_item *item, const char *expected, double *out)
{
  char what[96];
  if (!to_number(item, out))
    fail_type(r, item, expected);
  else if (fabs(*out) > largest)
    reader_fail(r, item, "expected at most 1e15 in size, found %s", found(item, what, sizeof what));
  return !r->code;
}

/* The shortest decimal that reads back as the same double. */
static const char *print_number(double value, char buffer[32])
{
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(buffer, 32, "%.*g", digits, value);
    if (strtod(buffer, NULL) == value) break;
  }
  return buffer;
}

static const char *range_text(enum reader_range range)
{
  switch (range) {
  case RANGE_POSITIVE: return "a finite number above 0";
  case RANGE_NOT_NEGATIVE: return "a finite number of at least 0";
  default: return "a finite number";
  }
}

static void check_range(struct reader *r, const struct yaml_item *item, enum reader_range range, double value)
{
  if ((range == RANGE_POSITIVE && value <= 0.0) || (range == RANGE_NOT_NEGATIVE && value < 0.0))
    fail_type(r, item, range_text(range));
  else if (range != RANGE_ANY && value > 0.0 && value < smallest)
    reader_fail(r, item, "expected at least 1e-30%s, found %s", range == RANGE_POSITIVE ? "" : ", or 0",
                item->text);
}

double reader_number(struct reader *r, const struct yaml_item *map, const char *key, double fallback,
                     enum reader_range range)
{
  const struct yaml_item *item = reader_get(r, map, key);
  double value = fallback;
  char digits[32];
  if (!item && isnan(fallback)) fail_missing(r, map, key, range_text(range));
  if (item && take_number(r, item, range_text(range), &value)) check_range(r, item, range, value);
  if (r->code) return 1.0;
  reader_write(r, "%s: %s", key, print_number(value, digits));
  return value;
}

void reader_write_number(struct reader *r, const char *key, double value)
{
  char digits[32];
  reader_write(r, "%s: %s", key, print_number(value, digits));
}

double reader_number_if(struct reader *r, bool matters, const char *why, const struct yaml_item *map,
                        const char *key, double fallback, enum reader_range range)
{
  if (matters) return reader_number(r, map, key, fallback, range);
  reader_refuse(r, map, key, why);
  return fallback;
}

double reader_number_or_auto(struct reader *r, const struct yaml_item *map, const char *key)
{
  const struct yaml_item *item = reader_get(r, map, key);
  double value = 0.0;
  char digits[32];
  if (!item || (item->kind == YAML_SCALAR && !strcmp(item->text, "auto"))) {
    reader_write(r, "%s: auto", key);
    return 0.0;
  }
  if (take_number(r, item, "auto or a finite number above 0", &value) && value <= 0.0)
    fail_type(r, item, "auto or a finite number above 0");
  if (!r->code) check_range(r, item, RANGE_POSITIVE, value);
  reader_write(r, "%s: %s", key, print_number(value, digits));
  return value;
}

/* Exact integers of any size, and such reals as 5e4. */
static bool to_integer(const struct yaml_item *item, int64_t *out)
{
  double real;
  if (!to_number(item, &real)) return false;
  char *end;
  errno = 0;
  *out = strtoll(item->text, &end, 10);
  if (!*end) return errno == 0;
  if (real != floor(real) || fabs(real) > 0x1p53) return false;
  *out = (int64_t)real;
  return true;
}

int64_t reader_integer(struct reader *r, const struct yaml_item *map, const char *key, int64_t fallback,
                       int64_t low, int64_t high)
{
  const struct yaml_item *item = reader_get(r, map, key);
  int64_t value = fallback;
  char expected[96];
  snprintf(expected, sizeof expected, "a whole number from %lld to %lld", (long long)low, (long long)high);
  if (!item && (fallback < low || fallback > high)) fail_missing(r, map, key, expected);
  if (item && (!to_integer(item, &value) || value < low || value > high)) fail_type(r, item, expected);
  if (r->code) return low;
  reader_write(r, "%s: %lld", key, (long long)value);
  return value;
}

int64_t reader_integer_if(struct reader *r, bool matters, const char *why, const struct yaml_item *map,
                          const char *key, int64_t fallback, int64_t low, int64_t high)
{
  if (matters) return reader_integer(r, map, key, fallback, low, high);
  reader_refuse(r, map, key, why);
  return fallback;
}

uint64_t reader_seed(struct reader *r, const struct yaml_item *map, const char *key, uint64_t fallback)
{
  const struct yaml_item *item = reader_get(r, map, key);
  unsigned long long value = fallback;
  if (item) {
    char *end = NULL;
    errno = 0;
    const bool digits = item->kind == YAML_SCALAR && !item->quoted && isdigit((unsigned char)item->text[0]);
    if (digits) value = strtoull(item->text, &end, 10);
    if (!digits || *end || errno) fail_type(r, item, "a whole number from 0 to 18446744073709551615");
  }
  if (r->code) return 0;
  reader_write(r, "%s: %llu", key, value);
  return value;
}

void reader_numbers(struct reader *r, const struct yaml_item *map, const char *key, int count, double *out)
{
  const struct yaml_item *item = reader_get(r, map, key);
  char expected[64];
  snprintf(expected, sizeof expected, "a list of %d numbers", count);
  for (int d = 0; d < count; d++) out[d] = (double)(d == 0);
  if (!item) fail_missing(r, map, key, expected);
  if (item && (item->kind != YAML_LIST || item->count != count)) fail_list(r, item, count, expected);
  if (r->code) return;
  char list[512];
  size_t used = 0;
  for (int d = 0; d < count; d++) {
    char digits[32];
    if (!take_number(r, item->child[d], "a finite number", &out[d])) return;
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", d ? ", " : "",
                             print_number(out[d], digits));
  }
  reader_write(r, "%s: [%s]", key, list);
}

void reader_vector(struct reader *r, const struct yaml_item *map, const char *key, const double *fallback,
                   double out[3])
{
  const struct yaml_item *item = reader_get(r, map, key);
  for (int d = 0; d < 3; d++) out[d] = fallback ? fallback[d] : (double)(d == 0);
  if (!item && !fallback) fail_missing(r, map, key, "three numbers, like [0, 1, 0]");
  if (item && (item->kind != YAML_LIST || item->count != 3))
    fail_list(r, item, 3, "three numbers, like [0, 1, 0]");
  if (r->code) return;
  for (int d = 0; d < 3 && item; d++)
    if (!take_number(r, item->child[d], "a finite number", &out[d])) return;
  char digits[3][32];
  for (int d = 0; d < 3; d++) print_number(out[d], digits[d]);
  reader_write(r, "%s: [%s, %s, %s]", key, digits[0], digits[1], digits[2]);
}

void reader_integers(struct reader *r, const struct yaml_item *map, const char *key, int64_t low,
                     int64_t high, int64_t out[3])
{
  const struct yaml_item *item = reader_get(r, map, key);
  char expected[96];
  for (int d = 0; d < 3; d++) out[d] = low;
  if (!item) fail_missing(r, map, key, "three whole numbers, like [64, 64, 64]");
  if (item && (item->kind != YAML_LIST || item->count != 3))
    fail_list(r, item, 3, "three whole numbers, like [64, 64, 64]");
  if (r->code) return;
  snprintf(expected, sizeof expected, "a whole number from %lld to %lld", (long long)low, (long long)high);
  for (int d = 0; d < 3; d++)
    if (!to_integer(item->child[d], &out[d]) || out[d] < low || out[d] > high)
      fail_type(r, item->child[d], expected);
  reader_write(r, "%s: [%lld, %lld, %lld]", key, (long long)out[0], (long long)out[1], (long long)out[2]);
}

bool reader_flag(struct reader *r, const struct yaml_item *map, const char *key, bool fallback)
{
  const struct yaml_item *item = reader_get(r, map, key);
  bool value = fallback;
  if (item) {
    const bool plain = item->kind == YAML_SCALAR && !item->quoted;
    value = plain && !strcmp(item->text, "true");
    if (!value && !(plain && !strcmp(item->text, "false"))) fail_type(r, item, "true or false");
  }
  reader_write(r, "%s: %s", key, value ? "true" : "false");
  return value;
}

/* Index of the item's word, or -1 with an error. */
static int to_choice(struct reader *r, const struct yaml_item *item, const char *const *words)
{
  char list[256], what[96], advice[352];
  join(words, list, sizeof list);
  if (item->kind != YAML_SCALAR || yaml_is_null(item)) {
    reader_fail(r, item, "expected one of %s, found %s", list, found(item, what, sizeof what));
    return -1;
  }
  for (int k = 0; words[k]; k++)
    if (!strcmp(words[k], item->text)) return k;
  suggest(item->text, words, advice, sizeof advice);
  reader_fail(r, item, "unknown value %s; %s", found(item, what, sizeof what), advice);
  return -1;
}

int reader_choice(struct reader *r, const struct yaml_item *map, const char *key, int fallback,
                  const char *const *words)
{
  const struct yaml_item *item = reader_get(r, map, key);
  const int choice = item ? to_choice(r, item, words) : fallback;
  if (r->code) return fallback;
  reader_write(r, "%s: %s", key, words[choice]);
  return choice;
}

unsigned reader_choices(struct reader *r, const struct yaml_item *map, const char *key, unsigned fallback,
                        const char *const *words)
{
  const struct yaml_item *item = reader_get(r, map, key);
  unsigned bits = item ? 0 : fallback;
  if (item && item->kind != YAML_LIST) fail_type(r, item, "a list, like [density, jp]");
  for (int k = 0; item && !r->code && k < item->count; k++) {
    const int choice = to_choice(r, item->child[k], words);
    if (choice < 0) return 0;
    if (bits & (1u << choice)) reader_fail(r, item->child[k], "'%s' is in the list twice", words[choice]);
    bits |= 1u << choice;
  }
  char list[256];
  size_t used = 0;
  list[0] = '\0';
  for (int k = 0; words[k]; k++)
    if (bits & (1u << k))
      used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", words[k]);
  reader_write(r, "%s: [%s]", key, list);
  return bits;
}

/* Double quotes, with the two characters escaped that need it; control characters never get here. */
static void print_quoted(const char *text, char *buffer, size_t size)
{
  size_t used = 0;
  buffer[used++] = '"';
  for (; *text && used + 4 < size; text++) {
    if (*text == '"' || *text == '\\') buffer[used++] = '\\';
    buffer[used++] = *text;
  }
  memcpy(buffer + used, "\"", 2);
}

const char *reader_string(struct reader *r, const struct yaml_item *map, const char *key,
                          const char *fallback)
{
  const struct yaml_item *item = reader_get(r, map, key);
  const char *value = fallback;
  if (!item && !fallback) fail_missing(r, map, key, "text");
  if (item && (item->kind != YAML_SCALAR || !item->text[0] || yaml_is_null(item))) fail_type(r, item, "text");
  if (r->code) return fallback ? fallback : "";
  if (item) value = item->text;
  for (const char *c = value; *c; c++)
    if ((unsigned char)*c < 32 || *c == 127)
      reader_fail_key(r, map, key, "the text must be one line without control characters");
  if (strlen(value) > 3000) reader_fail_key(r, map, key, "the text is longer than 3000 bytes");
  char quoted[6144];
  print_quoted(value, quoted, sizeof quoted);
  reader_write(r, "%s: %s", key, quoted);
  return value;
}

void reader_check_name(struct reader *r, const struct yaml_item *item, const char *name, size_t size,
                       bool dots)
{
  if (r->code) return;
  bool good = *name && (isalnum((unsigned char)*name) || *name == '_' || (unsigned char)*name >= 128);
  for (const char *c = name; *c; c++)
    good = good && (isalnum((unsigned char)*c) || *c == '_' || *c == '-' || (unsigned char)*c >= 128 ||
                    (dots && *c == '.'));
  char word[48];
  if (!good)
    reader_fail(r, item, "'%s' is not a name; use letters, digits, _ and -, and begin with a letter or digit",
                yaml_clean(name, word, sizeof word));
  else if (strlen(name) >= size)
    reader_fail(r, item, "the name '%s' is longer than %zu bytes", yaml_clean(name, word, sizeof word),
                size - 1);
}
