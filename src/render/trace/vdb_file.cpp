#include "render/trace/vdb_file.h"

#include <openvdb/openvdb.h>

#include <cstdio>
#include <exception>

namespace
{

/* Index 0 is at `origin`. */
openvdb::math::Transform::Ptr transform_of(double voxel, const double origin[3])
{
  auto transform = openvdb::math::Transform::createLinearTransform(voxel);
  transform->postTranslate(openvdb::Vec3d(origin[0], origin[1], origin[2]));
  return transform;
}

void write_grids(const char *path, double voxel, const double origin[3], const vdb_tiles &tiles)
{
  openvdb::initialize();
  auto density = openvdb::FloatGrid::create(0.0f);
  auto velocity = openvdb::Vec3SGrid::create(openvdb::Vec3s(0.0f));
  density->setName("density");
  density->setGridClass(openvdb::GRID_FOG_VOLUME);
  velocity->setName("velocity");
  velocity->setVectorType(openvdb::VEC_CONTRAVARIANT_RELATIVE);
  density->setTransform(transform_of(voxel, origin));
  velocity->setTransform(transform_of(voxel, origin));
  auto to_density = density->getAccessor();
  auto to_velocity = velocity->getAccessor();
  for (int64_t t = 0; t < tiles.count; t++)
    for (int k = 0; k < 512; k++) {
      const float here = tiles.density[t][k];
      if (here == 0.0f) continue;
      const openvdb::Coord at(tiles.corner[t][0] + (k >> 6), tiles.corner[t][1] + (k >> 3 & 7),
                              tiles.corner[t][2] + (k & 7));
      const float *v = tiles.velocity[t][k];
      to_density.setValueOn(at, here);
      to_velocity.setValueOn(at, openvdb::Vec3s(v[0], v[1], v[2]));
    }
  openvdb::io::File file(path);
  file.write(openvdb::GridPtrVec{density, velocity});
  file.close();
}

} // namespace

int vdb_file_write(const char *path, double voxel, const double origin[3], const vdb_tiles *tiles, char *why,
                   size_t size)
{
  try {
    write_grids(path, voxel, origin, *tiles);
    return 0;
  } catch (const std::exception &e) {
    std::snprintf(why, size, "%s", e.what());
    return -1;
  }
}
