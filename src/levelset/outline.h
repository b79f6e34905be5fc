/* Flat figures bounded by closed polygons, such as letters: signed distance in the plane. A point is inside
 * where the polygons wind around it, so holes run against their surroundings, and overlaps do no harm. */
#ifndef FIRN_LEVELSET_OUTLINE_H
#define FIRN_LEVELSET_OUTLINE_H

struct outline {
  int contours;
  int *start;    /* contour c has the points start[c] .. start[c + 1] - 1 */
  double *point; /* x, y */
  double *box;   /* of each contour: low x, low y, high x, high y */
  double low[2], high[2];
};

/* Copies the contours, `count` of them with the points start[c] .. start[c + 1] - 1; each at least three. */
struct outline *outline_create(int count, const int *start, const double *point);
void outline_destroy(struct outline **outline);

/* Moves the middle of its bounds to the origin and scales it to this height. */
void outline_fit(struct outline *outline, double height);

/* Distance at p, negative inside; the direction in which it grows goes to n, a unit vector. */
double outline_distance(const struct outline *outline, const double p[2], double n[2]);

/* Area enclosed, where contours do not overlap. */
double outline_area(const struct outline *outline);

/* To one line of text and back, bit for bit; the text is the caller's, to be freed with mem_free(). NULL for
 * a text that is none. */
char *outline_print(const struct outline *outline);
struct outline *outline_parse(const char *text);

#endif
