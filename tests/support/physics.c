#include "support/physics.h"

#include "base/log.h"
#include "base/memory.h"
#include "support/lanes.h"

#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct comm physics_comm;

static void start(struct run *run, enum isa isa, const char *format, va_list arguments)
{
  char text[8192];
  const int length = vsnprintf(text, sizeof text, format, arguments);
  assert_true(length > 0 && (size_t)length < sizeof text);
  *run = (struct run){0};
  if (scene_parse(&run->scene, "test.yml", text, NULL, 0, &run->err)) fail_msg("%s", run->err.text);
  if (sim_create(&run->sim, &physics_comm, run->scene, isa, &run->err)) fail_msg("%s", run->err.text);
}

void run_start(struct run *run, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  start(run, ISA_COUNT, format, arguments);
  va_end(arguments);
}

void run_start_on(struct run *run, enum isa isa, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  start(run, isa, format, arguments);
  va_end(arguments);
}

void run_end(struct run *run)
{
  sim_destroy(&run->sim);
  scene_destroy(&run->scene);
}

void run_advance(struct run *run, double dt)
{
  if (sim_advance(run->sim, dt, &run->err)) fail_msg("%s", run->err.text);
}

void run_step(struct run *run)
{
  if (sim_step(run->sim, &run->err)) fail_msg("%s", run->err.text);
  sim_tidy(run->sim);
}

void run_to(struct run *run, double time)
{
  while (run->sim->clock.time < time - 1e-12) run_step(run);
}

struct cloud *cloud_create(int count)
{
  struct cloud *cloud = mem_alloc(1, sizeof *cloud);
  const size_t n = (size_t)count;
  cloud->count = count;
  cloud->x = mem_alloc(3 * n, sizeof(double));
  cloud->v = mem_alloc(3 * n, sizeof(double));
  cloud->mass = mem_alloc(n, sizeof(double));
  cloud->volume = mem_alloc(n, sizeof(double));
  cloud->fe = mem_alloc(9 * n, sizeof(double));
  cloud->jp = mem_alloc(n, sizeof(double));
  for (size_t k = 0; k < n; k++) {
    cloud->jp[k] = 1.0;
    for (int d = 0; d < 9; d += 4) cloud->fe[9 * k + (size_t)d] = 1.0;
  }
  snprintf(cloud->path, sizeof cloud->path, "/tmp/firn_physics_%d.h5", (int)getpid());
  return cloud;
}

static void write_rows(hid_t file, const char *name, int count, int components, const double *rows)
{
  const hsize_t size[3] = {(hsize_t)count, 3, 3};
  hid_t space = H5Screate_simple(components == 9 ? 3 : components == 3 ? 2 : 1, size, NULL);
  hid_t data = H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
  H5Dclose(data);
  H5Sclose(space);
}

void cloud_write(struct cloud *cloud)
{
  hid_t file = H5Fcreate(cloud->path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(file >= 0);
  write_rows(file, "position", cloud->count, 3, cloud->x);
  write_rows(file, "velocity", cloud->count, 3, cloud->v);
  write_rows(file, "mass", cloud->count, 1, cloud->mass);
  write_rows(file, "volume", cloud->count, 1, cloud->volume);
  write_rows(file, "FE", cloud->count, 9, cloud->fe);
  write_rows(file, "JP", cloud->count, 1, cloud->jp);
  H5Fclose(file);
}

void cloud_destroy(struct cloud **cloud)
{
  if (!*cloud) return;
  unlink((*cloud)->path);
  mem_free((*cloud)->x);
  mem_free((*cloud)->v);
  mem_free((*cloud)->mass);
  mem_free((*cloud)->volume);
  mem_free((*cloud)->fe);
  mem_free((*cloud)->jp);
  mem_free(*cloud);
  *cloud = NULL;
}

struct cloud *cloud_box(const double lower[3], const int cells[3], double spacing, int per_axis,
                        double density)
{
  const int n[3] = {cells[0] * per_axis, cells[1] * per_axis, cells[2] * per_axis};
  struct cloud *cloud = cloud_create(n[0] * n[1] * n[2]);
  const double gap = spacing / per_axis;
  int k = 0;
  for (int i = 0; i < n[0]; i++)
    for (int j = 0; j < n[1]; j++)
      for (int l = 0; l < n[2]; l++, k++) {
        const int at[3] = {i, j, l};
        for (int d = 0; d < 3; d++) cloud->x[3 * k + d] = lower[d] + gap * (at[d] + 0.5);
        cloud->volume[k] = gap * gap * gap;
        cloud->mass[k] = density * cloud->volume[k];
      }
  return cloud;
}

struct sums run_sums(const struct run *run)
{
  const struct particles *p = run->sim->p;
  const double h = run->scene->spacing, inverse = (run->scene->kernel == KERNEL_CUBIC ? 3.0 : 4.0) / (h * h);
  long double mass = 0, momentum[3] = {0}, angular[3] = {0}, kinetic = 0, center[3] = {0};
  struct sums s = {0};
  for (int32_t i = 0; i < p->count; i++) {
    const double m = p->mass[i], x[3] = {p->x[0][i], p->x[1][i], p->x[2][i]},
                 v[3] = {p->v[0][i], p->v[1][i], p->v[2][i]};
    const double speed = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    mass += m;
    kinetic += 0.5L * m * speed * speed;
    s.size += m * speed;
    s.angular_size += m * speed * sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    for (int d = 0; d < 3; d++) {
      const int e = (d + 1) % 3, f = (d + 2) % 3;
      momentum[d] += (long double)m * v[d];
      center[d] += (long double)m * x[d];
      angular[d] += (long double)m * ((long double)x[e] * v[f] - (long double)x[f] * v[e]);
      if (p->b[0]) angular[d] += (long double)m * (p->b[3 * f + e][i] - p->b[3 * e + f][i]);
    }
    for (int d = 0; d < 9 && p->b[0]; d++) kinetic += 0.5L * m * inverse * p->b[d][i] * p->b[d][i];
  }
  s.mass = (double)mass;
  s.kinetic = (double)kinetic;
  for (int d = 0; d < 3; d++) {
    s.momentum[d] = (double)momentum[d];
    s.angular[d] = (double)angular[d];
    s.center[d] = (double)(center[d] / mass);
  }
  return s;
}

/* Eight particles at a time; the last ones are repeated to fill the lanes. */
double run_elastic(const struct run *run)
{
  const struct particles *p = run->sim->p;
  double sum = 0.0;
  for (int32_t i = 0; i < p->count; i += WIDE) {
    lane f[9], mu, lambda, energy, stress[9];
    for (int l = 0; l < WIDE; l++) {
      const int32_t k = i + l < p->count ? i + l : p->count - 1;
      const struct snow_constants *c = (const void *)run->sim->constants[particle_material(p, k)].value;
      const double factor = exp(c->hardening * (1.0 - p->jp[k]));
      const double kept = fmin(fmax(factor, c->factor_low), c->factor_high) * particle_stiffness(p, k);
      mu[l] = c->mu * kept;
      lambda[l] = c->lambda * kept;
      for (int d = 0; d < 9; d++) f[d][l] = p->fe[d][k];
    }
    lanes_base.stress((const lane *)f, mu, lambda, energy, stress);
    for (int l = 0; l < WIDE && i + l < p->count; l++) sum += p->volume[i + l] * energy[l];
  }
  return sum;
}

int physics_main(int argc, char **argv, int (*all_tests)(void))
{
  comm_start(&physics_comm, &argc, &argv);
  log_configure(LOG_WARN, physics_comm.rank, comm_abort);
  int failed = all_tests();
  comm_stop(&physics_comm); /* it counts traffic in memory of its own */
  if (mem_balance() != 0 && !failed) {
    fprintf(stderr, "%ld blocks were not freed\n", mem_balance());
    failed = 1;
  }
  return failed;
}
