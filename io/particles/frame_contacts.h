/* The group /contacts of a frame: where on bodies the snow pushes (bodies/contact_map.h). Rank 0 has all of
 * it and writes it with the file's structure: contact is a surface, small beside the particles. */
#ifndef FIRN_IO_FRAME_CONTACTS_H
#define FIRN_IO_FRAME_CONTACTS_H

#include "base/error.h"
#include "bodies/contact_map.h"
#include "io/scene/scene.h"

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* False when HDF5 fails. */
bool frame_put_contacts(hid_t file, const struct scene *scene, const struct contact_table *table);

/* Rows of the group in an open frame; 0 if there is none. */
int64_t frame_count_contacts(hid_t file);

/* Column k of the file at path, as doubles for mem_free(), and its name. */
enum { CONTACT_COLUMNS = 5 };
int frame_read_contacts(hid_t file, const char *path, int k, const char **name, int64_t *values, double **out,
                        struct error *err);

/* The grid of a frame's contacts for the series, which has the path of the frame's file. */
void frame_put_contact_grid(FILE *out, const char *path, double time, int64_t rows);

#endif
