#include "base/timeline.h"

#include "base/memory.h"

enum { MOST_SPANS = 1 << 21, FIRST_SPANS = 1 << 12 }; /* 64 MiB a thread at most */

struct timeline *timeline_create(int threads)
{
  struct timeline *t = mem_alloc(1, sizeof *t);
  t->threads = threads;
  t->tracks = mem_alloc((size_t)threads, sizeof *t->tracks);
  return t;
}

void timeline_destroy(struct timeline **timeline)
{
  if (!*timeline) return;
  for (int k = 0; k < (*timeline)->threads; k++) mem_free((*timeline)->tracks[k].spans);
  mem_free((*timeline)->tracks);
  mem_free(*timeline);
  *timeline = NULL;
}

static void grow(struct track *track)
{
  const int64_t capacity = track->capacity ? 2 * track->capacity : FIRST_SPANS;
  track->spans = mem_resize(track->spans, (size_t)track->count, (size_t)capacity, sizeof *track->spans);
  track->capacity = capacity;
}

void timeline_add(struct timeline *t, int thread, const char *name, double begin, double end, int64_t value)
{
  if (!t || !t->on || thread >= t->threads) return;
  struct track *track = &t->tracks[thread];
  if (track->count == MOST_SPANS) {
    track->dropped++;
    return;
  }
  if (track->count == track->capacity) grow(track);
  track->spans[track->count++] = (struct span){name, begin, end, value};
}
