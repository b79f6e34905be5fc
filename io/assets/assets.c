/* See assets.h.
 *
 * Rank 0 alone touches the disk: it reads, checks, and finds or keeps the distance grid in the cache. Making
 * a grid is shared by all ranks, plane by plane, over one tree of triangles a node. */
#include "io/assets/assets.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/timer.h"
#include "base/vec.h"
#include "decomposition/node_block.h"
#include "io/assets/height_image.h"
#include "io/assets/levelset_file.h"
#include "io/assets/levelset_keys.h"
#include "io/assets/mesh_cache.h"
#include "io/assets/mesh_file.h"
#include "io/assets/text_shape.h"
#include "io/file.h"
#include "levelset/heights.h"
#include "levelset/sdf_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double most_samples = 2e9; /* 8 GB a grid */

struct asset {
  enum shape_kind kind;
  struct shape_source source; /* how it was named; the path is owned */
  struct node_block *block;
  struct sdf sdf;   /* mesh; around `middle` */
  double middle[3]; /* m, mesh: of what is inside, in the file's axes times scale */
  struct keyed keys;
  int64_t pixels[2]; /* image */
};

struct assets {
  struct asset **list;
  int count;
};

static int agree(const struct comm *comm, int code, struct error *err)
{
  return comm ? comm_agree(comm, code, err) : code;
}

static void broadcast(const struct comm *comm, void *bytes, size_t size)
{
  if (comm) comm_broadcast(comm, bytes, size);
}

static bool is_root(const struct comm *comm)
{
  return !comm || comm->rank == 0;
}

/* --- meshes --- */

struct mesh_job {
  char *bytes, *cache; /* rank 0's */
  size_t size;
  struct mesh *mesh; /* rank 0's, where the grid must be made */
  struct {
    struct sdf sdf;
    bool cached;
    int64_t triangles;
  } plan; /* all ranks' */
};

/* Rank 0: the mesh, fit for a tree, and the plan of its grid. */
static int prepare_mesh(const struct asset *a, struct mesh_job *job, struct error *err)
{
  int code = mesh_file_parse(&job->mesh, a->source.path, job->bytes, job->size, a->source.scale, err);
  if (code) return code;
  job->plan.triangles = mesh_weld(job->mesh);
  if (job->plan.triangles == 0)
    return error_set(err, FIRN_EINPUT, "%s: its triangles have no area", a->source.path);
  if (mesh_is_flat(job->mesh))
    return error_set(
        err, FIRN_EINPUT,
        "%s: the mesh is flat, so that nothing is inside; give it a thickness, or use a box or heightfield",
        a->source.path);
  const int64_t turned = mesh_orient(job->mesh);
  if (turned > 0)
    log_debug("%s: %lld of %lld triangles faced the wrong way", a->source.path, (long long)turned,
              (long long)job->plan.triangles);
  double lower[3], upper[3];
  mesh_bounds(job->mesh, lower, upper);
  sdf_plan(&job->plan.sdf, lower, upper, a->source.spacing);
  const int64_t *n = job->plan.sdf.n;
  if ((double)n[0] * (double)n[1] * (double)n[2] > most_samples)
    return error_set(
        err, FIRN_EINPUT,
        "%s: a distance grid of %lld x %lld x %lld is too large; raise 'spacing' above %g m, or give "
        "'scale' if the file is not in metres",
        a->source.path, (long long)n[0], (long long)n[1], (long long)n[2], a->source.spacing);
  return FIRN_OK;
}

static int begin_mesh(const struct asset *a, struct mesh_job *job, struct error *err)
{
  const int code = mesh_file_load(a->source.path, &job->bytes, &job->size, err);
  if (code) return code;
  job->cache = mesh_cache_path(job->bytes, job->size, a->source.scale, a->source.spacing);
  job->plan.cached = mesh_cache_find(job->cache, &job->plan.sdf);
  return job->plan.cached ? FIRN_OK : prepare_mesh(a, job, err);
}

/* All ranks: the grid's planes, over a tree that rank 0 makes. */
static void make_grid(const struct comm *comm, struct asset *a, const struct mesh_job *job)
{
  struct node_block *tree = node_block_create(comm, bvh_size(job->plan.triangles));
  if (is_root(comm)) bvh_build(tree->bytes, job->mesh);
  node_block_broadcast(tree);
  const struct bvh bvh = bvh_view(tree->bytes);
  int64_t from, to;
  const int64_t planes = a->sdf.n[2];
  node_block_part(a->block, planes, &from, &to);
  sdf_fill(&a->sdf, &bvh, NULL, from, to, a->block->bytes, NULL);
  node_block_gather(a->block, planes, (size_t)(a->sdf.n[0] * a->sdf.n[1]) * sizeof(float));
  int64_t holes = 0;
  if (a->block->leader) holes = sdf_close_holes(&a->sdf, a->block->bytes);
  node_block_settle(a->block);
  if (holes > 0) log_debug("%s: holes closed at %lld places", a->source.path, (long long)holes);
  node_block_destroy(&tree);
}

/* The grid's samples, from the cache or made; damaged samples are found here, a damaged header before. */
static int fill_grid(const struct comm *comm, struct asset *a, struct mesh_job *job, struct error *err)
{
  const double start = timer_now();
  int code = FIRN_OK;
  if (job->plan.cached && is_root(comm) && !mesh_cache_read(job->cache, &a->sdf, a->block->bytes)) {
    job->plan.cached = false;
    code = prepare_mesh(a, job, err);
    if (!code && memcmp(job->plan.sdf.n, a->sdf.n, sizeof a->sdf.n) != 0)
      code = error_set(err, FIRN_EINPUT, "%s is not the grid of this mesh: remove it", job->cache);
  }
  code = agree(comm, code, err);
  if (code) return code;
  broadcast(comm, &job->plan, sizeof job->plan);
  if (job->plan.cached) {
    node_block_broadcast(a->block);
    return FIRN_OK;
  }
  make_grid(comm, a, job);
  if (is_root(comm)) mesh_cache_write(job->cache, &a->sdf);
  if (comm)
    log_info("%s: distances of %lld triangles on %lld x %lld x %lld samples in %.1f s", a->source.path,
             (long long)job->plan.triangles, (long long)a->sdf.n[0], (long long)a->sdf.n[1],
             (long long)a->sdf.n[2], timer_now() - start);
  return FIRN_OK;
}

/* Moves the grid so that the middle of what is inside is its origin. */
static int center_grid(struct asset *a, struct error *err)
{
  double lower[3], upper[3];
  if (!sdf_inner_bounds(&a->sdf, lower, upper))
    return error_set(err, FIRN_EINPUT,
                     "%s: nothing is inside at a spacing of %g m: the mesh is too thin, too small or open; "
                     "lower 'spacing', or "
                     "give 'scale' if the file is not in metres",
                     a->source.path, a->source.spacing);
  for (int d = 0; d < 3; d++) {
    a->middle[d] = 0.5 * (lower[d] + upper[d]);
    a->sdf.lower[d] -= a->middle[d];
  }
  return FIRN_OK;
}

static int load_mesh(const struct comm *comm, struct asset *a, struct error *err)
{
  struct mesh_job job = {.bytes = NULL};
  int code = is_root(comm) ? begin_mesh(a, &job, err) : FIRN_OK;
  code = agree(comm, code, err);
  if (!code) {
    broadcast(comm, &job.plan, sizeof job.plan);
    a->sdf = job.plan.sdf;
    a->block = node_block_create(comm, (size_t)sdf_count(&a->sdf) * sizeof(float));
    a->sdf.phi = a->block->bytes;
    code = fill_grid(comm, a, &job, err);
  }
  mesh_destroy(&job.mesh);
  mem_free(job.cache);
  mem_free(job.bytes);
  return code ? code : center_grid(a, err); /* all ranks see the same samples */
}

/* --- images and keys --- */

static int load_image(const struct comm *comm, struct asset *a, struct error *err)
{
  float *samples = NULL;
  int code = is_root(comm) ? height_image_read(a->source.path, &samples, &a->pixels[0], &a->pixels[1], err)
                           : FIRN_OK;
  code = agree(comm, code, err);
  if (code) return code;
  broadcast(comm, a->pixels, sizeof a->pixels);
  const size_t size = (size_t)(a->pixels[0] * a->pixels[1]) * sizeof *samples;
  a->block = node_block_create(comm, size);
  if (samples) memcpy(a->block->bytes, samples, size);
  node_block_broadcast(a->block);
  mem_free(samples);
  return FIRN_OK;
}

/* Keys from a file of keys. */
static int read_keys(const struct comm *comm, struct asset *a, const char *path, struct error *err)
{
  struct levelset_plan plan = {0};
  int code = is_root(comm) ? levelset_plan_read(&plan, path, err) : FIRN_OK;
  if (is_root(comm) && !code && a->source.cyclic && plan.count < 2)
    code = error_set(err, FIRN_EINPUT, "%s: a single key is no cycle", path);
  code = agree(comm, code, err);
  if (!code) {
    int64_t sizes[2] = {plan.count, plan.floats};
    broadcast(comm, sizes, sizeof sizes);
    a->block = node_block_create(comm, (size_t)sizes[1] * sizeof(float));
    if (is_root(comm)) code = levelset_samples_read(&plan, path, a->block->bytes, err);
    code = agree(comm, code, err);
    if (!code) {
      if (!is_root(comm)) {
        plan.count = sizes[0];
        plan.key = mem_alloc((size_t)plan.count, sizeof *plan.key);
      }
      broadcast(comm, plan.key, (size_t)plan.count * sizeof *plan.key);
      node_block_broadcast(a->block);
      levelset_keys(&plan, a->block->bytes, a->source.cyclic, &a->keys);
    }
  }
  levelset_plan_free(&plan);
  return code;
}

static bool is_skeleton(const char *path)
{
  const char *dot = strrchr(path, '.');
  return dot && (strcmp(dot, ".yml") == 0 || strcmp(dot, ".yaml") == 0);
}

/* Rank 0: where the keys of the skeleton are or shall be made, for mem_free(). Without a cache they go to a
 * temporary. */
static int place_keys(const struct asset *a, char **out, bool *cached, struct error *err)
{
  char *text = NULL;
  size_t size;
  const int code = file_read(a->source.path, 16 << 20, &text, &size, err);
  if (code) return code;
  *out = mesh_cache_keys_path(text, size);
  *cached = *out != NULL;
  mem_free(text);
  if (*cached) {
    char *folder = mem_strdup(*out);
    *strrchr(folder, '/') = '\0';
    *cached = file_make_folder(folder, NULL) == FIRN_OK && access(folder, W_OK) == 0;
    mem_free(folder);
    if (*cached) return FIRN_OK;
    mem_free(*out);
  }
  const char *folder = getenv("TMPDIR");
  char *target = file_join(folder && *folder ? folder : "/tmp", "firn-keys.h5");
  *out = file_temp_name(target, 0);
  mem_free(target);
  return FIRN_OK;
}

/* Keys of a skeleton: made where they are not in the cache yet. */
static int make_keys(const struct comm *comm, struct asset *a, struct error *err)
{
  char *path = NULL;
  bool cached = false;
  struct error why = {.code = FIRN_OK};
  int code = is_root(comm) ? place_keys(a, &path, &cached, err) : FIRN_OK;
  code = agree(comm, code, err);
  if (code) return code;
  if (comm) comm_broadcast_text(comm, &path);
  int64_t there = is_root(comm) && cached && access(path, R_OK) == 0;
  broadcast(comm, &there, sizeof there);
  if (there && read_keys(comm, a, path, &why) == FIRN_OK) { /* else it is damaged: made again */
    mem_free(path);
    return FIRN_OK;
  }
  node_block_destroy(&a->block);
  if (is_root(comm) && there) unlink(path);
  code = levelset_from_skeleton(comm, a->source.path, path, err);
  if (!code) code = read_keys(comm, a, path, err);
  if (is_root(comm) && !cached) unlink(path);
  mem_free(path);
  return code;
}

static int load_keys(const struct comm *comm, struct asset *a, struct error *err)
{
  return is_skeleton(a->source.path) ? make_keys(comm, a, err) : read_keys(comm, a, a->source.path, err);
}

/* --- all kinds --- */

static void asset_destroy(struct asset *a)
{
  node_block_destroy(&a->block);
  levelset_keys_free(&a->keys);
  mem_free(a->source.path);
  mem_free(a);
}

void assets_destroy(struct assets **assets)
{
  if (!*assets) return;
  for (int k = 0; k < (*assets)->count; k++) asset_destroy((*assets)->list[k]);
  mem_free((*assets)->list);
  mem_free(*assets);
  *assets = NULL;
}

static bool same_source(const struct asset *a, const struct shape *shape)
{
  const struct shape_source *s = &a->source, *t = shape->source;
  if (a->kind != shape->kind || strcmp(s->path, t->path) != 0) return false;
  if (a->kind == SHAPE_MESH) return s->scale == t->scale && s->spacing == t->spacing;
  return a->kind != SHAPE_KEYS || s->cyclic == t->cyclic;
}

static int load_asset(const struct comm *comm, const struct shape *shape, struct asset **out,
                      struct error *err)
{
  struct asset *a = mem_alloc(1, sizeof *a);
  a->kind = shape->kind;
  a->source = *shape->source;
  a->source.path = mem_strdup(shape->source->path);
  int code = FIRN_OK;
  switch (a->kind) {
  case SHAPE_MESH: code = load_mesh(comm, a, err); break;
  case SHAPE_HEIGHTFIELD: code = load_image(comm, a, err); break;
  default: code = load_keys(comm, a, err);
  }
  if (code)
    asset_destroy(a);
  else
    *out = a;
  return code;
}

/* Gives the shape what was loaded. `center` held the place of the file's origin. */
static void attach(const struct asset *a, struct shape *shape)
{
  switch (a->kind) {
  case SHAPE_MESH: {
    double turned[3];
    shape->sdf = &a->sdf;
    shape_to_world(shape, a->middle, turned);
    vec_axpy(shape->center, 1.0, turned, shape->center);
    break;
  }
  case SHAPE_HEIGHTFIELD: {
    const double half[2] = {shape->half[0], shape->half[2]};
    shape->heights = heights_from_samples(a->block->bytes, a->pixels[0], a->pixels[1], half);
    heights_scale(shape->heights, shape->source->scale);
    break;
  }
  default: shape->keys = &a->keys;
  }
}

int assets_load(struct assets **assets, const struct comm *comm, struct shape *shape, struct error *err)
{
  int code = FIRN_OK;
  if (!*assets) *assets = mem_alloc(1, sizeof **assets);
  struct assets *all = *assets;
  for (int c = 0; c < shape->child_count && !code; c++)
    code = assets_load(assets, comm, &shape->child[c], err);
  if (code || !shape->source || shape->sdf || shape->keys || shape->heights || shape->outline ||
      shape->release)
    return code;
  if (shape->kind == SHAPE_TEXT) return text_load(comm, shape, err);
  struct asset *found = NULL;
  for (int k = 0; k < all->count && !found; k++)
    if (same_source(all->list[k], shape)) found = all->list[k];
  if (!found) {
    code = load_asset(comm, shape, &found, err);
    if (code) return code;
    all->list = mem_resize(all->list, (size_t)all->count, (size_t)all->count + 1, sizeof *all->list);
    all->list[all->count++] = found;
  }
  attach(found, shape);
  return FIRN_OK;
}
