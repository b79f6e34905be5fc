/* Particle files: HDF5 input for `snow: - file: ...`.
 *
 * Datasets at the root (or in the group /initial or /particles): position (N,3), velocity (N,3), mass (N),
 * and optionally id (N), volume (N), FE (N,3,3), FP (N,3,3) or JP (N); with heat also enthalpy, phase and
 * conductivity (N). Any float or integer width that HDF5 converts. Strictly checked: shapes agree, values are
 * finite, masses and volumes positive, ids unique, det FE > 0, phases 0 or 1. */
#ifndef FIRN_IO_PARTICLE_FILE_H
#define FIRN_IO_PARTICLE_FILE_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "grid/particles.h"
#include "io/scene/scene_writing.h"

#include <stdint.h>

struct particle_file_info {
  int64_t rows;
  unsigned columns; /* bit k: it has particle_fields[k] */
};

/* Collective. Appends this rank's share (a contiguous range of rows) to p, with `material`, and ids
 * first_id + row where the file has none. `way` is the scene's (NULL: the default): files are read as they
 * are written. */
int particle_file_read(const struct comm *comm, const char *path, const struct scene_writing *way,
                       uint32_t material, uint64_t first_id, struct particles *p,
                       struct particle_file_info *info, struct error *err);

/* Not collective, and without MPI: the structure of the file, and a sample of at most `most` of its rows,
 * spread over all of them. Looked at are the fields of particles with these needs (enum particle_need). An
 * error of what particle_file_read() would refuse, as far as these rows show it. Positions of the sample go
 * to x (xyz), where it is not NULL, and their number to *count. */
int particle_file_look(const char *path, unsigned needs, struct particle_file_info *info, int most, double *x,
                       int *count, struct error *err);

#endif
