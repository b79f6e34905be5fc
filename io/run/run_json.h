/* run.json, the record that each start of a run leaves beside its frames (src/run/run_json_write.c), read
 * back. */
#ifndef FIRN_IO_RUN_JSON_H
#define FIRN_IO_RUN_JSON_H

#include "io/scene/yaml.h"

/* The record in a run's folder; NULL where there is none yet. To be freed with yaml_destroy(). */
struct yaml *record_read(const char *folder);

/* A number by its path, such as seconds.stepping; NaN where there is none. The record may be NULL. */
double record_number(const struct yaml *record, const char *path);

/* A text by its path, such as machine.mpi; "" where there is none. */
const char *record_text(const struct yaml *record, const char *path);

#endif
