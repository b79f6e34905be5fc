/* Where free bodies are, from step to step and across restarts. */
#include "base/memory.h"
#include "base/vec.h"
#include "sim/rigid.h"
#include "sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The farthest point of a body from its centre of mass (m). */
static double arm_of(const struct body *body)
{
  struct shape_hull hull;
  double arm = 0.0;
  shape_hull(&body->shape, &hull);
  for (int k = 0; k < hull.count; k++) {
    double point[3];
    vec_sub(hull.point[k], body->pivot, point);
    arm = fmax(arm, vec_norm(point) + hull.radius);
  }
  return arm;
}

struct rigid *rigid_create(const struct sim *sim)
{
  const struct scene *scene = sim->scene;
  int count = 0;
  for (int k = 0; k < scene->body_count; k++) count += scene->bodies[k].free != NULL;
  if (!count) return NULL;
  const size_t bodies = (size_t)scene->body_count, numbers = 6 * (size_t)count;
  struct rigid *r = mem_alloc(1, sizeof *r);
  r->body_count = scene->body_count;
  r->body = mem_alloc((size_t)count, sizeof *r->body);
  r->index = mem_alloc(bodies, sizeof *r->index);
  r->level = mem_alloc(bodies, sizeof *r->level);
  r->solids = mem_alloc(bodies, sizeof *r->solids);
  r->balls = mem_alloc(bodies, sizeof *r->balls);
  r->sites = mem_alloc(bodies, sizeof *r->sites);
  r->sums = mem_alloc(numbers, sizeof *r->sums);
  r->coupling = (struct cr_coupling){.count = (int)numbers, .sums = r->sums};
  r->coupling.x = mem_alloc(5 * numbers, sizeof(double));
  r->coupling.r = r->coupling.x + numbers;
  r->coupling.p = r->coupling.r + numbers;
  r->coupling.ar = r->coupling.p + numbers;
  r->coupling.ap = r->coupling.ar + numbers;
  for (int k = 0; k < scene->body_count; k++) {
    const struct body *body = &scene->bodies[k];
    r->index[k] = -1;
    balls_create(&r->balls[k], body, scene->spacing);
    if (!body->free) continue;
    struct rigid_body *b = &r->body[r->count];
    r->index[k] = r->count++;
    b->body = k;
    b->free = body->free;
    b->arm = arm_of(body);
    free_state_begin(body->free, &b->state);
  }
  return r;
}

void rigid_destroy(struct rigid **rigid)
{
  struct rigid *r = *rigid;
  if (!r) return;
  for (int k = 0; k < r->body_count; k++) {
    balls_free(&r->balls[k]);
    mem_free(r->sites[k].site);
  }
  mem_free(r->body);
  mem_free(r->index);
  mem_free(r->level);
  mem_free(r->solids);
  mem_free(r->balls);
  mem_free(r->sites);
  mem_free(r->sums);
  mem_free(r->coupling.x);
  mem_free(r->touchings.touching);
  mem_free(r->node);
  mem_free(r->rows);
  mem_free(r);
  *rigid = NULL;
}

void rigid_place(struct sim *sim)
{
  struct rigid *r = sim->rigid;
  for (int k = 0; r && k < r->count; k++) {
    const struct rigid_body *b = &r->body[k];
    struct body_drive *drive = &sim->drives[b->body];
    *drive = (struct body_drive){.on = true, .since = sim->clock.time};
    memcpy(drive->origin, b->state.center, sizeof drive->origin);
    memcpy(drive->turn, b->state.turn, sizeof drive->turn);
    memcpy(drive->velocity, b->state.velocity, sizeof drive->velocity);
    free_spin(b->free, &b->state, drive->spin);
  }
}

void rigid_accept(struct sim *sim)
{
  struct rigid *r = sim->rigid;
  if (!r) return;
  for (int k = 0; k < r->count; k++) r->body[k].state = r->body[k].next;
  rigid_place(sim);
}

double rigid_speed(const struct sim *sim, double dt)
{
  const struct rigid *r = sim->rigid;
  return r ? dt * vec_norm(sim->scene->gravity) : 0.0;
}

void rigid_energy(const struct sim *sim, bool next, double time, double energy[3])
{
  memset(energy, 0, 3 * sizeof *energy);
  for (int k = 0; sim->rigid && k < sim->rigid->count; k++) {
    const struct rigid_body *b = &sim->rigid->body[k];
    const struct free_state *state = next ? &b->next : &b->state;
    energy[0] += free_kinetic(b->free, state);
    energy[1] += free_elastic(b->free, state, time);
    energy[2] -= b->free->mass * vec_dot(sim->scene->gravity, state->center);
  }
}

char *rigid_describe(const struct sim *sim)
{
  const struct rigid *r = sim->rigid;
  if (!r) return NULL;
  char *text = mem_alloc((size_t)r->count * FREE_LINE + 1, 1), *at = text;
  for (int k = 0; k < r->count; k++)
    at += free_body_line(at, sim->scene->bodies[r->body[k].body].name, &sim->drives[r->body[k].body]);
  return text;
}

/* --- checkpoints --- */

enum { MADE_OF = 7, NUMBERS = 13 + MADE_OF, NUMBER = 32 };

/* Mass and inertia behind the state: a restart compares them. */
static void numbers_of(const struct rigid_body *b, double out[NUMBERS])
{
  const double *i = b->free->spread;
  const double made_of[MADE_OF] = {b->free->mass, i[0], i[4], i[8], i[1], i[5], i[2]};
  memcpy(out, b->state.center, 3 * sizeof *out);
  memcpy(out + 3, b->state.turn, 4 * sizeof *out);
  memcpy(out + 7, b->state.velocity, 3 * sizeof *out);
  memcpy(out + 10, b->state.angular, 3 * sizeof *out);
  memcpy(out + 13, made_of, sizeof made_of);
}

char *rigid_save(const struct sim *sim)
{
  const struct rigid *r = sim->rigid;
  if (!r) return NULL;
  char *text = mem_alloc((size_t)r->count * (BODY_NAME + NUMBERS * NUMBER + 3) + 1, 1), *at = text;
  for (int k = 0; k < r->count; k++) {
    double number[NUMBERS];
    numbers_of(&r->body[k], number);
    at += sprintf(at, "@%s", sim->scene->bodies[r->body[k].body].name);
    for (int n = 0; n < NUMBERS; n++) at += sprintf(at, " %a", number[n]);
    at += sprintf(at, "\n");
  }
  return text;
}

static bool read_line(const char *line, char name[BODY_NAME], double number[NUMBERS])
{
  int length = 0;
  _Static_assert(BODY_NAME == 72, "the width below is one less");
  if (sscanf(line, "@%71s%n", name, &length) != 1) return false;
  for (int n = 0; n < NUMBERS; n++) {
    int more = 0;
    if (sscanf(line + length, " %la%n", &number[n], &more) != 1) return false;
    length += more;
  }
  return true;
}

static int restore_body(struct rigid_body *b, const char *name, const double number[NUMBERS],
                        struct error *err)
{
  double own[NUMBERS];
  numbers_of(b, own);
  for (int n = 13; n < NUMBERS; n++)
    if (fabs(own[n] - number[n]) > 1e-9 * (n == 13 ? own[13] : b->free->moment[2]))
      return error_set(err, FIRN_EINPUT,
                       "bodies.%s: its mass or inertia is not what the checkpoint has (%g kg there, %g kg "
                       "here); go on with the scene of the run",
                       name, number[13], own[13]);
  memcpy(b->state.center, number, 3 * sizeof *number);
  memcpy(b->state.turn, number + 3, 4 * sizeof *number);
  memcpy(b->state.velocity, number + 7, 3 * sizeof *number);
  memcpy(b->state.angular, number + 10, 3 * sizeof *number);
  return FIRN_OK;
}

int rigid_restore(struct sim *sim, const char *line, struct error *err)
{
  struct rigid *r = sim->rigid;
  char name[BODY_NAME];
  double number[NUMBERS];
  int code = FIRN_OK;
  if (!read_line(line, name, number))
    return error_set(err, FIRN_EDAMAGED, "what the checkpoint says about free bodies cannot be read");
  for (int k = 0; r && k < r->count && !code; k++)
    if (strcmp(sim->scene->bodies[r->body[k].body].name, name) == 0)
      code = restore_body(&r->body[k], name, number, err);
  return code;
}
