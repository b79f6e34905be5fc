#include "bodies/zones.h"

#include "base/memory.h"

#include <math.h>
#include <stddef.h>

const struct ground_law *zones_law_at(const struct zones *zones, const double x[3])
{
  int32_t at[2];
  const int32_t size[2] = {zones->columns, zones->rows};
  for (int k = 0; k < 2; k++) {
    const double u = floor((x[zones->axis[k]] - zones->corner[k]) / zones->step[k]);
    if (!(u >= 0.0 && u < size[k])) return NULL;
    at[k] = (int32_t)u;
  }
  const uint8_t number = zones->number[(int64_t)at[1] * zones->columns + at[0]];
  return number ? &zones->law[number - 1] : NULL;
}

void zones_destroy(struct zones **zones)
{
  if (!*zones) return;
  mem_free((*zones)->number);
  mem_free((*zones)->law);
  mem_free(*zones);
  *zones = NULL;
}
