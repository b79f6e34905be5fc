#include "base/listing.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

struct listing *listing_create(void)
{
  return mem_alloc(1, sizeof(struct listing));
}

void listing_destroy(struct listing **listing)
{
  struct listing *t = *listing;
  if (!t) return;
  for (int r = 0; r < t->rows; r++) {
    for (int c = 0; c < t->columns; c++) mem_free(t->cell[r][c]);
    mem_free(t->cell[r]);
  }
  for (int c = 0; c < t->columns; c++) mem_free(t->names[c]);
  mem_free(t->names);
  mem_free(t->cell);
  mem_free(t);
  *listing = NULL;
}

int listing_column(struct listing *t, const char *name)
{
  t->names = mem_resize(t->names, (size_t)t->columns, (size_t)t->columns + 1, sizeof *t->names);
  t->names[t->columns] = mem_strdup(name);
  return t->columns++;
}

void listing_row(struct listing *t)
{
  t->cell = mem_resize(t->cell, (size_t)t->rows, (size_t)t->rows + 1, sizeof *t->cell);
  t->cell[t->rows++] = mem_alloc((size_t)t->columns, sizeof **t->cell);
}

void listing_put(struct listing *t, int column, const char *format, ...)
{
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  char **cell = &t->cell[t->rows - 1][column];
  mem_free(*cell);
  *cell = mem_strdup(text);
}

static const char *text_of(const char *cell)
{
  return cell ? cell : "";
}

static bool looks_like_number(const char *text)
{
  return *text && strchr("0123456789+-.", *text);
}

static int width_of(const struct listing *t, int column)
{
  size_t width = strlen(t->names[column]);
  for (int r = 0; r < t->rows; r++)
    if (strlen(text_of(t->cell[r][column])) > width) width = strlen(text_of(t->cell[r][column]));
  return (int)width;
}

static bool is_number_column(const struct listing *t, int column)
{
  for (int r = 0; r < t->rows; r++)
    if (t->cell[r][column] && !looks_like_number(t->cell[r][column])) return false;
  return true;
}

/* Row -1 is the header. */
static void print_row(const struct listing *t, int row, FILE *file)
{
  for (int c = 0; c < (t->shown ? t->shown : t->columns); c++) {
    const char *text = row < 0 ? t->names[c] : text_of(t->cell[row][c]);
    const int width = width_of(t, c);
    fprintf(file, is_number_column(t, c) ? "%s%*s" : "%s%-*s", c ? "  " : "", width, text);
  }
  fputc('\n', file);
}

void listing_print(const struct listing *t, FILE *file)
{
  for (int row = -1; row < t->rows; row++) print_row(t, row, file);
}

static void print_quoted(const char *text, FILE *file)
{
  if (!strpbrk(text, ",\"\n")) {
    fputs(text, file);
    return;
  }
  fputc('"', file);
  for (; *text; text++) {
    if (*text == '"') fputc('"', file);
    fputc(*text, file);
  }
  fputc('"', file);
}

void listing_print_csv(const struct listing *t, FILE *file)
{
  for (int row = -1; row < t->rows; row++) {
    for (int c = 0; c < t->columns; c++) {
      if (c) fputc(',', file);
      print_quoted(row < 0 ? t->names[c] : text_of(t->cell[row][c]), file);
    }
    fputc('\n', file);
  }
}
