#include "commands/options.h"

#include "base/memory.h"
#include "io/scene/reader.h"

#include <ctype.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The number that text begins with, and where it ends; NULL if there is none. No hex, nan or inf. */
static const char *take(const char *text, double *out)
{
  if (!strspn(text, "0123456789+-.")) return NULL;
  char *end;
  *out = strtod(text, &end);
  const size_t plain = strspn(text, "0123456789+-.eE");
  return end > text && end <= text + plain && isfinite(*out) ? end : NULL;
}

static bool to_number(const char *text, double *out)
{
  const char *end = take(text, out);
  return end && !*end;
}

int option_count(const char *what, const char *text, int64_t low, int64_t high, int64_t *out,
                 struct error *err)
{
  double value;
  if (to_number(text, &value) && value == floor(value) && value >= (double)low && value <= (double)high) {
    *out = (int64_t)value;
    return FIRN_OK;
  }
  return error_set(err, FIRN_EINPUT, "%s needs a whole number from %lld to %lld, not \"%s\"", what,
                   (long long)low, (long long)high, text);
}

int option_positive(const char *what, const char *text, double *out, struct error *err)
{
  if (to_number(text, out) && *out > 0.0) return FIRN_OK;
  return error_set(err, FIRN_EINPUT, "%s needs a number above 0, not \"%s\"", what, text);
}

int option_not_negative(const char *what, const char *text, double *out, struct error *err)
{
  if (to_number(text, out) && *out >= 0.0) return FIRN_OK;
  return error_set(err, FIRN_EINPUT, "%s needs a number that is not negative, not \"%s\"", what, text);
}

int option_between(const char *what, const char *text, double low, double high, double *out,
                   struct error *err)
{
  if (to_number(text, out) && *out >= low && *out <= high) return FIRN_OK;
  return error_set(err, FIRN_EINPUT, "%s needs a number from %g to %g, not \"%s\"", what, low, high, text);
}

int option_numbers(const char *what, const char *text, int count, double *out, struct error *err)
{
  const char *at = text;
  for (int k = 0; k < count && at; k++) {
    at = take(at, &out[k]);
    if (at) at = *at == (k + 1 < count ? ',' : '\0') ? at + 1 : NULL;
  }
  if (at) return FIRN_OK;
  return error_set(err, FIRN_EINPUT, "%s needs %d numbers such as 1,0.5,2, not \"%s\"", what, count, text);
}

/* Digits only; returns where they end. */
static const char *take_digits(const char *text, int *out)
{
  char *end = NULL;
  const long value = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : 0;
  *out = value > 1000000 ? 0 : (int)value;
  return end ? end : text;
}

int option_size(const char *what, const char *text, int least, int *width, int *height, struct error *err)
{
  const char *end = take_digits(text, width);
  if (*end == 'x' && *take_digits(end + 1, height) == '\0' && *width >= least && *height >= least)
    return FIRN_OK;
  return error_set(err, FIRN_EINPUT, "%s '%s' is not a size such as 1280x720", what, text);
}

int option_check_suffix(const char *what, const char *path, const char *suffix, struct error *err)
{
  const size_t n = strlen(path), m = strlen(suffix);
  if (n > m && path[n - m - 1] != '/' && strcasecmp(path + n - m, suffix) == 0) return FIRN_OK;
  return error_set(err, FIRN_EINPUT, "%s \"%s\": the name must end in %s, since that is what is written",
                   what, path, suffix);
}

/* "one|two|three" as "one, two or three". */
static void list_words(const char *words, char *out, size_t size)
{
  size_t used = 0;
  out[0] = '\0';
  for (const char *at = words; *at && used < size;) {
    const size_t n = strcspn(at, "|");
    const char *gap = at == words ? "" : at[n] ? ", " : " or ";
    used += (size_t)snprintf(out + used, size - used, "%s%.*s", gap, (int)n, at);
    at += at[n] ? n + 1 : n;
  }
}

/* The index of text in "one|two|three". */
static int take_word(const char *what, const char *words, const char *text, int *out, struct error *err)
{
  const size_t length = strlen(text);
  int index = 0;
  for (const char *at = words;; index++) {
    const size_t n = strcspn(at, "|");
    if (n == length && strncmp(at, text, n) == 0) {
      *out = index;
      return FIRN_OK;
    }
    if (!at[n]) break;
    at += n + 1;
  }
  char list[128];
  list_words(words, list, sizeof list);
  return error_set(err, FIRN_EINPUT, "%s takes %s, not \"%s\"", what, list, text);
}

static int take_int(const char *what, const struct option_row *row, const char *text, int *out,
                    struct error *err)
{
  int64_t value = 0;
  const int code = option_count(what, text, row->low, row->high, &value, err);
  if (!code) *out = (int)value;
  return code;
}

static int take_row(const struct option_table *table, const struct option_row *row, const char *text,
                    void *into, struct error *err)
{
  char what[64];
  void *out = (char *)into + row->at;
  snprintf(what, sizeof what, "%s: --%s", table->command, row->name);
  switch (row->kind) {
  case OPTION_IS_FLAG: *(bool *)out = true; return FIRN_OK;
  case OPTION_IS_TEXT: *(const char **)out = text; return FIRN_OK;
  case OPTION_IS_INT: return take_int(what, row, text, out, err);
  case OPTION_IS_COUNT: return option_count(what, text, row->low, row->high, out, err);
  case OPTION_IS_POSITIVE: return option_positive(what, text, out, err);
  case OPTION_IS_NOT_NEGATIVE: return option_not_negative(what, text, out, err);
  case OPTION_IS_NUMBERS: return option_numbers(what, text, (int)row->high, out, err);
  case OPTION_IS_WORD: return take_word(what, row->value, text, out, err);
  case OPTION_IS_CALL: break;
  }
  return row->take(into, row, text, err);
}

static int refuse(const struct option_table *table, const char *word, const char *what, struct error *err)
{
  if (what)
    return error_set(err, FIRN_EINPUT, "%s: %.*s %s; see firn help %s", table->command,
                     (int)strcspn(word, "="), word, what, table->command);
  const char **names = mem_alloc((size_t)table->count + 1, sizeof *names);
  for (int k = 0; k < table->count; k++) names[k] = table->rows[k].name;
  const char *nearest = strncmp(word, "--", 2) == 0 ? reader_nearest(word + 2, names) : NULL;
  mem_free(names);
  if (nearest)
    return error_set(err, FIRN_EINPUT, "%s: unknown option \"%s\"; did you mean --%s?", table->command, word,
                     nearest);
  return error_set(err, FIRN_EINPUT, "%s: unknown option \"%s\"; see firn help %s", table->command, word,
                   table->command);
}

enum { LONG_ROWS = 256 }; /* getopt's values of rows begin here, behind all letters */

/* The table as getopt wants it; `letters` has room for two per row. Returns the long options, for mem_free().
 */
static struct option *known_options(const struct option_table *table, char *letters)
{
  struct option *known = mem_alloc((size_t)table->count + 2, sizeof *known);
  for (int k = 0; k < table->count; k++) {
    const struct option_row *row = &table->rows[k];
    known[k] = (struct option){row->name, row->value ? required_argument : no_argument, NULL, LONG_ROWS + k};
    if (row->letter) *letters++ = row->letter;
    if (row->letter && row->value) *letters++ = ':';
  }
  *letters = '\0';
  known[table->count] = (struct option){"help", no_argument, NULL, 'h'};
  return known;
}

static const struct option_row *find_row(const struct option_table *table, int letter)
{
  if (letter >= LONG_ROWS) return &table->rows[letter - LONG_ROWS];
  const struct option_row *row = table->rows;
  while (row->letter != letter) row++;
  return row;
}

int options_read(const struct option_table *table, int argc, char **argv, void *into,
                 struct option_words *words, struct error *err)
{
  char *letters = mem_alloc(2 * (size_t)table->count + 3, 1);
  memcpy(letters, ":h", 2);
  struct option *known = known_options(table, letters + 2);
  int code = FIRN_OK;
  *words = (struct option_words){.help = false};
  optind = 0; /* not 1: another command line may have been read in this process */
  opterr = 0;
  for (int c; !code && !words->help && (c = getopt_long(argc, argv, letters, known, NULL)) != -1;) {
    if (c == 'h')
      words->help = true;
    else if (c == ':')
      code = refuse(table, argv[optind - 1], "needs a value", err);
    else if (c == '?') /* optopt: 0 or the letter that is unknown, else an option that was given a value */
      code = refuse(table, argv[optind - 1], optopt >= LONG_ROWS ? "takes no value" : NULL, err);
    else
      code = take_row(table, find_row(table, c), optarg, into, err);
  }
  words->word = argv + optind;
  words->count = argc - optind;
  mem_free(known);
  mem_free(letters);
  return code;
}

enum { HELP_WIDTH = 100, HELP_LEFT = 24 };

/* "  -o, --output FILE", and its length. */
static int write_left(const struct option_row *row, char *out, size_t size)
{
  char letter[8] = "";
  if (row->letter) snprintf(letter, sizeof letter, "-%c, ", row->letter);
  return snprintf(out, size, "  %s--%s%s%s", letter, row->name, row->value ? " " : "",
                  row->value ? row->value : "");
}

/* The text in lines of at most HELP_WIDTH columns that begin at `indent`; the cursor is at `at`. */
static void print_wrapped(const char *text, int at, int indent)
{
  printf("%*s", indent - at, "");
  at = indent;
  while (*text) {
    const int n = (int)strcspn(text, " ");
    if (at > indent && at + 1 + n > HELP_WIDTH) {
      printf("\n%*s", indent, "");
      at = indent;
    }
    at += printf("%s%.*s", at > indent ? " " : "", n, text);
    text += n;
    text += strspn(text, " ");
  }
  putchar('\n');
}

void options_help(const struct option_table *table)
{
  char left[128];
  int indent = 0;
  fputs(table->head, stdout);
  for (int k = 0; k < table->count; k++) {
    const int n = write_left(&table->rows[k], left, sizeof left) + 2;
    if (n > indent && n <= HELP_LEFT) indent = n;
  }
  for (int k = 0; k < table->count; k++) {
    int n = write_left(&table->rows[k], left, sizeof left);
    fputs(left, stdout);
    if (n + 2 > indent) {
      putchar('\n');
      n = 0;
    }
    print_wrapped(table->rows[k].about, n, indent);
  }
  if (table->foot) fputs(table->foot, stdout);
}
