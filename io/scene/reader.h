/* Typed, strict reading of a YAML tree, which writes down what it read.
 *
 * The first failure sticks: every later call returns a harmless value, so a schema reads as a plain list of
 * its keys and one check at the end is enough. Every call also appends its key and value, default or given,
 * to a text in canonical form. That text parses back to the same values, bit for bit, and is what a scene's
 * hash is taken of. */
#ifndef FIRN_IO_READER_H
#define FIRN_IO_READER_H

#include "base/error.h"
#include "io/scene/yaml.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

struct reader {
  const struct yaml *yaml;
  struct error *err;
  int code;      /* 0 until something failed */
  char *text;    /* the canonical form so far; the caller's */
  size_t length; /* of text, without the NUL */
  size_t capacity;
  int depth;      /* of the section that is open */
  bool new_item;  /* the next line begins an item of a list */
  bool unwritten; /* what is read now stays out of the canonical form */
  bool stored;    /* a canonical form out of a file: earlier versions also wrote keys without effect */
};

/* What a number may be, besides finite. */
enum reader_range { RANGE_ANY, RANGE_POSITIVE, RANGE_NOT_NEGATIVE };

#define READER_REQUIRED NAN /* as a number's default: the key must be there */

/* Fails at an item unless something failed before. Returns the code. */
int reader_fail(struct reader *r, const struct yaml_item *item, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Fails at map's entry `key`, or at the map where it has none. */
int reader_fail_key(struct reader *r, const struct yaml_item *map, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Fails if map has the key: "has no effect" and why, like "beside 'step'". */
void reader_refuse(struct reader *r, const struct yaml_item *map, const char *key, const char *why);

/* Demands that item is a map with keys of the NULL-terminated list only. */
void reader_check_keys(struct reader *r, const struct yaml_item *item, const char *const *keys);

/* The word of the NULL-terminated list that is nearest to word, or NULL if none is near. */
const char *reader_nearest(const char *word, const char *const *words);

/* Opens the section `key` of map: NULL where it is missing, and all its keys then take their defaults. Closed
 * by reader_close(). */
const struct yaml_item *reader_open(struct reader *r, const struct yaml_item *map, const char *key,
                                    const char *const *keys);
void reader_close(struct reader *r);

/* Opens an item of a list; its first key is written behind the dash. Closed by reader_close(). */
void reader_open_item(struct reader *r);

/* The entry of map, marked as read; NULL where it is missing or map is. */
struct yaml_item *reader_get(struct reader *r, const struct yaml_item *map, const char *key);

double reader_number(struct reader *r, const struct yaml_item *map, const char *key, double fallback,
                     enum reader_range range);

/* The same for a key that matters only in some cases: in others it may not be there, and the fallback stays
 * out of the canonical form. */
double reader_number_if(struct reader *r, bool matters, const char *why, const struct yaml_item *map,
                        const char *key, double fallback, enum reader_range range);

/* A number that was read unwritten: "key: value" in the canonical form. */
void reader_write_number(struct reader *r, const char *key, double value);

/* "auto" is 0 and the default. */
double reader_number_or_auto(struct reader *r, const struct yaml_item *map, const char *key);

/* Whole numbers may be written as 50000 or 5e4. A fallback outside [low, high] means that the key is
 * required. */
int64_t reader_integer(struct reader *r, const struct yaml_item *map, const char *key, int64_t fallback,
                       int64_t low, int64_t high);
int64_t reader_integer_if(struct reader *r, bool matters, const char *why, const struct yaml_item *map,
                          const char *key, int64_t fallback, int64_t low, int64_t high);
uint64_t reader_seed(struct reader *r, const struct yaml_item *map, const char *key, uint64_t fallback);

/* Three numbers; a NULL fallback means that the key is required. */
void reader_vector(struct reader *r, const struct yaml_item *map, const char *key, const double *fallback,
                   double out[3]);
/* A required list of `count` numbers, at most 16. */
void reader_numbers(struct reader *r, const struct yaml_item *map, const char *key, int count, double *out);
void reader_integers(struct reader *r, const struct yaml_item *map, const char *key, int64_t low,
                     int64_t high, int64_t out[3]);

bool reader_flag(struct reader *r, const struct yaml_item *map, const char *key, bool fallback);

/* Index into the NULL-terminated list of words. */
int reader_choice(struct reader *r, const struct yaml_item *map, const char *key, int fallback,
                  const char *const *words);

/* A list of such words as bits. */
unsigned reader_choices(struct reader *r, const struct yaml_item *map, const char *key, unsigned fallback,
                        const char *const *words);

/* Any text on one line; borrowed from the tree or the fallback. A NULL fallback means that the key is
 * required. */
const char *reader_string(struct reader *r, const struct yaml_item *map, const char *key,
                          const char *fallback);

/* A word that can stand in a path of keys and in a file name: letters, digits, _ and -, and in a scene's name
 * also dots. */
void reader_check_name(struct reader *r, const struct yaml_item *item, const char *name, size_t size,
                       bool dots);

/* One line of the canonical form, indented; the printf text is "key: value". */
void reader_write(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
