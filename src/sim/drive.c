#include "sim/drive.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NUMBERS = 14, NUMBER = 32 }; /* of a line, and characters of one */

int drive_set(struct sim *sim, int k, const double velocity[3], const double spin[3], struct error *err)
{
  const struct scene *scene = sim->scene;
  const struct body *body = &scene->bodies[k];
  if (body->free)
    return error_set(err, FIRN_EINPUT, "bodies.%s: a body with a density or mass moves by what acts on it",
                     body->name);
  if (scene->window.given && scene->window.body == k)
    return error_set(err, FIRN_EINPUT,
                     "bodies.%s: the window follows this body, so it moves as the scene says; remove window",
                     body->name);
  for (int d = 0; d < 3; d++)
    if (!(fabs(velocity[d]) < 1e15) || !(fabs(spin[d]) < 1e15))
      return error_set(err, FIRN_EINPUT, "bodies.%s: a velocity or spin of %g is not a motion", body->name,
                       fabs(velocity[d]) < 1e15 ? spin[d] : velocity[d]);
  body_drive_set(&sim->drives[k], body, sim->clock.time, velocity, spin);
  return FIRN_OK;
}

static void numbers_of(struct body_drive *drive, double *out[NUMBERS])
{
  out[0] = &drive->since;
  for (int d = 0; d < 3; d++) {
    out[1 + d] = &drive->origin[d];
    out[4 + d] = &drive->velocity[d];
    out[7 + d] = &drive->spin[d];
  }
  for (int d = 0; d < 4; d++) out[10 + d] = &drive->turn[d];
}

/* By a program: free bodies have a drive that says where they are (sim/rigid.h). */
static bool is_driven(const struct sim *sim, int k)
{
  return sim->drives[k].on && !sim->scene->bodies[k].free;
}

char *drive_save(const struct sim *sim)
{
  int driven = 0;
  for (int k = 0; k < sim->scene->body_count; k++) driven += is_driven(sim, k);
  char *moved = rigid_save(sim);
  if (!driven) return moved;
  const size_t behind = moved ? strlen(moved) : 0;
  char *text = mem_alloc((size_t)driven * (BODY_NAME + NUMBERS * NUMBER + 2) + behind + 1, 1), *at = text;
  for (int k = 0; k < sim->scene->body_count; k++) {
    double *number[NUMBERS];
    if (!is_driven(sim, k)) continue;
    numbers_of(&sim->drives[k], number);
    at += sprintf(at, "%s", sim->scene->bodies[k].name);
    for (int n = 0; n < NUMBERS; n++) at += sprintf(at, " %a", *number[n]);
    at += sprintf(at, "\n");
  }
  if (moved) sprintf(at, "%s", moved);
  mem_free(moved);
  return text;
}

static bool read_line(const char *line, char name[BODY_NAME], struct body_drive *drive)
{
  double *number[NUMBERS];
  int length = 0;
  _Static_assert(BODY_NAME == 72, "the width below is one less");
  if (sscanf(line, "%71s%n", name, &length) != 1) return false;
  numbers_of(drive, number);
  for (int n = 0; n < NUMBERS; n++) {
    int more = 0;
    if (sscanf(line + length, " %la%n", number[n], &more) != 1) return false;
    length += more;
  }
  drive->on = true;
  return true;
}

int drive_restore(struct sim *sim, const char *text, struct error *err)
{
  for (const char *line = text; line && *line;) {
    struct body_drive drive = {.on = false};
    char name[BODY_NAME];
    const char *end = strchr(line, '\n');
    if (end && line[0] == '@') {
      const int code = rigid_restore(sim, line, err);
      if (code) return code;
      line = end + 1;
      continue;
    }
    if (!end || !read_line(line, name, &drive))
      return error_set(err, FIRN_EDAMAGED, "what the checkpoint says about driven bodies cannot be read");
    for (int k = 0; k < sim->scene->body_count; k++)
      if (strcmp(sim->scene->bodies[k].name, name) == 0 && !sim->scene->bodies[k].free)
        sim->drives[k] = drive;
    line = end + 1;
  }
  return FIRN_OK;
}
