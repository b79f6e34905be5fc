#include "sim/sim.h"
#include "sim/balance.h"
#include "sim/drive.h"
#include "sim/maps.h"
#include "sim/push.h"
#include "sim/settle.h"
#include "sim/sources.h"
#include "sim/window_move.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/timer.h"
#include "base/vec.h"
#include "io/particles/unique_ids.h"
#include "io/scene/scene_changes.h"
#include "io/scene/scene_report.h"
#include "material/models.h"
#include "seeding/seeding.h"

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
#pragma omp parallel for num_threads(sim->crew.size) reduction(min : bounds)
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

static struct grid_geometry make_frame(const struct scene *scene, int slab_axis)
{
  struct grid_geometry frame = {.support = scene->kernel == KERNEL_CUBIC ? 4 : 3,
                                .spacing = scene->spacing,
                                .inverse = 1.0 / scene->spacing};
  for (int a = 0; a < 3; a++) {
    frame.axis[a] = (slab_axis + a) % 3;
    frame.lower[a] = scene->lower[frame.axis[a]];
    frame.cells[a] = scene->cells[frame.axis[a]];
  }
  return frame;
}

struct material_constants *sim_constants_create(const struct scene *scene)
{
  struct material_constants *constants = mem_alloc((size_t)scene->material_count, sizeof *constants);
  for (int k = 0; k < scene->material_count; k++) material_constants(&scene->materials[k], &constants[k]);
  return constants;
}

static bool is_snow_alone(const struct scene *scene)
{
  for (int k = 0; k < scene->material_count; k++)
    if (scene->materials[k].model != MODEL_SNOW) return false;
  return true;
}

unsigned sim_particle_needs(const struct scene *scene)
{
  unsigned needs = scene->scheme == SCHEME_APIC ? NEEDS_AFFINE : NEEDS_NOTHING;
  for (int k = 0; k < scene->material_count; k++) {
    if (models[scene->materials[k].model]->needs_shear) needs |= NEEDS_SHEAR;
    if (scene->beta > 0.0 && scene->materials[k].flow) needs |= NEEDS_FLOW;
  }
  if (scene->has_heat) needs |= NEEDS_HEAT;
  for (int k = 0; k < scene->source_count; k++)
    if (scene_source_is_thin(scene, &scene->sources[k])) needs |= NEEDS_FLYING;
  if (scene_stiffness_varies(scene)) needs |= NEEDS_STIFFNESS;
  if (scene->material_count > 1) needs |= NEEDS_MATERIAL;
  return needs;
}

/* What has grains that the wind takes. */
static void begin_air(struct sim *sim)
{
  const struct scene *scene = sim->scene;
  if (!scene->air) return;
  sim->air_density = mem_alloc((size_t)scene->material_count, sizeof *sim->air_density);
  for (int k = 0; k < scene->material_count; k++) {
    const struct material *m = &scene->materials[k];
    const bool grains = m->model == MODEL_SNOW || m->model == MODEL_SAND || m->model == MODEL_CAM_CLAY ||
                        m->model == MODEL_WATER;
    if (grains) sim->air_density[k] = m->density;
  }
  sim->transfer.air = scene->air;
  sim->transfer.air_density = sim->air_density;
}

static void make_transfer(struct sim *sim)
{
  const struct scene *scene = sim->scene;
  sim->poses = mem_alloc((size_t)scene->body_count, sizeof *sim->poses);
  sim->drives = mem_alloc((size_t)scene->body_count, sizeof *sim->drives);
  sim->rigid = rigid_create(sim);
  rigid_place(sim);
  sim->transfer = (struct transfer){
      .grid = sim->mesh.grid,
      .p = sim->p,
      .next = &sim->next,
      .materials = sim->constants,
      .material_count = scene->material_count,
      .snow_alone = is_snow_alone(scene),
      .poses = sim->poses,
      .pose_count = scene->body_count,
      .gravity = {scene->gravity[0], scene->gravity[1], scene->gravity[2]},
      .flip = scene->flip_fraction,
      .affine = scene->scheme == SCHEME_APIC,
      .mls = scene->force == FORCE_MLS,
      .implicit = scene->beta > 0.0,
      .mixed = scene->beta > 0.0 && scene->mixed,
      .want_sound = scene_sound_binds(scene),
      .heat = scene->has_heat ? &scene->heat : NULL,
      .budget = scene->budget,
  };
  begin_air(sim);
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
  return grid_key_of(&sim->mesh.grid->geometry, x);
}

void sim_stage(struct sim *sim)
{
  struct particles *p = sim->p;
  next_fit(&sim->next, p);
  reorder_reset(&sim->order, p);
  next_stage(&sim->next, p, sim->crew.size);
#pragma omp parallel for num_threads(sim->crew.size)
  for (int32_t i = 0; i < p->count; i++)
    sim->next.fate[i] = key_of(sim, i) == REORDER_GONE ? FATE_GONE : FATE_MOVES;
}

/* First cuts: equal numbers of particles, until the grid is there. */
static void cut_slabs(struct sim *sim)
{
  const int32_t layers = grid_layers(&sim->mesh.grid->geometry);
  int64_t *weight = mem_alloc((size_t)layers, sizeof *weight);
  for (int32_t i = 0; i < sim->p->count && sim->comm.size > 1; i++) weight[grid_key_layer(key_of(sim, i))]++;
  comm_sum_i64(&sim->comm, weight, layers);
  sim->mesh.slabs = slabs_create(sim->comm.size, layers, (struct slab_work){.weight = weight});
  mem_free(weight);
  if (sim->mesh.slabs->count < sim->comm.size)
    log_warn("%d of %d ranks idle: a slab has at least %d planes of cells, and the domain has %lld along the "
             "slab axis; use fewer ranks with more threads, or more cells along that axis",
             sim->comm.size - sim->mesh.slabs->count, sim->comm.size, BLOCK_X,
             (long long)sim->mesh.grid->geometry.cells[0]);
}

/* V0 of the particles that have none yet (method.md, step 2). */
static void estimate_volumes(struct sim *sim)
{
  double missing = 0.0;
  for (int32_t i = 0; i < sim->p->count; i++)
    if (sim->p->volume[i] == 0.0) missing = 1.0;
  comm_max(&sim->comm, &missing, 1);
  if (missing == 0.0) return;
  sim_scatter(sim, sim->kernels->p2g_mass, &sim->transfer, sim->kernels->layout,
              (const enum node_field[]){NODE_MOMENTUM}, 1);
  sim_blocks(sim, sim->kernels->estimate_volume, &sim->transfer);
}

static vd all_lanes(const double *array, int32_t i)
{
  return vd_set(array[i]);
}

/* Square of the speed of sound in particle i. */
static double sound2_in(const struct scene *scene, const struct material_constants *constants,
                        const struct particles *p, int32_t i)
{
  uint32_t material[LANES];
  for (int l = 0; l < LANES; l++) material[l] = particle_material(p, i);
  if (p->liquid && p->liquid[i] != 0.0) return 0.0;
  if (scene->beta > 0.0 && !material_is_explicit(&scene->materials[material[0]])) return 0.0;
  if (is_snow_alone(scene)) {
    vm clamped;
    const struct snow_lanes m = snow_gather(constants, material);
    const double factor = snow_hardening(&m, all_lanes(p->jp, i), &clamped)[0];
    return factor * particle_stiffness(p, i) * (m.lambda[0] + 2.0 * m.mu[0]) * p->volume[i] / p->mass[i];
  }
  struct material_lanes m;
  vd f[9];
  material_gather(constants, material, &m);
  for (int k = 0; k < 9; k++) f[k] = all_lanes(p->fe[k], i);
  const struct history h = {all_lanes(p->jp, i), p->shear ? all_lanes(p->shear, i) : vd_set(0.0)};
  const struct stretch_bounds bounds = stretch_bound(f);
  return material_wave(&m, &bounds, &h)[0] * particle_stiffness(p, i) * p->volume[i] / p->mass[i];
}

double sim_sound_in(const struct scene *scene, const struct material_constants *constants,
                    const struct particles *p, int32_t i)
{
  return sqrt(sound2_in(scene, constants, p, i));
}

double sim_sound_of(const struct sim *sim, const struct particles *p, int32_t i)
{
  return sim->transfer.want_sound ? sim_sound_in(sim->scene, sim->constants, p, i) : 0.0;
}

void sim_find_speeds(struct sim *sim)
{
  double most[2] = {0.0, 0.0};
#pragma omp parallel for num_threads(sim->crew.size) reduction(max : most)
  for (int32_t i = 0; i < sim->p->count; i++) {
    const double v[3] = {sim->p->v[0][i], sim->p->v[1][i], sim->p->v[2][i]};
    most[0] = fmax(most[0], vec_norm(v));
    most[1] = fmax(most[1], sim_sound_of(sim, sim->p, i));
  }
  comm_max(&sim->comm, most, 2);
  sim->max_speed = most[0];
  sim->max_sound = most[1];
}

static const double least_mass = 1e-100; /* kg; see GRID_LEAST_MASS */

/* Counts the particles; all must be in the domain, and heavy enough to have weight on its nodes. */
static int check_particles(struct sim *sim, struct error *err)
{
  int64_t counts[3] = {0, sim->p->count, 0};
#pragma omp parallel for num_threads(sim->crew.size) reduction(+ : counts)
  for (int32_t i = 0; i < sim->p->count; i++) {
    counts[0] += key_of(sim, i) == REORDER_GONE;
    counts[2] += !(sim->p->mass[i] >= least_mass);
  }
  comm_sum_i64(&sim->comm, counts, 3);
  sim->totals.particles = counts[1];
  if (counts[2])
    return error_set(err, FIRN_EINPUT,
                     "%s: %lld of %lld particles have less mass than %g kg; use a higher density",
                     sim->scene->path, (long long)counts[2], (long long)counts[1], least_mass);
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
    const int owner = slabs_owner(sim->mesh.slabs, grid_key_layer(key_of(sim, i)));
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
  const int64_t most = 1024 + sim->totals.particles / sim->comm.size / 64;
  if (sim->mesh.slabs->count == 1 && sim->comm.size == 1) return;
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

/* Seeding and the first order wrote where they happened to: memory that the threads of the crew touch first,
 * each its part, if there are several memories that it could lie in. */
static void spread_memory(struct sim *sim)
{
  if (sim->crew.size == 1 || sim->comm.memories == 1) return;
  particles_spread(sim->p, sim->crew.size);
  next_free(&sim->next); /* G2P writes it anew */
  next_fit(&sim->next, sim->p);
  transfer_point(&sim->transfer);
}

/* Brings the particles of sim->p, wherever they are, to their ranks and into order. */
static int place(struct sim *sim, int slab_axis, struct error *err)
{
  const struct grid_geometry frame = make_frame(sim->scene, slab_axis);
  sim->mesh.grid = grid_create(&frame);
  sim->constants = sim_constants_create(sim->scene);
  make_transfer(sim);
  const int code = check_particles(sim, err);
  if (code) return code;
  cut_slabs(sim);
  distribute(sim);
  particles_trim(sim->p);
  sim_stage(sim);
  sim->order.threads = sim->crew.size;
  sim_find_leavers(sim);
  sim_settle(sim, false);
  sim_balance_now(sim);
  sim_tidy(sim);
  spread_memory(sim);
  return FIRN_OK;
}

void sim_begin_history(const struct scene *scene, struct particles *p)
{
  for (int32_t i = 0; i < p->count; i++)
    if (models[scene->materials[particle_material(p, i)].model]->log_volume)
      p->jp[i] = vd_log(vd_set(p->jp[i]))[0];
}

/* Ids of particles that sources will bring must be free. */
static int check_ids(const struct sim *sim, struct error *err)
{
  double most = 0.0;
  if (!sim->scene->source_count) return FIRN_OK;
  for (int32_t i = 0; i < sim->p->count; i++) most = fmax(most, (double)sim->p->id[i]);
  comm_max(&sim->comm, &most, 1);
  if (most < (double)SOURCE_FIRST_ID) return FIRN_OK;
  return error_set(err, FIRN_EINPUT, "%s: ids from 2^52 on are reserved for sources; renumber the file",
                   sim->scene->path);
}

static int populate(struct sim *sim, struct error *err)
{
  int code = scene_fits(&sim->comm, sim->scene, err);
  if (!code) code = comm_agree(&sim->comm, seed_snow(&sim->comm, sim->scene, sim->p, err), err);
  if (!code) code = check_ids(sim, err);
  if (!code) sim_begin_history(sim->scene, sim->p);
  if (!code) sources_begin(sim);
  if (!code) code = window_begin(sim, err);
  if (!code) code = place(sim, choose_axis(sim), err);
  if (code) return code;
  estimate_volumes(sim);
  sim_find_speeds(sim);
  heat_begin(sim);
  return FIRN_OK;
}

static void move_messages_on(void *context)
{
  struct sim *sim = context;
  halo_progress(sim->mesh.halo);
  reduce_progress(&sim->reduction);
}

static struct sim *create_empty(const struct comm *comm, const struct scene *scene, enum isa isa)
{
  struct sim *sim = mem_alloc(1, sizeof *sim);
  sim->comm = *comm;
  sim->scene = scene;
  sim->clock.on_frame = sim->reported = true;
  sim->kernels = choose_kernels(&sim->comm, isa);
  sim->p = particles_create(sim_particle_needs(scene));
  sim->next.once = scene_affine_once(scene) ? NEEDS_AFFINE : NEEDS_NOTHING;
  sim->mesh.halo = halo_create(&sim->comm);
  sim->balance.every = 1;
  sim->instruments = instruments_create(scene);
  sim->maps = maps_create(scene);
  crew_create(&sim->crew, comm->threads < MAX_THREADS ? comm->threads : MAX_THREADS, sim->kernels);
  sim->crew.meanwhile = move_messages_on;
  sim->crew.context = sim;
  sim->crew.timeline = comm->traffic->timeline;
  return sim;
}

int sim_create(struct sim **out, const struct comm *comm, const struct scene *scene, enum isa isa,
               struct error *err)
{
  *out = create_empty(comm, scene, isa);
  const int code = populate(*out, err);
  if (code)
    sim_destroy(out);
  else
    maps_add(*out, 0.0, true);
  return code;
}

/* Sums of the checkpoint's run have the order that they have here. */
static int check_sums(const struct checkpoint *from, const char *path, bool lenient, struct error *err)
{
  if (from->format == CHECKPOINT_VERSION) return FIRN_OK;
  if (lenient) {
    log_warn(
        "%s was written by Firn %s, whose sums over the grid had another order: the last bits will differ",
        path, from->version);
    return FIRN_OK;
  }
  return error_set(
      err, FIRN_EINPUT,
      "%s was written by Firn %s (format version %lld), whose sums over the grid had another order, "
      "so the last bits would differ; continue with that version, or with --force",
      path, from->version, (long long)from->format);
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
  if (strcmp(from->isa, "portable") == 0)
    return error_set(err, FIRN_EINPUT,
                     "the checkpoint was computed with the portable kernels of an earlier version; this one "
                     "has %s in their place, which round differently: go on with --force",
                     kernels_get(ISA_BASE)->name);
  return error_set(err, FIRN_EINPUT,
                   "the checkpoint was computed with %s kernels and this run would use %s, which rounds "
                   "differently; run it where all machines have %s, or continue with --force",
                   from->isa, sim->kernels->name, from->isa);
}

/* Where a material of that name is in the scene's list; -1 where it has none. */
static int find_material(const struct scene *scene, const char *name)
{
  for (int k = 0; k < scene->material_count; k++)
    if (strcmp(scene->materials[k].name, name) == 0) return k;
  return -1;
}

/* Particles hold a material's place in the scene's list, whose order may have changed since. */
static int map_materials(struct sim *sim, const char *path, const struct checkpoint *from, struct error *err)
{
  struct scene_names *old = NULL;
  int code = comm_agree(&sim->comm, scene_names_create(&old, from->resolved, "materials", err), err);
  const uint32_t count = code ? 0 : (uint32_t)old->count;
  int *now = mem_alloc(count, sizeof *now);
  for (uint32_t k = 0; k < count; k++) now[k] = find_material(sim->scene, old->names[k]);
  for (int32_t i = 0; i < sim->p->count && !code; i++) {
    const uint32_t place = particle_material(sim->p, i);
    const bool known = place < count && now[place] >= 0;
    if (known && sim->p->material) sim->p->material[i] = (uint32_t)now[place];
    if (!known)
      code = error_set(err, FIRN_EINPUT,
                       "%s: particle %llu is of the material '%s', which the scene no longer has", path,
                       (unsigned long long)sim->p->id[i], place < count ? old->names[place] : "?");
  }
  mem_free(now);
  scene_names_destroy(&old);
  return comm_agree(&sim->comm, code, err);
}

/* V0 is there already, and the speeds that limit the next step are those of the step before. */
static void restore_numbers(struct sim *sim, const struct checkpoint *from)
{
  sim->clock.time = from->time;
  sim->clock.step = sim->balance.looked = from->step;
  sim_find_frame(sim); /* the scene may have another frame rate than the checkpoint's */
  if (from->on_frame && from->time == scene_frame_time(sim->scene, from->frame)) {
    sim->clock.frame = from->frame; /* the last one may be early */
    sim->clock.on_frame = true;
  }
  instruments_restore(sim, from->instruments);
  maps_restore(sim, from->maps);
  sim->max_speed = from->max_speed;
  sim->max_sound = from->max_sound;
  sim->clock.trusted = from->trusted;
  const int64_t particles = sim->totals.particles;
  sim->totals = from->totals;
  sim->totals.particles = particles;
  log_set_step(sim->clock.step);
}

/* Probes go by their names; what one measured elsewhere is not this one's. */
static int find_new_probes(struct sim *sim, const struct checkpoint *from, struct error *err)
{
  struct scene_changes *changes = NULL;
  const int code =
      comm_agree(&sim->comm, scene_changes_create(&changes, from->resolved, sim->scene->resolved, err), err);
  if (!code) sim->new_probes = mem_alloc((size_t)sim->scene->probe_count, sizeof *sim->new_probes);
  for (int k = 0; !code && k < sim->scene->probe_count; k++)
    sim->new_probes[k] = scene_changes_touch(changes, "probes", sim->scene->probes[k].name);
  scene_changes_destroy(&changes);
  return code;
}

static int restore(struct sim *sim, const char *path, const struct checkpoint *from, bool lenient,
                   struct error *err)
{
  const struct scene *scene = sim->scene;
  int code = check_sums(from, path, lenient, err);
  if (!code) code = check_kernels(sim, from, lenient, err);
  if (!code) code = scene_particles_fit(&sim->comm, (double)from->particles, err);
  if (!code) code = checkpoint_read(&sim->comm, path, &scene->writing, lenient, sim->p, err);
  if (!code) code = map_materials(sim, path, from, err);
  for (int32_t i = 0; i < sim->p->count && scene->has_heat && lenient; i++)
    if (sim->p->conductivity[i] == 0.0) /* of a run without heat */
      sim->p->conductivity[i] = heat_snow_conductivity(sim->p->mass[i] / sim->p->volume[i]);
  if (!code)
    code = place(sim, scene->slab_axis == AXIS_AUTO ? (int)from->slab_axis : (int)scene->slab_axis, err);
  if (!code) code = sources_restore(sim, from, path, err);
  if (!code) code = drive_restore(sim, from->drives, err);
  if (!code) code = window_restore(sim, from, path, lenient, err);
  if (!code) code = find_new_probes(sim, from, err);
  if (!code) restore_numbers(sim, from);
  if (!code) rigid_place(sim);
  if (!code) heat_begin(sim);
  if (!code) sources_count_flying(sim);
  if (!code) FIRN_DEBUG_ASSERT(sim_ids_are_unique(sim));
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
  *info = (struct checkpoint){.time = sim->clock.time,
                              .max_speed = sim->max_speed,
                              .max_sound = sim->max_sound,
                              .trusted = sim->clock.trusted,
                              .step = sim->clock.step,
                              .frame = sim->clock.frame,
                              .on_frame = sim->clock.on_frame,
                              .particles = sim->totals.particles,
                              .totals = sim->totals,
                              .slab_axis = sim->mesh.grid->geometry.axis[0]};
  snprintf(info->isa, sizeof info->isa, "%s", sim->kernels->name);
  info->instruments = instruments_save(sim);
  info->maps = maps_save(sim);
  info->sources = sources_save(sim);
  info->drives = drive_save(sim);
  info->seeding = window_save(sim);
  FIRN_DEBUG_ASSERT(sim_ids_are_unique(sim));
}

bool sim_ids_are_unique(const struct sim *sim)
{
  return unique_ids_check(&sim->comm, sim->p->id, sim->p->count, NULL) == FIRN_OK;
}

void sim_destroy(struct sim **sim)
{
  if (!*sim) return;
  struct sim *s = *sim;
  slabs_destroy(&s->mesh.slabs);
  halo_destroy(&s->mesh.halo);
  grid_destroy(&s->mesh.grid);
  particles_destroy(&s->p);
  mem_free(s->leavers.particle);
  mem_free(s->flight.crowd);
  seed_samplings_destroy(&s->window.samplings, s->scene);
  sources_free(s);
  next_free(&s->next);
  reorder_free(&s->order);
  crew_free(&s->crew);
  instruments_destroy(&s->instruments);
  maps_destroy(&s->maps);
  mem_free(s->new_probes);
  mailbox_free(&s->outgoing);
  mailbox_free(&s->incoming);
  transfer_free(&s->transfer);
  heat_free(&s->heat);
  contacts_free(&s->contacts);
  mem_free(s->constants);
  mem_free(s->poses);
  mem_free(s->drives);
  rigid_destroy(&s->rigid);
  mem_free(s->air_density);
  mem_free(s->loose);
  mem_free(s->dropped);
  push_free(&s->hooks.push);
  mem_free(s);
  *sim = NULL;
}

/* A phase's time less what it waited; both kinds of waiting have phases of their own. */
void sim_end_phase(struct sim *sim, enum phase phase, double *since)
{
  static const enum phase of_wait[WAITS] = {PHASE_EXCHANGE, PHASE_REDUCE};
  const struct traffic *traffic = sim->comm.traffic;
  const double now = timer_now();
  double seconds = now - *since;
  for (int w = 0; w < WAITS; w++) {
    const double waited = traffic->waited[w] - sim->waited[w];
    sim->waited[w] = traffic->waited[w];
    sim->report.seconds[of_wait[w]] += waited;
    seconds -= waited;
  }
  sim->report.seconds[phase] += seconds;
  timeline_add(traffic->timeline, 0, phase_names[phase], *since, now, 0);
  log_heartbeat(phase_names[phase]);
  *since = now;
}

void sim_sum(struct sim *sim, const struct block_sum *sums, int count)
{
  struct grid *g = sim->mesh.grid;
  struct halo_field fields[CREW_SUMS * WORKER_PARTS] = {{NODE_MOMENTUM, false}};
  int n = 0;
  for (int k = 0; k < count; k++)
    for (int f = 0; f < sums[k].fields; f++)
      fields[n++] = (struct halo_field){sums[k].field[f], sums[k].vector};
  const bool alone = !g->has_left && !g->has_right;
  for (int k = 0; k < count; k++) crew_sum(&sim->crew, g, &sums[k], k, alone ? PASS_ALL : PASS_EDGES);
  if (alone) return;
  halo_begin(sim->mesh.halo, g, fields, n);
  for (int k = 0; k < count; k++) crew_sum(&sim->crew, g, &sums[k], k, PASS_INSIDE);
  halo_end(sim->mesh.halo, g, fields, n);
}

void sim_scatter(struct sim *sim, block_kernel *kernel, void *arguments, enum part_layout layout,
                 const enum node_field *fields, int count)
{
  struct block_sum sum = {&sim->mesh.grid->blocks, kernel, arguments, layout, count, {NODE_MOMENTUM}, false};
  memcpy(sum.field, fields, (size_t)count * sizeof *fields);
  sim_sum(sim, &sum, 1);
}

void sim_blocks(struct sim *sim, block_kernel *kernel, void *arguments)
{
  crew_blocks(&sim->crew, sim->mesh.grid, &sim->mesh.grid->blocks, kernel, arguments);
}
