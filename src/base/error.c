#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, int code, const char *format, ...)
{
  if (!err) return code;
  va_list args;
  va_start(args, format);
  vsnprintf(err->text, sizeof err->text, format, args);
  va_end(args);
  err->code = code;
  return code;
}

int error_prefix(struct error *err, const char *format, ...)
{
  if (!err) return FIRN_EINPUT;
  char context[512], old[sizeof err->text];
  va_list args;
  va_start(args, format);
  vsnprintf(context, sizeof context, format, args);
  va_end(args);
  memcpy(old, err->text, sizeof old);
  const int used = snprintf(err->text, sizeof err->text, "%s: ", context);
  snprintf(err->text + used, sizeof err->text - (size_t)used, "%s", old);
  return err->code;
}
