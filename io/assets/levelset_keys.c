/* See levelset_keys.h.
 *
 * A mesh's velocities are the slopes at its time of the parabolas through its vertices at three neighbouring
 * times, exact to the second order at the ends of the sequence too. A skeleton's are those of its motion.
 * Grids reach a little beyond what moves between two keys. */
#include "io/assets/levelset_keys.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/vec.h"
#include "decomposition/node_block.h"
#include "io/assets/levelset_file.h"
#include "io/assets/mesh_file.h"
#include "io/assets/skeleton_file.h"
#include "io/scene/scene.h"
#include "levelset/sdf_build.h"

#include <math.h>
#include <string.h>

static const double most_samples = 5e8; /* 8 GB per key */

/* What fills planes [from, to) of a key. */
typedef void fill_planes(const void *context, const struct sdf *plan, int64_t from, int64_t to, float *phi,
                         float *velocity);

struct key_maker {
  const struct comm *comm;
  struct levelset_writer writer; /* rank 0's */
  const char *output;
};

/* A NULL communicator is this process alone. */
static int agree(const struct comm *comm, int code, struct error *err)
{
  return comm ? comm_agree(comm, code, err) : code;
}

static bool is_root(const struct comm *comm)
{
  return !comm || comm->rank == 0;
}

static int plan_key(struct sdf *plan, const double lower[3], const double upper[3], double margin,
                    double spacing, struct error *err)
{
  double low[3], high[3];
  for (int d = 0; d < 3; d++) {
    low[d] = lower[d] - margin;
    high[d] = upper[d] + margin;
  }
  sdf_plan(plan, low, high, spacing);
  if ((double)plan->n[0] * (double)plan->n[1] * (double)plan->n[2] > most_samples)
    return error_set(err, FIRN_EINPUT,
                     "a key of %lld x %lld x %lld samples is too large; use a larger spacing",
                     (long long)plan->n[0], (long long)plan->n[1], (long long)plan->n[2]);
  return FIRN_OK;
}

/* One key: filled by all ranks, closed where a mesh has holes, written by rank 0. */
static int make_key(struct key_maker *m, double time, const struct sdf *plan, fill_planes *fill,
                    const void *context, struct error *err)
{
  const size_t plane = (size_t)(plan->n[0] * plan->n[1]);
  struct node_block *phi = node_block_create(m->comm, plane * (size_t)plan->n[2] * sizeof(float));
  struct node_block *velocity = node_block_create(m->comm, 3 * phi->size);
  int64_t from, to;
  int code = FIRN_OK;
  node_block_part(phi, plan->n[2], &from, &to);
  fill(context, plan, from, to, phi->bytes, velocity->bytes);
  node_block_gather(phi, plan->n[2], plane * sizeof(float));
  node_block_gather(velocity, plan->n[2], 3 * plane * sizeof(float));
  if (is_root(m->comm)) {
    struct sdf key = *plan;
    sdf_close_holes(plan, phi->bytes);
    key.phi = phi->bytes;
    key.velocity = velocity->bytes;
    code = levelset_writer_add(&m->writer, time, &key, err);
  }
  node_block_destroy(&velocity);
  node_block_destroy(&phi);
  return agree(m->comm, code, err);
}

static int begin(struct key_maker *m, const struct comm *comm, const char *output, double spacing,
                 struct error *err)
{
  *m = (struct key_maker){.comm = comm, .output = output};
  const int code = is_root(comm) ? levelset_writer_open(&m->writer, output, spacing, err) : FIRN_OK;
  return agree(comm, code, err);
}

static int finish(struct key_maker *m, int code, struct error *err)
{
  const int64_t keys = m->writer.count;
  if (is_root(m->comm)) {
    const int closed = levelset_writer_close(&m->writer, code == FIRN_OK, err);
    if (!code) code = closed;
  }
  code = agree(m->comm, code, err);
  if (!code) log_info("%s: %lld keys", m->output, (long long)keys);
  return code;
}

/* --- meshes --- */

/* Three neighbours of the sequence, on rank 0, as they were read: welding would move indices. */
struct neighbour_meshes {
  struct mesh *mesh[3];
  int first; /* of the sequence */
  int count;
};

static int read_mesh(const struct mesh_sequence *s, int index, const struct mesh *like, struct mesh **out,
                     struct error *err)
{
  char *bytes = NULL;
  size_t size = 0;
  const char *path = s->path[index];
  int code = mesh_file_load(path, &bytes, &size, err);
  if (!code) code = mesh_file_parse(out, path, bytes, size, s->scale, err);
  mem_free(bytes);
  if (code || !like) return code;
  const struct mesh *m = *out;
  if (m->vertex_count == like->vertex_count && m->triangle_count == like->triangle_count &&
      memcmp(m->triangle, like->triangle, (size_t)m->triangle_count * sizeof *m->triangle) == 0)
    return FIRN_OK;
  return error_set(err, FIRN_EINPUT,
                   "%s: its vertices and faces are not those of %s; a sequence must keep them, in order",
                   path, s->path[0]);
}

/* The meshes around mesh k; meshes are read as it moves on. */
static int move_on(const struct mesh_sequence *s, int k, struct neighbour_meshes *w, struct error *err)
{
  const int size = s->count < 3 ? s->count : 3;
  int first = k - 1;
  if (first + size > s->count) first = s->count - size;
  if (first < 0) first = 0;
  int code = FIRN_OK;
  while (w->first < first) {
    mesh_destroy(&w->mesh[0]);
    memmove(w->mesh, w->mesh + 1, 2 * sizeof *w->mesh);
    w->mesh[2] = NULL;
    w->first++;
    w->count--;
  }
  for (; w->count < size && !code; w->count++)
    code = read_mesh(s, w->first + w->count, w->count ? w->mesh[0] : NULL, &w->mesh[w->count], err);
  return code;
}

/* Velocity of vertex v of mesh `at` of them. */
static void vertex_velocity(const struct neighbour_meshes *w, int at, double rate, int32_t v, double out[3])
{
  const double *x[3] = {w->mesh[0]->vertex[v], w->count > 1 ? w->mesh[1]->vertex[v] : NULL,
                        w->count > 2 ? w->mesh[2]->vertex[v] : NULL};
  for (int d = 0; d < 3; d++) {
    if (w->count == 1)
      out[d] = 0.0;
    else if (w->count == 2)
      out[d] = rate * (x[1][d] - x[0][d]);
    else /* (x2 - x0) / 2, bent by the second difference at the ends */
      out[d] = rate * (0.5 * (x[2][d] - x[0][d]) + (at - 1) * (x[2][d] - 2.0 * x[1][d] + x[0][d]));
  }
}

struct mesh_key {
  struct bvh bvh;
  const double (*speed)[9];
};

static void fill_mesh(const void *context, const struct sdf *plan, int64_t from, int64_t to, float *phi,
                      float *velocity)
{
  const struct mesh_key *key = context;
  sdf_fill(plan, &key->bvh, key->speed, from, to, phi, velocity);
}

/* Rank 0: the mesh of this key made fit, and the plan of its grid. */
static int prepare_mesh(const struct mesh_sequence *s, const struct neighbour_meshes *w, int at,
                        struct mesh **fit, struct sdf *plan, struct error *err)
{
  const struct mesh *m = w->mesh[at];
  double lower[3], upper[3], most = 0.0;
  *fit = mesh_create(m->vertex_count, m->triangle_count);
  memcpy((*fit)->vertex, m->vertex, (size_t)m->vertex_count * sizeof *m->vertex);
  memcpy((*fit)->triangle, m->triangle, (size_t)m->triangle_count * sizeof *m->triangle);
  if (mesh_weld(*fit) == 0)
    return error_set(err, FIRN_EINPUT, "%s: its triangles have no area", s->path[w->first + at]);
  if (mesh_is_flat(*fit))
    return error_set(err, FIRN_EINPUT, "%s: the mesh is flat, so that nothing is inside; give it a thickness",
                     s->path[w->first + at]);
  mesh_orient(*fit);
  for (int64_t t = 0; t < m->triangle_count; t++)
    for (int k = 0; k < 3; k++) {
      double v[3];
      vertex_velocity(w, at, s->rate, m->triangle[t][k], v);
      most = fmax(most, vec_norm(v));
    }
  mesh_bounds(*fit, lower, upper);
  return plan_key(plan, lower, upper, most / s->rate, s->spacing, err);
}

/* Tree and corner velocities in one block: rank 0 makes them, all see them. */
static struct node_block *share_tree(const struct comm *comm, const struct mesh_sequence *s,
                                     const struct neighbour_meshes *w, int at, const struct mesh *fit,
                                     int64_t triangles, struct mesh_key *key)
{
  const size_t tree = (bvh_size(triangles) + 63) / 64 * 64;
  struct node_block *block = node_block_create(comm, tree + (size_t)triangles * sizeof *key->speed);
  double(*speed)[9] = (void *)((char *)block->bytes + tree);
  if (is_root(comm)) {
    bvh_build(block->bytes, fit);
    const struct bvh bvh = bvh_view(block->bytes);
    for (int64_t t = 0; t < triangles; t++)
      for (int k = 0; k < 3; k++)
        vertex_velocity(w, at, s->rate, fit->triangle[bvh.origin[t]][k], speed[t] + 3 * k);
  }
  node_block_broadcast(block);
  *key = (struct mesh_key){bvh_view(block->bytes), (const double(*)[9])speed};
  return block;
}

static int make_mesh_key(struct key_maker *m, const struct mesh_sequence *s, struct neighbour_meshes *w,
                         int k, struct error *err)
{
  struct {
    struct sdf sdf;
    int64_t triangles;
  } plan = {.triangles = 0};
  struct mesh *fit = NULL;
  int code = FIRN_OK;
  if (is_root(m->comm)) {
    code = move_on(s, k, w, err);
    if (!code) code = prepare_mesh(s, w, k - w->first, &fit, &plan.sdf, err);
    if (!code) plan.triangles = fit->triangle_count;
  }
  code = agree(m->comm, code, err);
  if (!code) {
    struct mesh_key key;
    if (m->comm) comm_broadcast(m->comm, &plan, sizeof plan);
    struct node_block *block = share_tree(m->comm, s, w, k - w->first, fit, plan.triangles, &key);
    code = make_key(m, k / s->rate, &plan.sdf, fill_mesh, &key, err);
    node_block_destroy(&block);
  }
  mesh_destroy(&fit);
  return code;
}

int levelset_from_meshes(const struct comm *comm, const struct mesh_sequence *sequence, const char *output,
                         struct error *err)
{
  struct key_maker m;
  struct neighbour_meshes w = {.first = 0};
  int code = begin(&m, comm, output, sequence->spacing, err);
  if (code) return code;
  for (int k = 0; k < sequence->count && !code; k++) code = make_mesh_key(&m, sequence, &w, k, err);
  for (int k = 0; k < 3; k++) mesh_destroy(&w.mesh[k]);
  return finish(&m, code, err);
}

/* --- skeletons --- */

struct skeleton_key {
  const struct skeleton *skeleton;
  struct bone_pose *pose;
};

static void fill_skeleton(const void *context, const struct sdf *plan, int64_t from, int64_t to, float *phi,
                          float *velocity)
{
  const struct skeleton_key *key = context;
  for (int64_t z = from, k = from * plan->n[0] * plan->n[1]; z < to; z++)
    for (int64_t y = 0; y < plan->n[1]; y++)
      for (int64_t x = 0; x < plan->n[0]; x++, k++) {
        const int64_t index[3] = {x, y, z};
        double at[3], v[3];
        for (int d = 0; d < 3; d++) at[d] = plan->lower[d] + plan->spacing * (double)index[d];
        phi[k] = (float)skeleton_distance(key->skeleton, key->pose, at, v);
        for (int d = 0; d < 3; d++) velocity[3 * k + d] = (float)v[d];
      }
}

static int make_skeleton_key(struct key_maker *m, const struct skeleton_plan *p, double time, double gap,
                             struct skeleton_key *key, struct error *err)
{
  struct sdf plan;
  double lower[3], upper[3], speed;
  int a, b;
  skeleton_pose(p->skeleton, time, key->pose);
  if (skeleton_touches_itself(p->skeleton, key->pose, &a, &b))
    return error_set(err, FIRN_EINPUT, "the bones '%s' and '%s' run into each other at %g s",
                     p->skeleton->bone[a].name, p->skeleton->bone[b].name, time);
  skeleton_bounds(p->skeleton, key->pose, lower, upper, &speed);
  const int code = plan_key(&plan, lower, upper, speed * gap, p->spacing, err);
  return code ? code : make_key(m, time, &plan, fill_skeleton, key, err);
}

static int make_skeleton_keys(const struct comm *comm, const struct skeleton_plan *p, const char *output,
                              struct error *err)
{
  struct key_maker m;
  int code = begin(&m, comm, output, p->spacing, err);
  if (code) return code;
  const int64_t steps = (int64_t)fmax(1.0, ceil(p->end * p->rate - 1e-9));
  struct skeleton_key key = {p->skeleton, mem_alloc((size_t)p->skeleton->count, sizeof *key.pose)};
  for (int64_t k = 0; k <= steps && !code; k++)
    code = make_skeleton_key(&m, p, p->end * (double)k / (double)steps, p->end / (double)steps, &key, err);
  mem_free(key.pose);
  return finish(&m, code, err);
}

int levelset_from_skeleton(const struct comm *comm, const char *path, const char *output, struct error *err)
{
  char *text = NULL;
  struct skeleton_plan plan = {.skeleton = NULL};
  int code = is_root(comm) ? scene_file_text(&text, path, err) : FIRN_OK;
  code = agree(comm, code, err);
  if (code) return code;
  if (comm) comm_broadcast_text(comm, &text);
  code = agree(comm, skeleton_parse(&plan, path, text, err), err);
  mem_free(text);
  if (!code) {
    code = make_skeleton_keys(comm, &plan, output, err);
    if (code) error_prefix(err, "%s", path);
  }
  skeleton_destroy(&plan.skeleton);
  return code;
}
