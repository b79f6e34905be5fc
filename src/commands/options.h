/* Numbers on the command line, read as strictly as those of a scene: decimal, finite, and all of the word. */
#ifndef FIRN_OPTIONS_H
#define FIRN_OPTIONS_H

#include "base/error.h"

#include <stdint.h>

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
