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
  char text[sizeof err->text];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const char *parts[2] = {": ", err->text};
  size_t at = strlen(text);
  for (int k = 0; k < 2; k++)
    for (const char *c = parts[k]; *c && at + 1 < sizeof text; c++) text[at++] = *c;
  text[at] = '\0';
  memcpy(err->text, text, sizeof text);
  return err->code;
}
