/* The reference cases: small runs of an independent program that follows the same method, reproduced on every
 * rank count.
 *
 * Every file in tests/data/reference is a case: its attributes make a scene, its initial particles (without
 * their volume, which the first step must find) a particle file, and every group of /expected is compared by
 * id to the tolerances of the cases' author. */
#include "base/memory.h"
#include "io/file.h"
#include "io/scene.h"
#include "sim.h"
#include "support/check.h"

#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void read_doubles(hid_t object, const char *name, double *out)
{
  hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
  CHECK(attribute >= 0 && H5Aread(attribute, H5T_NATIVE_DOUBLE, out) >= 0);
  H5Aclose(attribute);
}

static double read_double(hid_t object, const char *name)
{
  double value;
  read_doubles(object, name, &value);
  return value;
}

static void read_text(hid_t object, const char *name, char out[64])
{
  hid_t attribute = H5Aopen(object, name, H5P_DEFAULT), type = H5Aget_type(attribute);
  CHECK(attribute >= 0);
  if (H5Tis_variable_str(type) > 0) {
    char *text = NULL;
    hid_t memory = H5Tcopy(type);
    CHECK(H5Aread(attribute, memory, &text) >= 0);
    snprintf(out, 64, "%s", text);
    H5free_memory(text);
    H5Tclose(memory);
  } else {
    memset(out, 0, 64);
    CHECK(H5Tget_size(type) < 64 && H5Aread(attribute, type, out) >= 0);
  }
  H5Tclose(type);
  H5Aclose(attribute);
}

static bool read_flag(hid_t object, const char *name)
{
  if (H5Aexists(object, name) <= 0) return false;
  hid_t attribute = H5Aopen(object, name, H5P_DEFAULT), type = H5Aget_type(attribute);
  signed char value = 0; /* numpy's bool is an enum of one byte */
  CHECK(H5Tget_size(type) == 1 && H5Aread(attribute, type, &value) >= 0);
  H5Tclose(type);
  H5Aclose(attribute);
  return value != 0;
}

static double *read_rows(hid_t file, const char *path, int64_t *count)
{
  hid_t data = H5Dopen(file, path, H5P_DEFAULT);
  CHECK(data >= 0);
  hid_t space = H5Dget_space(data);
  const int64_t n = H5Sget_simple_extent_npoints(space);
  double *rows = mem_alloc((size_t)n, sizeof *rows);
  CHECK(H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
  if (count) *count = n;
  H5Sclose(space);
  H5Dclose(data);
  return rows;
}

/* The bodies of a case, in order, as a list in the scene. */
static int add_bodies(hid_t file, char *text, size_t size)
{
  int used = snprintf(text, size, "bodies:\n");
  hid_t bodies = H5Gopen(file, "bodies", H5P_DEFAULT);
  char name[16];
  int k = 0;
  for (; snprintf(name, sizeof name, "%d", k), H5Lexists(bodies, name, H5P_DEFAULT) > 0; k++) {
    hid_t body = H5Gopen(bodies, name, H5P_DEFAULT);
    char kind[64];
    double a[3], b[3], v[3] = {0, 0, 0}, w[3] = {0, 0, 0};
    read_text(body, "kind", kind);
    used += snprintf(text + used, size - (size_t)used, "  - name: b%d\n    friction: %.17g\n    sticky: %s\n",
                     k, read_double(body, "friction"), read_flag(body, "sticky") ? "true" : "false");
    if (strcmp(kind, "plane") == 0) {
      read_doubles(body, "point", a);
      read_doubles(body, "normal", b);
      used += snprintf(text + used, size - (size_t)used,
                       "    plane: {point: [%.17g, %.17g, %.17g], normal: [%.17g, %.17g, %.17g]}\n", a[0],
                       a[1], a[2], b[0], b[1], b[2]);
    } else {
      CHECK(strcmp(kind, "sphere") == 0);
      read_doubles(body, "center", a);
      read_doubles(body, "velocity", v);
      if (H5Aexists(body, "spin") > 0) read_doubles(body, "spin", w);
      used += snprintf(
          text + used, size - (size_t)used,
          "    sphere: {center: [%.17g, %.17g, %.17g], radius: %.17g}\n    velocity: [%.17g, %.17g, %.17g]\n"
          "    spin: [%.17g, %.17g, %.17g]\n",
          a[0], a[1], a[2], read_double(body, "radius"), v[0], v[1], v[2], w[0], w[1], w[2]);
    }
    H5Gclose(body);
  }
  H5Gclose(bodies);
  return k;
}

static void scene_text(hid_t file, const char *particles, char *text, size_t size)
{
  double lower[3], nodes[3], gravity[3];
  char kernel[64], transfer[64], force[64], bodies[4096];
  read_doubles(file, "lower", lower);
  read_doubles(file, "nodes", nodes);
  read_doubles(file, "gravity", gravity);
  read_text(file, "kernel", kernel);
  read_text(file, "transfer", transfer);
  read_text(file, "force", force);
  const double beta = read_double(file, "beta"), dt = read_double(file, "dt"),
               flip = read_double(file, "flip_fraction");
  char integrator[256], fraction[64] = "";
  snprintf(integrator, sizeof integrator,
           "{scheme: semi-implicit, beta: %.17g, tolerance: %.17g, max_iterations: 1000}", beta,
           read_double(file, "cr_tolerance"));
  if (strcmp(transfer, "flip") == 0) snprintf(fraction, sizeof fraction, ", flip_fraction: %.17g", flip);
  if (add_bodies(file, bodies, sizeof bodies) == 0) bodies[0] = '\0';
  const int used = snprintf(
      text, size,
      "domain: {lower: [%.17g, %.17g, %.17g], cells: [%.0f, %.0f, %.0f], spacing: %.17g}\n"
      "gravity: [%.17g, %.17g, %.17g]\n"
      "time: {end: 1, step: %.17g}\n"
      "integrator: %s\n"
      "transfer: {scheme: %s, kernel: %s, force: %s%s}\n"
      "materials:\n"
      "  snow: {young: %.17g, poisson: %.17g, hardening: %.17g, critical_compression: %.17g, "
      "critical_stretch: %.17g}\n"
      "snow:\n"
      "  - file: %s\n"
      "%s",
      lower[0], lower[1], lower[2], nodes[0] - 1.0, nodes[1] - 1.0, nodes[2] - 1.0,
      read_double(file, "spacing"), gravity[0], gravity[1], gravity[2], dt,
      beta == 0.0 ? "{scheme: explicit}" : integrator, transfer, kernel, force, fraction,
      read_double(file, "young"), read_double(file, "poisson"), read_double(file, "hardening"),
      read_double(file, "critical_compression"), read_double(file, "critical_stretch"), particles, bodies);
  CHECK(used > 0 && (size_t)used < size);
}

/* The initial particles without their volume. */
static void copy_initial(hid_t file, const char *path)
{
  hid_t out = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(out >= 0);
  const char *names[] = {"position", "velocity", "mass", "id"};
  for (int k = 0; k < 4; k++) {
    char from[64];
    snprintf(from, sizeof from, "/initial/%s", names[k]);
    CHECK(H5Ocopy(file, from, out, names[k], H5P_DEFAULT, H5P_DEFAULT) >= 0);
  }
  H5Fclose(out);
}

struct expected {
  int64_t count;
  double *id, *volume, *position, *velocity, *fe, *fp, *b;
};

static double largest(const double *values, int64_t count)
{
  double most = 0.0;
  for (int64_t k = 0; k < count; k++) most = fmax(most, fabs(values[k]));
  return most;
}

static double determinant(const double *a)
{
  return a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) +
         a[2] * (a[3] * a[7] - a[4] * a[6]);
}

/* Largest differences of this rank's particles: position, velocity and B relative to the largest value, F_E,
 * J_P, and V0 relative. */
static void compare(const struct particles *p, const struct expected *e, double worst[6])
{
  const double x_scale = largest(e->position, 3 * e->count), v_scale = largest(e->velocity, 3 * e->count);
  const double b_scale = e->b ? largest(e->b, 9 * e->count) : 1.0;
  for (int32_t i = 0; i < p->count; i++) {
    int64_t k = 0;
    while (k < e->count && e->id[k] != (double)p->id[i]) k++;
    CHECK(k < e->count);
    for (int d = 0; d < 3; d++) {
      worst[0] = fmax(worst[0], fabs(p->x[d][i] - e->position[3 * k + d]) / x_scale);
      worst[1] = fmax(worst[1], fabs(p->v[d][i] - e->velocity[3 * k + d]) / v_scale);
    }
    for (int d = 0; d < 9; d++) {
      worst[2] = fmax(worst[2], fabs(p->fe[d][i] - e->fe[9 * k + d]));
      if (e->b) worst[5] = fmax(worst[5], fabs(p->b[d][i] - e->b[9 * k + d]) / b_scale);
    }
    worst[3] = fmax(worst[3], fabs(p->jp[i] - determinant(e->fp + 9 * k)));
    worst[4] = fmax(worst[4], fabs(p->volume[i] / e->volume[k] - 1.0));
  }
}

static void check_step(struct sim *sim, hid_t file, struct expected *e, int step, const char *name)
{
  char group[64], path[128];
  snprintf(group, sizeof group, "/expected/%d", step);
  const struct {
    const char *name;
    double **rows;
  } fields[] = {
      {"position", &e->position}, {"velocity", &e->velocity}, {"FE", &e->fe}, {"FP", &e->fp}, {"B", &e->b}};
  for (int k = 0; k < 5; k++) {
    snprintf(path, sizeof path, "%s/%s", group, fields[k].name);
    *fields[k].rows = H5Lexists(file, path, H5P_DEFAULT) > 0 ? read_rows(file, path, NULL) : NULL;
  }
  double worst[6] = {0};
  compare(sim->p, e, worst);
  comm_max(&sim->comm, worst, 6);
  hid_t attributes = H5Gopen(file, group, H5P_DEFAULT);
  const double iterations = read_double(attributes, "iterations"),
               contact = read_double(attributes, "nodes_in_contact");
  H5Gclose(attributes);
  if (sim->comm.rank == 0)
    printf("%-28s step %3d  x %.1e  v %.1e  FE %.1e  JP %.1e  V0 %.1e  B %.1e  CR %d (%.0f)  contact %lld "
           "(%.0f)\n",
           name, step, worst[0], worst[1], worst[2], worst[3], worst[4], worst[5], sim->report.iterations,
           iterations, (long long)sim->report.contact_nodes, contact);
  CHECK(worst[0] <= 1e-9 && worst[1] <= 1e-9);
  CHECK(worst[2] <= 1e-8 && worst[3] <= 1e-8);
  CHECK(worst[4] <= 1e-12 && worst[5] <= 1e-9);
  CHECK((double)sim->report.contact_nodes == contact);
  CHECK(fabs(sim->report.iterations - iterations) <= 1.0); /* round-off may move the last one */
  for (int k = 0; k < 5; k++) mem_free(*fields[k].rows);
}

static void run_case(const struct comm *comm, const char *path, const char *name)
{
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(file >= 0);
  char particles[256], text[16384];
  snprintf(particles, sizeof particles, "/tmp/firn_reference_%d.h5", (int)getpid());
  char *shared = mem_strdup(particles);
  if (comm->rank == 0) copy_initial(file, particles);
  char *from_zero = comm->rank == 0 ? shared : NULL;
  comm_broadcast_text(comm, &from_zero);
  scene_text(file, from_zero, text, sizeof text);

  struct error err = {0};
  struct scene *scene = NULL;
  struct sim *sim = NULL;
  int code = scene_parse(&scene, "reference.yml", text, NULL, 0, &err);
  if (!code) code = sim_create(&sim, comm, scene, ISA_COUNT, &err);
  if (code) fprintf(stderr, "%s: %s\n", name, err.text);
  CHECK(!code);

  struct expected e = {0};
  e.id = read_rows(file, "/initial/id", &e.count);
  e.volume = read_rows(file, "/initial/volume", NULL);
  CHECK(sim->particles == e.count);
  int compared = 0;
  const double dt = read_double(file, "dt");
  for (int step = 1; step <= 60; step++) {
    code = sim_advance(sim, dt, &err);
    if (code) fprintf(stderr, "%s: %s\n", name, err.text);
    CHECK(!code && sim->report.halvings == 0);
    char group[64];
    snprintf(group, sizeof group, "/expected/%d", step);
    if (H5Lexists(file, group, H5P_DEFAULT) <= 0) continue;
    check_step(sim, file, &e, step, name);
    compared++;
  }
  CHECK(compared >= 3);
  mem_free(e.id);
  mem_free(e.volume);
  sim_destroy(&sim);
  scene_destroy(&scene);
  H5Fclose(file);
  MPI_Barrier(comm->mpi);
  if (comm->rank == 0) unlink(particles);
  if (from_zero != shared) mem_free(from_zero);
  mem_free(shared);
}

int main(int argc, char **argv)
{
  check_begin(&argc, &argv);
  struct comm comm;
  comm_create(&comm, MPI_COMM_WORLD);
  struct file_list *cases = NULL;
  CHECK(file_list_create(&cases, TEST_DATA "/reference", "", ".h5", NULL) == FIRN_OK);
  CHECK(cases->count >= 5);
  for (int k = 0; k < cases->count; k++) {
    char *path = file_join(TEST_DATA "/reference", cases->names[k]);
    run_case(&comm, path, cases->names[k]);
    mem_free(path);
  }
  file_list_destroy(&cases);
  comm_destroy(&comm);
  return check_end();
}
