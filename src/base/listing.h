/* A listing is a table of texts: columns with names, rows that are filled cell by cell; printed for people or
 * as CSV. */
#ifndef FIRN_BASE_LISTING_H
#define FIRN_BASE_LISTING_H

#include <stdio.h>

struct listing {
  int columns, rows;
  int shown;    /* of the columns, in listing_print(); 0: all */
  char **names; /* [columns] */
  char ***cell; /* [rows][columns]; NULL is an empty one */
};

struct listing *listing_create(void);
void listing_destroy(struct listing **listing);

/* Adds a column, before the first row. Returns its number. */
int listing_column(struct listing *listing, const char *name);

/* Adds an empty row and fills its cells from the left. */
void listing_row(struct listing *listing);
void listing_put(struct listing *listing, int column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Aligned, numbers to the right. */
void listing_print(const struct listing *listing, FILE *file);

/* With quotes where a text needs them. */
void listing_print_csv(const struct listing *listing, FILE *file);

#endif
