#include "sim.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/timer.h"
#include "base/vec.h"
#include "seeding.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const phase_names[PHASES] = {"build", "p2g",    "exchange", "nodes", "solve",
                                         "g2p",   "reduce", "migrate",  "order"};

/* The axis along which the snow is longest in cells: a property of the scene, never of the ranks. */
static int choose_axis(const struct sim *sim)
{
  if (sim->scene->slab_axis != AXIS_AUTO) return (int)sim->scene->slab_axis;
  double bounds[6]; /* lower, then minus upper */
  for (int k = 0; k < 6; k++) bounds[k] = INFINITY;
  for (int32_t i = 0; i < sim->p->count; i++)
    for (int d = 0; d < 3; d++) {
      bounds[d] = fmin(bounds[d], sim->p->x[d][i]);
      bounds[3 + d] = fmin(bounds[3 + d], -sim->p->x[d][i]);
    }
  comm_min(&sim->comm, bounds, 6);
  int best = 0;
  for (int d = 1; d < 3; d++)
    if (-bounds[3 + d] - bounds[d] > -bounds[3 + best] - bounds[best]) best = d;
  return best;
}

static struct grid_frame make_frame(const struct scene *scene, int slab_axis)
{
  struct grid_frame frame = {.support = scene->kernel == KERNEL_CUBIC ? 4 : 3,
                             .spacing = scene->spacing,
                             .inverse = 1.0 / scene->spacing};
  for (int a = 0; a < 3; a++) {
    frame.axis[a] = (slab_axis + a) % 3;
    frame.lower[a] = scene->lower[frame.axis[a]];
    frame.cells[a] = scene->cells[frame.axis[a]];
  }
  return frame;
}

static void make_constants(struct sim *sim)
{
  const struct scene *scene = sim->scene;
  sim->constants = mem_alloc((size_t)scene->material_count, sizeof *sim->constants);
  for (int k = 0; k < scene->material_count; k++) {
    const struct material *m = &scene->materials[k];
    sim->constants[k] = snow_constants(
        &(struct material_parameters){m->young, m->poisson, m->hardening, m->hardening_limit,
                                      m->critical_compression, m->critical_stretch, m->plastic});
  }
}

static void make_transfer(struct sim *sim)
{
  const struct scene *scene = sim->scene;
  sim->poses = mem_alloc((size_t)scene->body_count, sizeof *sim->poses);
  sim->transfer = (struct transfer){
      .grid = sim->grid,
      .p = sim->p,
      .next = &sim->next,
      .materials = sim->constants,
      .material_count = scene->material_count,
      .poses = sim->poses,
      .pose_count = scene->body_count,
      .gravity = {scene->gravity[0], scene->gravity[1], scene->gravity[2]},
      .flip = scene->flip_fraction,
      .affine = scene->scheme == SCHEME_APIC,
      .mls = scene->force == FORCE_MLS,
      .implicit = scene->beta > 0.0,
      .want_sound = scene->beta == 0.0 && scene->step == 0.0,
      .measured = sim->measured,
  };
}

/* All ranks use the least instruction set among them: bits must not depend on where a particle is. */
static const struct kernels *choose_kernels(const struct comm *comm, enum isa wanted)
{
  double least = (double)isa_detect();
  if (wanted < ISA_COUNT && (double)wanted < least) least = (double)wanted;
  comm_min(comm, &least, 1);
  return kernels_get((enum isa)(int)least);
}

static uint64_t key_of(const struct sim *sim, int32_t i)
{
  const double x[3] = {sim->p->x[0][i], sim->p->x[1][i], sim->p->x[2][i]};
  return grid_key_of(&sim->grid->frame, x);
}

/* Copies the state to the scratch with keys of the positions, as a step would have left it. */
void sim_stage(struct sim *sim)
{
  struct particles *p = sim->p;
  scratch_fit(&sim->next, p);
  reorder_reset(&sim->order, p);
  const struct particles view = reorder_view(p, &sim->next);
  for (int f = 0; f < PARTICLE_FIELDS; f++)
    for (int c = 0; c < particle_fields[f].components; c++) {
      void *to = particle_array(&view, &particle_fields[f], c);
      const void *from = particle_array(p, &particle_fields[f], c);
      if (to && to != from) memcpy(to, from, (size_t)p->count * field_size(particle_fields[f].type));
    }
  for (int32_t i = 0; i < p->count; i++) sim->next.key[i] = key_of(sim, i);
}

/* First cuts: equal numbers of particles, until the grid is there. */
static void cut_slabs(struct sim *sim)
{
  const int32_t planes = (int32_t)(sim->grid->frame.cells[0] + 1);
  int64_t *weight = mem_alloc((size_t)planes, sizeof *weight);
  for (int32_t i = 0; i < sim->p->count; i++) weight[grid_key_plane(key_of(sim, i))]++;
  comm_sum_i64(&sim->comm, weight, planes);
  sim->slabs = slabs_create(sim->comm.size, planes, (struct slab_work){.weight = weight});
  mem_free(weight);
  if (sim->slabs->count < sim->comm.size)
    log_warn("%d of %d ranks idle: %d planes give at most %d slabs of %d; use fewer ranks or more cells "
             "along the slab axis",
             sim->comm.size - sim->slabs->count, sim->comm.size, planes, sim->slabs->count, SLAB_LEAST);
}

/* V0 of the particles that have none yet (method.md, step 2), and the speeds that limit the first step. */
static void first_look(struct sim *sim)
{
  struct transfer *t = &sim->transfer;
  double missing = 0.0;
  for (int32_t i = 0; i < sim->p->count; i++)
    if (sim->p->volume[i] == 0.0) missing = 1.0;
  comm_max(&sim->comm, &missing, 1);
  if (missing > 0.0) {
    grid_clear(sim->grid, GROUP_MOMENTUM);
    for (int32_t k = 0; k < sim->grid->planes; k++) sim->kernels->p2g_mass(t, &sim->crew.workers[0].work, k);
    grid_join(sim->grid, GROUP_MOMENTUM);
    halo_exchange(sim->halo, sim->grid, (const enum grid_group[]){GROUP_MOMENTUM}, 1);
    crew_estimate_volume(&sim->crew, sim->kernels, t);
  }
  double most[2] = {0.0, 0.0};
  for (int32_t i = 0; i < sim->p->count; i++) {
    const double v[3] = {sim->p->v[0][i], sim->p->v[1][i], sim->p->v[2][i]};
    const struct snow_constants *c = &sim->constants[sim->p->material[i]];
    vm clamped;
    const struct snow_lanes lanes = {.hardening = vd_set(c->hardening),
                                     .factor_low = vd_set(c->factor_low),
                                     .factor_high = vd_set(c->factor_high)};
    const double factor = snow_hardening(&lanes, vd_set(sim->p->jp[i]), &clamped)[0];
    most[0] = fmax(most[0], vec_norm(v));
    most[1] = fmax(most[1], sqrt(factor * sim->p->stiffness[i] * (c->lambda + 2.0 * c->mu) *
                                 sim->p->volume[i] / sim->p->mass[i]));
  }
  comm_max(&sim->comm, most, 2);
  sim->max_speed = most[0];
  sim->max_sound = most[1];
}

static int check_inside(struct sim *sim, struct error *err)
{
  int64_t counts[2] = {0, sim->p->count};
  for (int32_t i = 0; i < sim->p->count; i++) counts[0] += key_of(sim, i) == REORDER_GONE;
  comm_sum_i64(&sim->comm, counts, 2);
  sim->particles = counts[1];
  if (counts[0] == 0) return FIRN_OK;
  return error_set(err, FIRN_EINPUT,
                   "%s: %lld of %lld particles start outside the domain; enlarge it or move the snow",
                   sim->scene->path, (long long)counts[0], (long long)counts[1]);
}

/* Packs at most so many of the particles [0, *end) that belong to other ranks, from the last on, and closes
 * the gaps with those behind, which stay. *end becomes where to go on. */
static void pack_strangers(struct sim *sim, int64_t most, int32_t *end)
{
  struct particles *p = sim->p;
  struct mailbox *out = &sim->outgoing;
  out->record_size = particles_record_size(p);
  void *last = mem_alloc(1, out->record_size);
  while (*end > 0 && out->count < most) {
    const int32_t i = --*end;
    const int owner = slabs_owner(sim->slabs, grid_key_plane(key_of(sim, i)));
    if (owner == sim->comm.rank) continue;
    particles_pack(p, i, mailbox_add(out, owner));
    particles_pack(p, --p->count, last);
    particles_unpack(p, i, last);
  }
  mem_free(last);
}

/* Particles were made or read anywhere: most may be strangers where they are. They go to their ranks some at
 * a time, since all at once would take three times their memory as mail. */
static void distribute(struct sim *sim)
{
  const int64_t most = 1024 + sim->particles / sim->comm.size / 64;
  for (int32_t end = sim->p->count;;) {
    pack_strangers(sim, most, &end);
    double busy = sim->outgoing.count > 0;
    comm_max(&sim->comm, &busy, 1);
    if (busy == 0.0) break;
    migrate(&sim->comm, &sim->outgoing, &sim->incoming, true);
    const int32_t first = particles_append(sim->p, sim->incoming.count);
    for (int64_t n = 0; n < sim->incoming.count; n++)
      particles_unpack(sim->p, first + (int32_t)n,
                       sim->incoming.records + (size_t)n * sim->incoming.record_size);
  }
  mailbox_free(&sim->outgoing);
  mailbox_free(&sim->incoming);
}

/* Seeding and the first order ran on one thread: memory that the threads of the crew touch first. */
static void spread_memory(struct sim *sim)
{
  if (sim->crew.size == 1) return;
  particles_spread(sim->p, sim->crew.size);
  scratch_free(&sim->next); /* G2P writes it anew */
  scratch_fit(&sim->next, sim->p);
}

/* Brings the particles of sim->p, wherever they are, to their ranks and into order. */
static int place(struct sim *sim, int slab_axis, struct error *err)
{
  const struct grid_frame frame = make_frame(sim->scene, slab_axis);
  sim->grid = grid_create(&frame);
  make_constants(sim);
  make_transfer(sim);
  const int code = check_inside(sim, err);
  if (code) return code;
  cut_slabs(sim);
  distribute(sim);
  particles_trim(sim->p);
  sim_stage(sim);
  sim_settle(sim, false);
  sim_balance_now(sim);
  sim_tidy(sim);
  spread_memory(sim);
  return FIRN_OK;
}

static int populate(struct sim *sim, struct error *err)
{
  int code = comm_agree(&sim->comm, seed_snow(&sim->comm, sim->scene, sim->p, err), err);
  if (!code) code = place(sim, choose_axis(sim), err);
  if (!code) first_look(sim);
  return code;
}

static void move_messages_on(void *context)
{
  halo_progress(((struct sim *)context)->halo);
}

static struct sim *create_empty(const struct comm *comm, const struct scene *scene, enum isa isa)
{
  struct sim *sim = mem_alloc(1, sizeof *sim);
  sim->comm = *comm;
  sim->scene = scene;
  sim->on_frame = true;
  sim->kernels = choose_kernels(&sim->comm, isa);
  sim->p = particles_create(scene->scheme == SCHEME_APIC);
  sim->halo = halo_create(&sim->comm);
  sim->balance_every = 1;
  crew_create(&sim->crew, comm->threads < MAX_CHUNKS ? comm->threads : MAX_CHUNKS);
  sim->crew.meanwhile = move_messages_on;
  sim->crew.context = sim;
  return sim;
}

int sim_create(struct sim **out, const struct comm *comm, const struct scene *scene, enum isa isa,
               struct error *err)
{
  *out = create_empty(comm, scene, isa);
  const int code = populate(*out, err);
  if (code) sim_destroy(out);
  return code;
}

/* The kernels that the checkpoint was computed with, or another choice where that is allowed. */
static int check_kernels(const struct sim *sim, const struct checkpoint *from, bool lenient,
                         struct error *err)
{
  if (strcmp(sim->kernels->name, from->isa) == 0) return FIRN_OK;
  if (lenient) {
    log_warn("the checkpoint was computed with %s kernels and goes on with %s: the last bits will differ",
             from->isa, sim->kernels->name);
    return FIRN_OK;
  }
  return error_set(err, FIRN_EINPUT,
                   "the checkpoint was computed with %s kernels and this run would use %s, which rounds "
                   "differently; run it where all machines have %s, or go on with --force",
                   from->isa, sim->kernels->name, from->isa);
}

static int check_materials(const struct sim *sim, const char *path, struct error *err)
{
  int code = FIRN_OK;
  for (int32_t i = 0; i < sim->p->count && !code; i++)
    if (sim->p->material[i] >= (uint32_t)sim->scene->material_count)
      code =
          error_set(err, FIRN_EINPUT, "%s: particle %llu is of material %u and the scene has only %d", path,
                    (unsigned long long)sim->p->id[i], sim->p->material[i], sim->scene->material_count);
  return comm_agree(&sim->comm, code, err);
}

/* V0 is there already, and the speeds that limit the next step are those of the step before. */
static void restore_numbers(struct sim *sim, const struct checkpoint *from)
{
  sim->time = from->time;
  sim->step = sim->looked = from->step;
  sim->frame = from->frame;
  sim->on_frame = from->on_frame != 0;
  sim->max_speed = from->max_speed;
  sim->max_sound = from->max_sound;
  sim->removed = from->removed;
  sim->entered = from->entered;
  sim->totals = (struct sim_totals){.migrated = from->migrated,
                                    .shared_contacts = from->shared_contacts,
                                    .shared_plastic = from->shared_plastic,
                                    .halvings = from->halvings,
                                    .iterations = from->iterations,
                                    .solves = from->solves};
  log_set_step(sim->step);
}

static int restore(struct sim *sim, const char *path, const struct checkpoint *from, bool lenient,
                   struct error *err)
{
  const struct scene *scene = sim->scene;
  int code = check_kernels(sim, from, lenient, err);
  if (!code) code = checkpoint_read(&sim->comm, path, lenient, sim->p, err);
  if (!code) code = check_materials(sim, path, err);
  if (!code)
    code = place(sim, scene->slab_axis == AXIS_AUTO ? (int)from->slab_axis : (int)scene->slab_axis, err);
  if (!code) restore_numbers(sim, from);
  return code;
}

static enum isa isa_of(const struct checkpoint *from)
{
  for (int k = 0; k < ISA_COUNT; k++) {
    const struct kernels *kernels = kernels_get((enum isa)k);
    if (kernels && strcmp(kernels->name, from->isa) == 0) return (enum isa)k;
  }
  return ISA_COUNT;
}

int sim_create_from(struct sim **out, const struct comm *comm, const struct scene *scene, enum isa isa,
                    const char *path, const struct checkpoint *from, bool lenient, struct error *err)
{
  *out = create_empty(comm, scene, isa == ISA_COUNT ? isa_of(from) : isa);
  const int code = restore(*out, path, from, lenient, err);
  if (code) sim_destroy(out);
  return code;
}

void sim_describe(const struct sim *sim, struct checkpoint *info)
{
  *info = (struct checkpoint){.time = sim->time,
                              .max_speed = sim->max_speed,
                              .max_sound = sim->max_sound,
                              .step = sim->step,
                              .frame = sim->frame,
                              .on_frame = sim->on_frame,
                              .particles = sim->particles,
                              .removed = sim->removed,
                              .entered = sim->entered,
                              .halvings = sim->totals.halvings,
                              .iterations = sim->totals.iterations,
                              .solves = sim->totals.solves,
                              .migrated = sim->totals.migrated,
                              .shared_contacts = sim->totals.shared_contacts,
                              .shared_plastic = sim->totals.shared_plastic,
                              .slab_axis = sim->grid->frame.axis[0]};
  snprintf(info->isa, sizeof info->isa, "%s", sim->kernels->name);
}

void sim_destroy(struct sim **sim)
{
  if (!*sim) return;
  struct sim *s = *sim;
  slabs_destroy(&s->slabs);
  halo_destroy(&s->halo);
  grid_destroy(&s->grid);
  particles_destroy(&s->p);
  window_free(&s->window, s->scene);
  scratch_free(&s->next);
  reorder_free(&s->order);
  crew_free(&s->crew);
  mailbox_free(&s->outgoing);
  mailbox_free(&s->incoming);
  mem_free(s->constants);
  mem_free(s->poses);
  mem_free(s);
  *sim = NULL;
}

int32_t sim_owned_tiles(const struct sim *sim)
{
  const struct grid *g = sim->grid;
  return g->plane_tile[g->has_right ? g->planes : g->node_planes];
}
