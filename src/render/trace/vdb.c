#include "render/trace/vdb.h"

int vdb_missing(const char *path, struct error *err)
{
  return error_set(
      err, FIRN_EINPUT,
      "%s: this Firn was built without OpenVDB; install the packages libopenvdb-dev and libboost-dev, "
      "then build it again",
      path);
}

#ifdef FIRN_HAVE_OPENVDB

#include "base/memory.h"
#include "io/file.h"
#include "render/trace/picture.h"
#include "render/trace/vdb_file.h"
#include "render/trace/volume.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NAME_AT = 21, NAME_LENGTH = 36 }; /* of the name in a file, after magic, versions and a flag */

int vdb_name_by_content(const char *path, struct error *err)
{
  char zeros[NAME_LENGTH + 1] = "00000000-0000-0000-0000-000000000000", name[2 * NAME_LENGTH];
  uint64_t hash = 0;
  int code = FIRN_OK;
  for (int pass = 0; pass < 2 && !code; pass++) {
    FILE *file = fopen(path, "r+b");
    const bool written = file && fseek(file, NAME_AT, SEEK_SET) == 0 &&
                         fwrite(pass ? name : zeros, 1, NAME_LENGTH, file) == NAME_LENGTH;
    if ((file && fclose(file)) || !written) {
      code = error_set(err, FIRN_EIO, "%s: cannot be written: %s", path, strerror(errno));
      break;
    }
    if (pass == 0) code = file_hash(path, SIZE_MAX, &hash, err);
    snprintf(name, sizeof name, "%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-0000-000000000000", hash >> 32,
             hash >> 16 & 0xffff, hash & 0xffff);
  }
  if (code) unlink(path);
  return code;
}

/* Nodes of a grid of these amounts, 512 of each tile, over the voxel's volume; for mem_free(). */
static int rasterise(const struct frame *frame, const float *amounts, const struct volume_options *options,
                     struct volume **volume, float (**out)[512], struct error *err)
{
  const struct volume_points points = {.count = frame->count, .position = frame->position, .mass = amounts};
  const int code = volume_create(volume, NULL, &points, options, err);
  if (code) return code;
  *out = mem_alloc((size_t)(*volume)->tile_count, sizeof **out);
  for (int64_t t = 0; t < (*volume)->tile_count; t++)
    for (int k = 0; k < 512; k++) {
      const int node = ((k >> 6) * VOLUME_EDGE + (k >> 3 & 7)) * VOLUME_EDGE + (k & 7);
      (*out)[t][k] = (*volume)->tile[t].node[node] / (float)options->voxel; /* per voxel -> per metre */
    }
  return FIRN_OK;
}

static int write_tiles(const char *path, const struct volume *volume, const float (*density)[512],
                       float (*const momentum[3])[512], struct error *err)
{
  char why[256] = "";
  int32_t(*corner)[3] = mem_alloc((size_t)volume->tile_count, sizeof *corner);
  float(*velocity)[512][3] = mem_alloc((size_t)volume->tile_count, sizeof *velocity);
  for (int64_t t = 0; t < volume->tile_count; t++) {
    memcpy(corner[t], volume->tile[t].corner, sizeof corner[t]);
    for (int k = 0; k < 512; k++)
      for (int d = 0; d < 3 && density[t][k] > 0.0f; d++)
        velocity[t][k][d] = momentum[d][t][k] / density[t][k];
  }
  const struct vdb_tiles tiles = {volume->tile_count, (const int32_t(*)[3])corner, density,
                                  (const float(*)[512][3])velocity};
  char *temp = file_temp_name(path, 0);
  int code = FIRN_OK;
  if (vdb_file_write(temp, volume->voxel, volume->origin, &tiles, why, sizeof why)) {
    unlink(temp);
    code = error_set(err, FIRN_EIO, "%s: OpenVDB: %s", path, why);
  }
  if (!code) code = vdb_name_by_content(temp, err);
  if (!code) code = file_commit(temp, path, err);
  mem_free(temp);
  mem_free(corner);
  mem_free(velocity);
  return code;
}

int vdb_write(const char *path, const struct frame *frame, const struct scene *scene, double voxel,
              struct error *err)
{
  struct volume_options options = {.voxel = voxel, .strength = {1.0}};
  struct volume *volume = NULL, *same = NULL;
  float(*density)[512] = NULL, (*momentum[3])[512] = {NULL, NULL, NULL};
  float *mass = mem_alloc((size_t)frame->count, sizeof *mass),
        *amount = mem_alloc((size_t)frame->count, sizeof *amount);
  const float usual = (float)picture_mass(scene, frame);
  if (scene) memcpy(options.lattice, scene->lower, sizeof options.lattice);
  for (int64_t i = 0; i < frame->count; i++) mass[i] = frame->mass ? frame->mass[i] : usual;
  int code = rasterise(frame, mass, &options, &volume, &density, err);
  for (int d = 0; d < 3 && !code; d++) {
    for (int64_t i = 0; i < frame->count; i++) amount[i] = mass[i] * frame->velocity[3 * i + d];
    code = rasterise(frame, amount, &options, &same, &momentum[d], err);
    volume_destroy(&same);
  }
  if (!code) code = write_tiles(path, volume, (const float(*)[512])density, momentum, err);
  volume_destroy(&volume);
  mem_free(density);
  for (int d = 0; d < 3; d++) mem_free(momentum[d]);
  mem_free(mass);
  mem_free(amount);
  return code;
}

#else

int vdb_write(const char *path, const struct frame *frame, const struct scene *scene, double voxel,
              struct error *err)
{
  (void)frame;
  (void)scene;
  (void)voxel;
  return vdb_missing(path, err);
}

#endif
