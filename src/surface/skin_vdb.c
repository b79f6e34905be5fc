#include "surface/skin_vdb.h"

#include "render/trace/vdb.h"

#ifdef FIRN_HAVE_OPENVDB

#include "base/memory.h"
#include "io/file.h"
#include "render/trace/vdb_file.h"

#include <unistd.h>

int skin_vdb_check(const char *path, struct error *err)
{
  (void)path;
  (void)err;
  return FIRN_OK;
}

static void velocity_at(const void *skin, const double x[3], float out[3])
{
  skin_velocity(skin, x, out);
}

int skin_vdb_write(const char *path, const struct skin *skin, double voxel, struct error *err)
{
  char why[256] = "", *temp = file_temp_name(path, 0);
  const struct vdb_mesh mesh = {.vertex_count = skin->mesh->vertex_count,
                                .triangle_count = skin->mesh->triangle_count,
                                .vertex = (const double(*)[3])skin->mesh->vertex,
                                .triangle = (const int32_t(*)[3])skin->mesh->triangle,
                                .velocity = velocity_at,
                                .context = skin};
  int code = FIRN_OK;
  if (vdb_file_write_surface(temp, voxel, &mesh, why, sizeof why)) {
    unlink(temp);
    code = error_set(err, FIRN_EIO, "%s: OpenVDB: %s", path, why);
  }
  if (!code) code = vdb_name_by_content(temp, err);
  if (!code) code = file_commit(temp, path, err);
  mem_free(temp);
  return code;
}

#else

int skin_vdb_check(const char *path, struct error *err)
{
  return vdb_missing(path, err);
}

int skin_vdb_write(const char *path, const struct skin *skin, double voxel, struct error *err)
{
  (void)skin;
  (void)voxel;
  return vdb_missing(path, err);
}

#endif
