#include "commands/options.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The number that text begins with, and where it ends; NULL where there is none. No hex, nan or inf. */
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
