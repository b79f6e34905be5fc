/* What makes a frame a VTKHDF file, which ParaView opens: the group /VTKHDF, an unstructured grid with a
 * vertex for each particle. Points and fields are hard links to the datasets of /particles. */
#ifndef FIRN_IO_FRAME_VTK_H
#define FIRN_IO_FRAME_VTK_H

#include "io/particles/writer.h"

/* Adds the two datasets that are not there yet: the numbers 0 .. N (both the points of the vertices and where
 * each vertex begins) and the kind of each cell. *first is the number of this rank's first row; it must live
 * as long as the plan. */
void frame_vtk_add_columns(struct writer_plan *plan, const int64_t *first);

/* Rank 0: attributes, counts and links, once the datasets are there. False when HDF5 fails. */
bool frame_vtk_link(hid_t file, int64_t particles);

/* Bytes that this takes per particle. */
enum { FRAME_VTK_BYTES = 9 };

#endif
