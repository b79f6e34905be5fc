/* Particle files: HDF5 input for `snow: - file: ...`.
 *
 * Datasets at the root (or in the group /initial or /particles): position (N,3), velocity (N,3), mass (N),
 * and optionally id (N), volume (N), FE (N,3,3), FP (N,3,3) or JP (N). Any float or integer width that HDF5
 * converts. Strictly checked: shapes agree, values are finite, masses and volumes positive, ids unique, det
 * FE > 0. */
#ifndef FIRN_IO_PARTICLE_FILE_H
#define FIRN_IO_PARTICLE_FILE_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "particles.h"

#include <stdint.h>

/* Collective. Appends this rank's share (a contiguous range of rows) to p, with `material`, and ids
 * first_id + row where the file has none. *total is the file's particle count. */
int particle_file_read(const struct comm *comm, const char *path, uint32_t material, uint64_t first_id,
                       struct particles *p, int64_t *total, struct error *err);

#endif
