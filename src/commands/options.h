/* Options of a command: one table that reads them and prints the help. Man pages and completion are made from
 * that help (packaging/manual.sh), so a new option is one row.
 *
 * Numbers are read as strictly as those of a scene: decimal, finite, and all of the word. */
#ifndef FIRN_OPTIONS_H
#define FIRN_OPTIONS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct option_row;

/* Reads the value of an option into the command's struct; text is NULL for a flag. */
typedef int option_take(void *into, const struct option_row *row, const char *text, struct error *err);

enum option_kind {
  OPTION_IS_FLAG,
  OPTION_IS_TEXT,
  OPTION_IS_INT,
  OPTION_IS_COUNT,
  OPTION_IS_POSITIVE,
  OPTION_IS_NOT_NEGATIVE,
  OPTION_IS_NUMBERS,
  OPTION_IS_WORD,
  OPTION_IS_CALL
};

struct option_row {
  const char *name;  /* without dashes */
  const char *value; /* as the help names it, such as FILE; NULL: a flag. Words with | between them are all
                        that it can be, and the shell completes them */
  const char *about;
  char letter; /* short form, such as -o; 0: none */
  enum option_kind kind;
  size_t at;         /* offset of the member that gets it; OPTION_IS_CALL: free for the function */
  int64_t low, high; /* OPTION_IS_NUMBERS: high is how many */
  option_take *take; /* OPTION_IS_CALL */
};

/* The last initializers of a row: where its value goes in struct S. A member of another type does not
 * compile.
 */
#define OPTION_AT(S, member, T) (offsetof(S, member) + 0 * _Generic(((S *)0)->member, T : (size_t)1))
#define OPTION_FLAG(S, member)  .kind = OPTION_IS_FLAG, .at = OPTION_AT(S, member, bool)
#define OPTION_TEXT(S, member)  .kind = OPTION_IS_TEXT, .at = OPTION_AT(S, member, const char *)
#define OPTION_INT(S, member, least, most)                                                                   \
  .kind = OPTION_IS_INT, .at = OPTION_AT(S, member, int), .low = (least), .high = (most)
#define OPTION_COUNT(S, member, least, most)                                                                 \
  .kind = OPTION_IS_COUNT, .at = OPTION_AT(S, member, int64_t), .low = (least), .high = (most)
#define OPTION_POSITIVE(S, member)     .kind = OPTION_IS_POSITIVE, .at = OPTION_AT(S, member, double)
#define OPTION_NOT_NEGATIVE(S, member) .kind = OPTION_IS_NOT_NEGATIVE, .at = OPTION_AT(S, member, double)
#define OPTION_NUMBERS(S, member, count)                                                                     \
  .kind = OPTION_IS_NUMBERS, .at = OPTION_AT(S, member, double *), .high = (count)
/* The index of the word in the row's value, which is "one|two|three". */
#define OPTION_WORD(S, member) .kind = OPTION_IS_WORD, .at = OPTION_AT(S, member, int)
#define OPTION_CALL(function)  .kind = OPTION_IS_CALL, .take = (function)

struct option_table {
  const char *command;
  const char *head; /* of the help: usage and what the command does, up to the options */
  const struct option_row *rows;
  int count;
  const char *foot; /* of the help, behind the options; NULL: nothing */
};

/* What is left of argv: the words that are no options. */
struct option_words {
  char **word;
  int count;
  bool help; /* --help or -h was there; what follows it was not read */
};

/* Reads argv, whose words getopt may reorder. An error names the command, the option and what it needs. */
int options_read(const struct option_table *table, int argc, char **argv, void *into,
                 struct option_words *words, struct error *err);

/* Prints the help on stdout. */
void options_help(const struct option_table *table);

/* A whole number from low to high, written as 50000 or 5e4. `what` names the option in the message, like
 * "run: --threads". */
int option_count(const char *what, const char *text, int64_t low, int64_t high, int64_t *out,
                 struct error *err);

/* A number above 0, or of at least 0. */
int option_positive(const char *what, const char *text, double *out, struct error *err);
int option_not_negative(const char *what, const char *text, double *out, struct error *err);

/* A number from low to high. */
int option_between(const char *what, const char *text, double low, double high, double *out,
                   struct error *err);

/* As many numbers as `count`, with commas between: "1,0.5,2". */
int option_numbers(const char *what, const char *text, int count, double *out, struct error *err);

/* "1280x720": two whole numbers of pixels, each at least `least`. */
int option_size(const char *what, const char *text, int least, int *width, int *height, struct error *err);

/* The file that a command writes to must have a name that says what it is; suffix with its dot. */
int option_check_suffix(const char *what, const char *path, const char *suffix, struct error *err);

#endif
