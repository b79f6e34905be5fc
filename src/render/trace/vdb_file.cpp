#include "render/trace/vdb_file.h"

#include <openvdb/openvdb.h>
#include <openvdb/tools/MeshToVolume.h>

#include <cstdio>
#include <exception>
#include <vector>

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

void write_surface(const char *path, double voxel, const vdb_mesh &mesh)
{
  openvdb::initialize();
  auto transform = openvdb::math::Transform::createLinearTransform(voxel);
  std::vector<openvdb::Vec3s> points;
  std::vector<openvdb::Vec3I> triangles;
  for (int64_t v = 0; v < mesh.vertex_count; v++)
    points.emplace_back(float(mesh.vertex[v][0]), float(mesh.vertex[v][1]), float(mesh.vertex[v][2]));
  for (int64_t t = 0; t < mesh.triangle_count; t++)
    triangles.emplace_back(mesh.triangle[t][0], mesh.triangle[t][1], mesh.triangle[t][2]);
  auto surface = mesh.triangle_count > 0
                     ? openvdb::tools::meshToLevelSet<openvdb::FloatGrid>(*transform, points, triangles)
                     : openvdb::createLevelSet<openvdb::FloatGrid>(voxel);
  surface->setName("surface");
  auto velocity = openvdb::Vec3SGrid::create(openvdb::Vec3s(0.0f));
  velocity->setName("vel");
  velocity->setVectorType(openvdb::VEC_CONTRAVARIANT_RELATIVE);
  velocity->setTransform(transform->copy());
  auto to = velocity->getAccessor();
  for (auto at = surface->cbeginValueOn(); at; ++at) {
    const auto place = transform->indexToWorld(at.getCoord());
    const double x[3] = {place[0], place[1], place[2]};
    float v[3];
    mesh.velocity(mesh.context, x, v);
    to.setValueOn(at.getCoord(), openvdb::Vec3s(v[0], v[1], v[2]));
  }
  openvdb::io::File file(path);
  file.write(openvdb::GridPtrVec{surface, velocity});
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

int vdb_file_write_surface(const char *path, double voxel, const vdb_mesh *mesh, char *why, size_t size)
{
  try {
    write_surface(path, voxel, *mesh);
    return 0;
  } catch (const std::exception &e) {
    std::snprintf(why, size, "%s", e.what());
    return -1;
  }
}
