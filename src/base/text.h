/* Text that grows: for files that are put together in memory and written at once. */
#ifndef FIRN_BASE_TEXT_H
#define FIRN_BASE_TEXT_H

#include <stddef.h>

/* Starts as all zero; `bytes` is for mem_free(), ends with a NUL once something was added. */
struct text {
  char *bytes;
  size_t length, capacity;
};

void text_add(struct text *text, const char *bytes, size_t count);
void text_put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* With <, >, & and quotes as XML and HTML want them; control characters but tabs and newlines are left out.
 */
void text_put_escaped(struct text *text, const char *plain);

/* In base 64, with padding. */
void text_put_base64(struct text *text, const void *bytes, size_t size);

#endif
