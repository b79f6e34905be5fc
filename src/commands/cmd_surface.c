/* firn surface FRAME... -o OUT: the surface of the snow. Frames are shared out over the ranks. */
#include "commands/commands.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "commands/options.h"
#include "decomposition/topology.h"
#include "io/file.h"
#include "io/particles/frame.h"
#include "kernels/crew.h"
#include "render/cloud.h"
#include "render/sheet.h"
#include "run/launch.h"
#include "surface/skin.h"
#include "surface/skin_file.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] =
    "usage: firn surface FRAME -o OUT.ply|.obj|.vtp|.vdb [OPTIONS]\n"
    "       mpirun -n RANKS firn surface FRAME... --each PATTERN [OPTIONS]\n"
    "\n"
    "Writes the surface of the snow. PLY, OBJ and VTP have a closed mesh with normals; PLY and VTP also\n"
    "have the velocity of each vertex, for motion blur. VDB has a narrow band of signed distances,\n"
    "`surface`, and the velocity, `vel`. Several ranks share out the frames. The result does not depend on\n"
    "ranks or threads.\n"
    "\n";

struct options {
  const char *output, *each;
  double voxel; /* m; 0: by the scene */
  struct skin_options skin;
  int threads, kernel, by; /* indices of words; `by` -1: one file */
  bool by_material, quiet, help;
  char **frames;
  int count;
};

/* What was made, for the summary. */
struct made {
  int64_t particles, triangles;
  int files;
};

enum { KERNEL_ANISOTROPIC }; /* the first word of --kernel */

static const struct option_row option_rows[] = {
    {"output", "FILE", "the file to write", 'o', OPTION_TEXT(struct options, output)},
    {"each", "PATTERN", "write one file per frame, such as mesh/snow_%04d.ply",
     OPTION_TEXT(struct options, each)},
    {"voxel", "M", "edge of a voxel in m (half a cell of the simulation)",
     OPTION_POSITIVE(struct options, voxel)},
    {"kernel", "anisotropic|spheres",
     "anisotropic: ellipsoids that follow the neighbours of each particle; or spheres (anisotropic)",
     OPTION_WORD(struct options, kernel)},
    {"smooth", "N", "passes of smoothing (4)", OPTION_INT(struct options, skin.smoothing, 0, 20)},
    {"by", "material", "write one file per material, with its name before the suffix",
     OPTION_WORD(struct options, by)},
    {"threads", "N", "threads per rank", OPTION_INT(struct options, threads, 1, MAX_THREADS)},
    {"quiet", NULL, "no progress, no summary", OPTION_FLAG(struct options, quiet)},
};

static const struct option_table known = {"surface", head, option_rows,
                                          sizeof option_rows / sizeof *option_rows, NULL};

static int read_options(int argc, char **argv, struct options *o, struct error *err)
{
  struct option_words words;
  *o = (struct options){.skin = {.smoothing = 4}, .by = -1};
  const int code = options_read(&known, argc, argv, o, &words, err);
  o->help = words.help;
  if (code || o->help) return code;
  o->skin.anisotropic = o->kernel == KERNEL_ANISOTROPIC;
  o->by_material = o->by >= 0;
  o->frames = words.word;
  o->count = words.count;
  if (o->count == 0) return error_set(err, FIRN_EINPUT, "no frame given; try 'firn help surface'");
  if (!o->output == !o->each)
    return error_set(err, FIRN_EINPUT, "give a file to write to, -o OUT.ply, or a pattern with --each");
  if (o->output && o->count > 1)
    return error_set(err, FIRN_EINPUT, "there are %d frames; give a file for each, --each PATTERN", o->count);
  return skin_file_check(o->output ? o->output : o->each, err);
}

/* "snow.ply" and "ice" make "snow_ice.ply". */
static char *path_with(const char *path, const char *name)
{
  const char *dot = strrchr(path, '.');
  char *out = mem_alloc(strlen(path) + strlen(name) + 2, 1);
  sprintf(out, "%.*s_%s%s", (int)(dot - path), path, name, dot);
  return out;
}

/* The surface of the particles of one material; of all where it is below 0. */
static int write_part(const struct options *o, const struct frame *frame, int64_t material, const char *path,
                      struct made *made, struct error *err)
{
  float *position = mem_alloc((size_t)frame->count, 3 * sizeof *position);
  float *velocity = mem_alloc((size_t)frame->count, 3 * sizeof *velocity);
  int64_t count = 0;
  for (int64_t i = 0; i < frame->count; i++) {
    if (material >= 0 && frame->material[i] != (uint32_t)material) continue;
    memcpy(position + 3 * count, frame->position + 3 * i, 3 * sizeof *position);
    memcpy(velocity + 3 * count++, frame->velocity + 3 * i, 3 * sizeof *velocity);
  }
  if (count == 0) log_warn("%s: there is no particle, so the surface is empty", path);
  struct skin *skin = skin_create(position, velocity, count, &o->skin);
  const int code = skin_file_write(path, skin, frame->info.time, o->skin.voxel, err);
  made->particles += count;
  made->triangles += skin->mesh->triangle_count;
  made->files++;
  skin_destroy(&skin);
  mem_free(position);
  mem_free(velocity);
  return code;
}

static int write_parts(const struct options *o, const struct frame *frame, const struct scene *scene,
                       const char *path, struct made *made, struct error *err)
{
  int code = FIRN_OK;
  if (!o->by_material) return write_part(o, frame, -1, path, made, err);
  for (int k = 0; k < scene->material_count && !code; k++) {
    char *own = path_with(path, scene->materials[k].name);
    code = write_part(o, frame, k, own, made, err);
    mem_free(own);
  }
  return code;
}

/* Spacing of the particles and of the grid, if the options do not say. */
static int find_sizes(struct options *o, const struct frame *frame, const struct scene *scene,
                      const char *file, struct error *err)
{
  o->skin.spacing = cloud_spacing(frame->position, frame->count);
  o->skin.voxel = o->voxel > 0.0 ? o->voxel : scene ? 0.5 * scene->spacing : o->skin.spacing;
  if (!(o->skin.spacing > 0.0)) o->skin.spacing = scene ? 0.5 * scene->spacing : o->skin.voxel;
  if (!(o->skin.voxel > 0.0))
    return error_set(err, FIRN_EINPUT, "%s: the frame says nothing about the grid; give --voxel", file);
  /* Nodes are numbered with 32 bits. */
  for (int64_t k = 0; k < 3 * frame->count; k++)
    if (fabs((double)frame->position[k]) > 1e9 * o->skin.voxel)
      return error_set(err, FIRN_EINPUT,
                       "%s: a voxel of %g m is too small for particles %g m away; give --voxel", file,
                       o->skin.voxel, (double)frame->position[k]);
  return FIRN_OK;
}

static int write_frame(struct options *o, const char *file, const char *path, struct made *made,
                       struct error *err)
{
  struct frame *frame = NULL;
  struct scene *scene = NULL;
  int code = frame_read(&frame, file, err);
  const char *text = code ? NULL : frame->resolved ? frame->resolved : frame->scene;
  if (text && scene_parse_stored(&scene, file, text, NULL)) scene = NULL;
  if (!code && o->by_material && (!frame->material || !scene))
    code = error_set(err, FIRN_EINPUT,
                     "%s does not say which material a particle is; add 'material' to "
                     "output.fields of the scene",
                     file);
  if (!code && frame->count > INT32_MAX)
    code = error_set(err, FIRN_ELIMIT, "%s: a surface takes at most %d particles", file, INT32_MAX);
  if (!code) code = find_sizes(o, frame, scene, file, err);
  if (!code) code = write_parts(o, frame, scene, path, made, err);
  scene_destroy(&scene);
  frame_destroy(&frame);
  return code;
}

static int make_folder(const char *path, struct error *err)
{
  char *folder = mem_strdup(path), *slash = strrchr(folder, '/');
  int code = FIRN_OK;
  if (slash && slash != folder) {
    *slash = '\0';
    code = file_make_folder(folder, err);
  }
  mem_free(folder);
  return code;
}

/* This rank's frames: every size-th. */
static int write_own(struct options *o, const struct comm *comm, struct made *made, struct error *err)
{
  int code = FIRN_OK;
  for (int k = comm->rank; k < o->count && !code; k += comm->size) {
    char *path = o->each ? sheet_numbered(o->each, k) : mem_strdup(o->output);
    if (!path)
      return error_set(err, FIRN_EINPUT, "--each '%s' is no pattern with one number, such as snow_%%04d.ply",
                       o->each);
    log_progress("surface of frame %d of %d", k + 1, o->count);
    if (o->each) code = make_folder(path, err);
    if (!code) code = write_frame(o, o->frames[k], path, made, err);
    mem_free(path);
  }
  return code;
}

static void tell(const struct options *o, const struct comm *comm, const struct made *mine)
{
  struct made *all = mem_alloc((size_t)comm->size, sizeof *all), sum = {0, 0, 0};
  comm_gather(comm, mine, sizeof *mine, all);
  for (int r = 0; r < comm->size; r++) {
    sum.particles += all[r].particles;
    sum.triangles += all[r].triangles;
    sum.files += all[r].files;
  }
  log_info("%s: %d file%s, %lld particles, %lld triangles", o->each ? o->each : o->output, sum.files,
           sum.files == 1 ? "" : "s", (long long)sum.particles, (long long)sum.triangles);
  mem_free(all);
}

int cmd_surface(int argc, char **argv)
{
  struct options options;
  struct error err = {.code = FIRN_OK};
  struct made made = {0, 0, 0};
  struct comm comm;
  int code = read_options(argc, argv, &options, &err);
  if (!code && options.help) {
    options_help(&known);
    return EXIT_SUCCESS;
  }
  comm_start(&comm, &argc, &argv);
  log_configure(options.quiet ? LOG_WARN : LOG_INFO, comm.rank, comm_abort);
  mem_free(topology_plan(&comm, options.threads, BIND_AUTO));
  options.skin.threads = comm.threads;
  if (!code) code = write_own(&options, &comm, &made, &err);
  code = comm_agree(&comm, code, &err);
  if (!code) tell(&options, &comm, &made);
  const int exit_code = code ? launch_fail(&comm, &err) : EXIT_SUCCESS;
  comm_stop(&comm);
  return exit_code;
}
