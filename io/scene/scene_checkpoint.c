/* See scene_checkpoint.h. */
#include "io/scene/scene_checkpoint.h"

#include "io/scene/reader.h"

void scene_read_checkpoint(struct reader *r, const struct yaml_item *root, struct scene_checkpoint *c)
{
  static const char *const keys[] = {"interval", "steps",    "frames", "keep",        "mtbf", "wall_limit",
                                     "margin",   "failures", "retry",  "no_progress", NULL};
  r->unwritten = true;
  const struct yaml_item *map = reader_open(r, root, "checkpoint", keys);
  c->keep = (int)reader_integer(r, map, "keep", 2, 0, 1000);
  const bool kept = c->keep > 0;
  static const char none[] = "with 'keep: 0', which keeps no checkpoint";
  if (kept)
    c->interval = reader_number_or_auto(r, map, "interval");
  else
    reader_refuse(r, map, "interval", none);
  c->steps = reader_integer_if(r, kept, none, map, "steps", 0, 0, (int64_t)1 << 50);
  c->frames = reader_integer_if(r, kept, none, map, "frames", 0, 0, (int64_t)1 << 50);
  c->mtbf =
      reader_number_if(r, kept && c->interval == 0.0, kept ? "beside 'interval', which says how often" : none,
                       map, "mtbf", 86400.0, RANGE_POSITIVE);
  c->wall_limit = reader_number_or_auto(r, map, "wall_limit");
  c->margin = reader_number(r, map, "margin", 30.0, RANGE_NOT_NEGATIVE);
  c->failures = (int)reader_integer(r, map, "failures", 3, 1, 1000000);
  c->retry = reader_number_if(r, c->failures > 1, "with 'failures: 1', after which nothing is tried again",
                              map, "retry", 30.0, RANGE_NOT_NEGATIVE);
  c->no_progress = reader_number(r, map, "no_progress", 1800.0, RANGE_NOT_NEGATIVE);
  reader_close(r);
  r->unwritten = false;
  if (c->no_progress > 0.0 && c->no_progress < 1.0)
    reader_fail_key(r, map, "no_progress", "expected 0 (never) or at least 1 s, found %g", c->no_progress);
}
