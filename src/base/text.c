#include "base/text.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void reserve(struct text *text, size_t more)
{
  if (text->length + more + 1 <= text->capacity) return;
  const size_t capacity = 2 * (text->length + more) + 256;
  text->bytes = mem_resize(text->bytes, text->capacity, capacity, 1);
  text->capacity = capacity;
}

void text_add(struct text *text, const char *bytes, size_t count)
{
  reserve(text, count);
  memcpy(text->bytes + text->length, bytes, count);
  text->length += count;
  text->bytes[text->length] = '\0';
}

void text_put(struct text *text, const char *format, ...)
{
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  const int need = vsnprintf(NULL, 0, format, args);
  va_end(args);
  reserve(text, (size_t)need);
  vsnprintf(text->bytes + text->length, (size_t)need + 1, format, again);
  va_end(again);
  text->length += (size_t)need;
}

void text_put_escaped(struct text *text, const char *plain)
{
  for (; *plain; plain++) switch (*plain) {
    case '<': text_add(text, "&lt;", 4); break;
    case '>': text_add(text, "&gt;", 4); break;
    case '&': text_add(text, "&amp;", 5); break;
    case '"': text_add(text, "&quot;", 6); break;
    default:
      if ((unsigned char)*plain >= 0x20 || *plain == '\n' || *plain == '\t') text_add(text, plain, 1);
    }
}

void text_put_base64(struct text *text, const void *bytes, size_t size)
{
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const uint8_t *from = bytes;
  for (size_t i = 0; i < size; i += 3) {
    const size_t left = size - i;
    const uint32_t v = (uint32_t)from[i] << 16 | (left > 1 ? (uint32_t)from[i + 1] << 8 : 0) |
                       (left > 2 ? (uint32_t)from[i + 2] : 0);
    const char four[4] = {digits[v >> 18], digits[v >> 12 & 63], left > 1 ? digits[v >> 6 & 63] : '=',
                          left > 2 ? digits[v & 63] : '='};
    text_add(text, four, 4);
  }
}
