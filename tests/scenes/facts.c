/* Numbers about a frame, for the assertions of the scenes' tests.
 *   facts FRAME                    count, and mean, least, most, 1st and 99th percentile of each coordinate
 *   facts FRAME only WORD          the same of snow, ice or water alone, and their mass (kg)
 *   facts FRAME box X Y Z X Y Z    particles in the box between two corners
 *   facts FRAME top X Z X Z        99th percentile of y over this rectangle
 *   facts FRAME faster V           particles faster than V m/s
 * One number a line but for the first two forms, which name each. */
#include "base/memory.h"
#include "io/particles/frame.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* Of one matter, or of all where it is negative. */
static void print_all(const struct frame *f, int matter)
{
  float *sorted = mem_alloc((size_t)f->count, sizeof *sorted);
  for (int d = 0; d < 3; d++) {
    double sum = 0.0, mass = 0.0;
    int64_t count = 0;
    for (int64_t i = 0; i < f->count; i++) {
      if (matter >= 0 && (int)frame_matter(f, i) != matter) continue;
      sorted[count] = f->position[3 * i + d];
      sum += (double)sorted[count++];
      if (f->mass) mass += (double)f->mass[i];
    }
    if (d == 0) printf("count %lld\n", (long long)count);
    if (d == 0 && f->mass) printf("mass %.6f\n", mass);
    if (count == 0) continue;
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    const char axis = "xyz"[d];
    printf("mean_%c %.6f\nleast_%c %.6f\nmost_%c %.6f\np01_%c %.6f\np99_%c %.6f\n", axis, sum / (double)count,
           axis, (double)sorted[0], axis, (double)sorted[count - 1], axis, (double)sorted[count / 100], axis,
           (double)sorted[count - 1 - count / 100]);
  }
  mem_free(sorted);
}

static int matter_named(const char *word)
{
  static const char *const words[] = {[MATTER_SNOW] = "snow", [MATTER_ICE] = "ice", [MATTER_WATER] = "water"};
  for (int k = MATTER_SNOW; k <= MATTER_WATER; k++)
    if (!strcmp(word, words[k])) return k;
  fprintf(stderr, "facts: '%s' is no matter\n", word);
  exit(EXIT_FAILURE);
}

static void print_box(const struct frame *f, char **corner)
{
  int64_t inside = 0;
  for (int64_t i = 0; i < f->count; i++) {
    int within = 1;
    for (int d = 0; d < 3; d++) {
      const double x = (double)f->position[3 * i + d];
      within = within && x >= atof(corner[d]) && x < atof(corner[3 + d]);
    }
    inside += within;
  }
  printf("%lld\n", (long long)inside);
}

static void print_top(const struct frame *f, char **corner)
{
  float *heights = mem_alloc((size_t)f->count, sizeof *heights);
  int64_t count = 0;
  for (int64_t i = 0; i < f->count; i++) {
    const double x = (double)f->position[3 * i], z = (double)f->position[3 * i + 2];
    if (x >= atof(corner[0]) && x < atof(corner[2]) && z >= atof(corner[1]) && z < atof(corner[3]))
      heights[count++] = f->position[3 * i + 1];
  }
  qsort(heights, (size_t)count, sizeof *heights, compare);
  printf("%.6f\n", count ? (double)heights[count - 1 - count / 100] : 0.0);
  mem_free(heights);
}

static void print_faster(const struct frame *f, double speed)
{
  int64_t faster = 0;
  for (int64_t i = 0; i < f->count; i++) {
    double square = 0.0;
    for (int d = 0; d < 3; d++) square += (double)f->velocity[3 * i + d] * (double)f->velocity[3 * i + d];
    faster += square > speed * speed;
  }
  printf("%lld\n", (long long)faster);
}

int main(int argc, char **argv)
{
  struct error err = {0};
  struct frame *f = NULL;
  if (argc < 2 || frame_read(&f, argv[1], &err)) {
    fprintf(stderr, "facts: %s\n", argc < 2 ? "give a frame" : err.text);
    return EXIT_FAILURE;
  }
  if (argc == 2)
    print_all(f, -1);
  else if (argc == 4 && !strcmp(argv[2], "only"))
    print_all(f, matter_named(argv[3]));
  else if (argc == 9 && !strcmp(argv[2], "box"))
    print_box(f, argv + 3);
  else if (argc == 7 && !strcmp(argv[2], "top"))
    print_top(f, argv + 3);
  else if (argc == 4 && !strcmp(argv[2], "faster"))
    print_faster(f, atof(argv[3]));
  else
    return EXIT_FAILURE;
  frame_destroy(&f);
  return EXIT_SUCCESS;
}
