/* The reference cases: small runs of an independent program that follows the same method, reproduced on every
 * rank count.
 *
 * Every file in tests/data/reference is a case: its attributes make a scene, its initial particles (without
 * their volume, which the first step must find) a particle file for each material, and every group of
 * /expected is compared by id to the tolerances of the cases' author. */
#include "base/memory.h"
#include "io/file.h"
#include "io/scene/scene.h"
#include "material/models.h"
#include "sim/sim.h"
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

static double read_double_or(hid_t object, const char *name, double fallback)
{
  return H5Aexists(object, name) > 0 ? read_double(object, name) : fallback;
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
  signed char value = 0;
  if (H5Tget_class(type) == H5T_ENUM) /* numpy's bool, of one byte */
    CHECK(H5Tget_size(type) == 1 && H5Aread(attribute, type, &value) >= 0);
  else
    CHECK(H5Aread(attribute, H5T_NATIVE_SCHAR, &value) >= 0);
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
    CHECK(!read_flag(body, "free") && read_double_or(body, "bounce", 0.0) == 0.0);
    used += snprintf(text + used, size - (size_t)used, "  - name: b%d\n", k);
    if (read_flag(body, "sticky"))
      used += snprintf(text + used, size - (size_t)used, "    sticky: true\n");
    else
      used += snprintf(text + used, size - (size_t)used, "    friction: %.17g\n",
                       read_double_or(body, "friction", 0.0));
    static const char *const ground[] = {"turbulence", "cohesion", "fast_friction", "friction_speed"};
    for (int n = 0; n < 4; n++)
      if (H5Aexists(body, ground[n]) > 0)
        used += snprintf(text + used, size - (size_t)used, "    %s: %.17g\n", ground[n],
                         read_double(body, ground[n]));
    if (H5Aexists(body, "temperature") > 0)
      used += snprintf(text + used, size - (size_t)used, "    temperature: %.17g\n",
                       read_double(body, "temperature"));
    if (H5Aexists(body, "liquid_friction") > 0)
      used += snprintf(text + used, size - (size_t)used, "    liquid_friction: %.17g\n",
                       read_double(body, "liquid_friction"));
    if (strcmp(kind, "plane") == 0) {
      read_doubles(body, "point", a);
      read_doubles(body, "normal", b);
      used += snprintf(text + used, size - (size_t)used,
                       "    plane: {point: [%.17g, %.17g, %.17g], normal: [%.17g, %.17g, %.17g]}\n", a[0],
                       a[1], a[2], b[0], b[1], b[2]);
    } else {
      CHECK(strcmp(kind, "sphere") == 0);
      read_doubles(body, "center", a);
      if (H5Aexists(body, "velocity") > 0) read_doubles(body, "velocity", v);
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

/* Parameters by the names of the reference program, and ours. */
static const struct {
  const char *model, *theirs, *ours;
} parameters[] = {
    {"snow", "E", "young"},
    {"snow", "nu", "poisson"},
    {"snow", "xi", "hardening"},
    {"snow", "theta_c", "critical_compression"},
    {"snow", "theta_s", "critical_stretch"},
    {"snow", "factor", "hardening_limit"},
    {"corotated", "E", "young"},
    {"corotated", "nu", "poisson"},
    {"neo_hookean", "E", "young"},
    {"neo_hookean", "nu", "poisson"},
    {"sand", "E", "young"},
    {"sand", "nu", "poisson"},
    {"sand", "friction_angle", "friction_angle"},
    {"sand", "cohesion", "cohesion"},
    {"sand", "h0", "h0"},
    {"sand", "h1", "h1"},
    {"sand", "h2", "h2"},
    {"sand", "h3", "h3"},
    {"sand", "grain_size", "grain_size"},
    {"sand", "fast_angle", "fast_angle"},
    {"sand", "inertial_number", "inertial_number"},
    {"sand", "grain_density", "grain_density"},
    {"cam_clay", "E", "young"},
    {"cam_clay", "nu", "poisson"},
    {"cam_clay", "M", "critical_slope"},
    {"cam_clay", "beta", "cohesion_ratio"},
    {"cam_clay", "p0", "compressive_strength"},
    {"cam_clay", "xi", "hardening"},
    {"cam_clay", "softening", "softening"},
    {"cam_clay", "packing_limit", "packing_limit"},
    {"cam_clay", "collapse_strain", "collapse_strain"},
    {"cam_clay", "bond_strength", "bond_strength"},
    {"cam_clay", "bond_tension", "bond_tension"},
    {"cam_clay", "bond_strain", "bond_strain"},
    {"cam_clay", "relaxation_time", "relaxation_time"},
    {"von_mises", "E", "young"},
    {"von_mises", "nu", "poisson"},
    {"von_mises", "yield_stress", "yield_stress"},
    {"von_mises", "hardening", "hardening"},
    {"von_mises", "relaxation_time", "relaxation_time"},
    {"von_mises", "rate_exponent", "rate_exponent"},
    {"water", "bulk", "bulk_modulus"},
    {"water", "gamma", "exponent"},
    {"water", "viscosity", "viscosity"},
};

/* With sand's hardening the angle follows from h0 .. h3, else these have no effect. */
static bool has_effect(hid_t material, const char *model, const char *name)
{
  if (strcmp(model, "sand") != 0) return true;
  const bool hardens = read_double(material, "hardening") != 0.0;
  if (strcmp(name, "friction_angle") == 0) return !hardens;
  return name[0] != 'h' || hardens;
}

static int add_material(hid_t file, int k, bool flow, char *text, size_t size)
{
  char path[32], model[64], cone[64];
  snprintf(path, sizeof path, "/materials/%d", k);
  hid_t material = H5Gopen(file, path, H5P_DEFAULT);
  CHECK(material >= 0);
  read_text(material, "model", model);
  int used = snprintf(text, size, "  m%d: {model: %s", k, model);
  for (size_t n = 0; n < sizeof parameters / sizeof *parameters; n++)
    if (strcmp(parameters[n].model, model) == 0 && H5Aexists(material, parameters[n].theirs) > 0 &&
        has_effect(material, model, parameters[n].theirs))
      used += snprintf(text + used, size - (size_t)used, ", %s: %.17g", parameters[n].ours,
                       read_double(material, parameters[n].theirs));
  if (strcmp(model, "sand") == 0) {
    read_text(material, "cone", cone);
    used += snprintf(text + used, size - (size_t)used, ", cone: %s, hardening: %s", cone,
                     read_double(material, "hardening") != 0.0 ? "true" : "false");
  }
  if (strcmp(model, "water") == 0 && read_double(material, "tension") != 0.0)
    used += snprintf(text + used, size - (size_t)used, ", tension: true");
  const bool flows =
      strcmp(model, "sand") == 0 || strcmp(model, "cam_clay") == 0 || strcmp(model, "von_mises") == 0;
  if (flows && read_double(file, "beta") > 0.0)
    used += snprintf(text + used, size - (size_t)used, ", operator: %s", flow ? "flow" : "elastic");
  H5Gclose(material);
  return used + snprintf(text + used, size - (size_t)used, "}\n");
}

/* Materials and particle files, one each; cases of the first kind have the parameters of snow at the root. */
static int add_materials(hid_t file, const char *particles, char *text, size_t size)
{
  int used = snprintf(text, size, "materials:\n"), count = 0;
  char path[32], operator[64] = "";
  if (H5Lexists(file, "materials", H5P_DEFAULT) <= 0) {
    used += snprintf(text + used, size - (size_t)used,
                     "  m0: {young: %.17g, poisson: %.17g, hardening: %.17g, critical_compression: %.17g, "
                     "critical_stretch: %.17g}\n",
                     read_double(file, "young"), read_double(file, "poisson"), read_double(file, "hardening"),
                     read_double(file, "critical_compression"), read_double(file, "critical_stretch"));
    count = 1;
  } else {
    read_text(file, "operator", operator);
  }
  for (; operator[0] &&(snprintf(path, sizeof path, "/materials/%d", count),
                        H5Lexists(file, path, H5P_DEFAULT) > 0);
       count++)
    used += add_material(file, count, strcmp(operator, "flow") == 0, text + used, size - (size_t)used);
  used += snprintf(text + used, size - (size_t)used, "snow:\n");
  for (int k = 0; k < count; k++)
    used += snprintf(text + used, size - (size_t)used, "  - {name: s%d, file: %s.%d, material: m%d}\n", k,
                     particles, k, k);
  CHECK((size_t)used < size);
  return count;
}

/* The section `heat` of a case that has one. */
static void heat_text(hid_t file, char *text, size_t size)
{
  text[0] = '\0';
  if (H5Aexists(file, "latent") <= 0) return;
  char law[64], air[128] = "";
  read_text(file, "law", law);
  CHECK(strcmp(law, "corotated") == 0 && read_double(file, "J_tol") == 1e-7);
  const double exchange = read_double(file, "ambient_exchange");
  if (exchange > 0.0)
    snprintf(air, sizeof air, ", ambient: {exchange: %.17g, temperature: %.17g}", exchange,
             read_double(file, "ambient_temperature"));
  const int used = snprintf(
      text, size,
      "heat: {melting_point: %.17g, latent_heat: %.17g, heat_capacity: {solid: %.17g, liquid: %.17g},\n"
      "  liquid: {density: %.17g, stiffness: %.17g, conductivity: %.17g, spread_time: %.17g,\n"
      "    spread_threshold: %.17g, passes: %.0f},\n"
      "  mix: %.17g, contact_cells: %.17g, tolerance: %.17g, max_iterations: 2000%s}\n",
      read_double(file, "T_melt"), read_double(file, "latent"), read_double(file, "c_solid"),
      read_double(file, "c_liquid"), read_double(file, "rho_liquid"), read_double(file, "lambda_liquid"),
      read_double(file, "kappa_liquid"), read_double(file, "spread_time"),
      read_double(file, "spread_threshold"), read_double(file, "passes"), read_double(file, "heat_mix"),
      read_double(file, "contact_cells"), read_double(file, "heat_tolerance"), air);
  CHECK(used > 0 && (size_t)used < size);
}

/* Returns the number of materials. */
static int scene_text(hid_t file, const char *particles, char *text, size_t size)
{
  double lower[3], nodes[3], gravity[3];
  char kernel[64], transfer[64], force[64] = "mpm", bodies[4096], materials[4096], heat[1024];
  read_doubles(file, "lower", lower);
  read_doubles(file, "nodes", nodes);
  read_doubles(file, "gravity", gravity);
  read_text(file, "kernel", kernel);
  read_text(file, "transfer", transfer);
  if (H5Aexists(file, "force") > 0) read_text(file, "force", force);
  heat_text(file, heat, sizeof heat);
  const double beta = read_double(file, "beta"), dt = read_double(file, "dt"),
               flip = read_double(file, "flip_fraction");
  char integrator[256], fraction[64] = "", slide[64] = "", flow[64] = "", repeats[64] = "";
  if (H5Aexists(file, "scripted_slide") > 0) read_text(file, "scripted_slide", slide);
  CHECK(!slide[0] || strcmp(slide, "normals") == 0);
  if (H5Aexists(file, "operator") > 0) read_text(file, "operator", flow);
  if (strcmp(flow, "flow") == 0)
    snprintf(repeats, sizeof repeats, ", flow_repeats: %.0f", read_double_or(file, "flow_repeats", 0.0));
  snprintf(integrator, sizeof integrator,
           "{scheme: semi-implicit, beta: %.17g, tolerance: %.17g, max_iterations: 2000, slide: %s%s}", beta,
           read_double(file, "cr_tolerance"), slide[0] ? "normal" : "all", repeats);
  if (strcmp(transfer, "flip") == 0) snprintf(fraction, sizeof fraction, ", flip_fraction: %.17g", flip);
  if (add_bodies(file, bodies, sizeof bodies) == 0) bodies[0] = '\0';
  const int count = add_materials(file, particles, materials, sizeof materials);
  const int used =
      snprintf(text, size,
               "domain: {lower: [%.17g, %.17g, %.17g], cells: [%.0f, %.0f, %.0f], spacing: %.17g}\n"
               "gravity: [%.17g, %.17g, %.17g]\n"
               "time: {end: 1, step: %.17g}\n"
               "integrator: %s\n"
               "transfer: {scheme: %s, kernel: %s, force: %s%s}\n"
               "%s%s%s",
               lower[0], lower[1], lower[2], nodes[0] - 1.0, nodes[1] - 1.0, nodes[2] - 1.0,
               read_double(file, "spacing"), gravity[0], gravity[1], gravity[2], dt,
               beta == 0.0 ? "{scheme: explicit}" : integrator, transfer, kernel, force, fraction, heat,
               materials, bodies);
  CHECK(used > 0 && (size_t)used < size);
  return count;
}

static void write_rows(hid_t file, const char *name, const double *rows, hsize_t count, hsize_t components,
                       hid_t type)
{
  const hsize_t dims[3] = {count, components == 9 ? 3 : components, 3};
  hid_t space = H5Screate_simple(components == 9 ? 3 : components > 1 ? 2 : 1, dims, NULL);
  hid_t data = H5Dcreate(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(data >= 0 && H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
  H5Dclose(data);
  H5Sclose(space);
}

/* The initial particles of material k, without their volume unless the case has heat. */
static void copy_initial(hid_t file, const char *particles, int k)
{
  char path[300];
  snprintf(path, sizeof path, "%s.%d", particles, k);
  hid_t out = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(out >= 0);
  int64_t count;
  double *mass = read_rows(file, "/initial/mass", &count), *material = NULL;
  mem_free(mass);
  if (H5Lexists(file, "/initial/material", H5P_DEFAULT) > 0)
    material = read_rows(file, "/initial/material", NULL);
  static const struct {
    const char *name;
    int components;
  } fields[] = {{"id", 1}, {"position", 3}, {"velocity", 3}, {"mass", 1},         {"FE", 9},
                {"JP", 1}, {"volume", 1},   {"enthalpy", 1}, {"conductivity", 1}, {"phase", 1}};
  const int field_count = H5Lexists(file, "/initial/enthalpy", H5P_DEFAULT) > 0 ? 10 : 4;
  for (int f = 0; f < field_count; f++) {
    char from[64];
    snprintf(from, sizeof from, "/initial/%s", fields[f].name);
    double *rows = read_rows(file, from, NULL);
    const int n = fields[f].components;
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
      if (material && material[i] != (double)k) continue;
      memmove(rows + n * kept++, rows + n * i, (size_t)n * sizeof *rows);
    }
    write_rows(out, fields[f].name, rows, (hsize_t)kept, (hsize_t)n,
               f == 0 ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE);
    mem_free(rows);
  }
  mem_free(material);
  H5Fclose(out);
}

struct expected {
  int64_t count;
  double *id, *volume, *position, *velocity, *fe, *fp, *jp, *kappa, *b;
  double *later_volume, *enthalpy, *phase;
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

/* J_P of a particle, which some models keep as its logarithm. */
static double plastic_volume(const struct sim *sim, int32_t i)
{
  const struct material *m = &sim->scene->materials[particle_material(sim->p, i)];
  return models[m->model]->log_volume ? exp(sim->p->jp[i]) : sim->p->jp[i];
}

/* Largest differences of this rank's particles: position, velocity and B relative to the largest value, F_E,
 * J_P, V0 relative, kappa, the enthalpy relative to the largest, and the phase. */
enum { WORST = 9 };
static void compare(const struct sim *sim, const struct expected *e, double worst[WORST])
{
  const struct particles *p = sim->p;
  const double x_scale = largest(e->position, 3 * e->count), v_scale = largest(e->velocity, 3 * e->count);
  const double u_scale = e->enthalpy ? fmax(largest(e->enthalpy, e->count), 1.0) : 1.0;
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
    worst[3] = fmax(worst[3], fabs(plastic_volume(sim, i) - (e->jp ? e->jp[k] : determinant(e->fp + 9 * k))));
    if (e->kappa && p->shear) worst[6] = fmax(worst[6], fabs(p->shear[i] - e->kappa[k]));
    const double *volume = e->later_volume ? e->later_volume : e->volume;
    worst[4] = fmax(worst[4], fabs(p->volume[i] / volume[k] - 1.0));
    if (!e->enthalpy) continue;
    worst[7] = fmax(worst[7], fabs(p->enthalpy[i] - e->enthalpy[k]) / u_scale);
    worst[8] = fmax(worst[8], fabs(p->liquid[i] - e->phase[k]));
  }
}

/* What a step says of heat and liquid: heat that came in, changes of phase, passes, pressure. */
static void check_heat(const struct sim *sim, hid_t attributes)
{
  const double heat_in = read_double(attributes, "heat_in"),
               pressure = read_double_or(attributes, "pressure_max", 0.0);
  if (sim->comm.rank == 0)
    printf("heat in %.6g (%.6g)  melted %lld  frozen %lld  passes %d (%.0f)  pressure %.6g (%.6g)\n",
           sim->totals.heat_in, heat_in, (long long)sim->totals.melted, (long long)sim->totals.frozen,
           sim->report.passes, read_double(attributes, "passes"), sim->report.pressure, pressure);
  CHECK(fabs(sim->totals.heat_in - heat_in) <= 1e-9 * fmax(1.0, fabs(heat_in)));
  CHECK((double)sim->totals.melted == read_double(attributes, "melted"));
  CHECK((double)sim->totals.frozen == read_double(attributes, "frozen"));
  CHECK((double)sim->report.passes == read_double(attributes, "passes"));
  CHECK(fabs(sim->report.pressure - pressure) <= 1e-8 * fmax(1.0, pressure));
}

static void check_step(struct sim *sim, hid_t file, struct expected *e, int step, const char *name)
{
  char group[64], path[128];
  snprintf(group, sizeof group, "/expected/%d", step);
  const struct {
    const char *name;
    double **rows;
  } fields[] = {{"position", &e->position},
                {"velocity", &e->velocity},
                {"FE", &e->fe},
                {"FP", &e->fp},
                {"JP", &e->jp},
                {"kappa", &e->kappa},
                {"B", &e->b},
                {"volume", &e->later_volume},
                {"enthalpy", &e->enthalpy},
                {"phase", &e->phase}};
  const int field_count = sizeof fields / sizeof *fields;
  for (int k = 0; k < field_count; k++) {
    snprintf(path, sizeof path, "%s/%s", group, fields[k].name);
    *fields[k].rows = H5Lexists(file, path, H5P_DEFAULT) > 0 ? read_rows(file, path, NULL) : NULL;
  }
  double worst[WORST] = {0};
  CHECK(sim->totals.particles == e->count);        /* none is left out */
  CHECK((e->b != NULL) == (sim->p->b[0] != NULL)); /* nor B, where there is one */
  compare(sim, e, worst);
  comm_max(&sim->comm, worst, WORST);
  hid_t attributes = H5Gopen(file, group, H5P_DEFAULT);
  const double iterations = read_double(attributes, "iterations"),
               contact = read_double_or(attributes, "nodes_in_contact", -1.0);
  if (e->enthalpy) check_heat(sim, attributes);
  H5Gclose(attributes);
  if (sim->comm.rank == 0)
    printf("%-28s step %3d  x %.1e  v %.1e  FE %.1e  JP %.1e  V0 %.1e  B %.1e  kappa %.1e  CR %d (%.0f)  "
           "contact %lld "
           "(%.0f)  u %.1e\n",
           name, step, worst[0], worst[1], worst[2], worst[3], worst[4], worst[5], worst[6],
           sim->report.iterations, iterations, (long long)sim->report.contact_nodes, contact, worst[7]);
  CHECK(worst[0] <= 1e-9 && worst[1] <= 1e-9);
  CHECK(worst[2] <= 1e-8 && worst[3] <= 1e-8 && worst[6] <= 1e-8);
  CHECK(worst[4] <= 1e-12 && worst[5] <= 1e-9);
  CHECK(worst[7] <= 1e-9 && worst[8] == 0.0);
  CHECK(contact < 0.0 || (double)sim->report.contact_nodes == contact);
  /* Round-off may move the last one, of each pass. */
  CHECK(fabs(sim->report.iterations - iterations) <= (e->enthalpy ? fmax(1, sim->report.passes) : 1.0));
  for (int k = 0; k < field_count; k++) mem_free(*fields[k].rows);
}

enum { LAST_STEP = 100 };

static void run_case(const struct comm *comm, enum isa isa, const char *path, const char *name)
{
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(file >= 0);
  char particles[256], text[16384];
  snprintf(particles, sizeof particles, "/tmp/firn_reference_%d.h5", (int)getpid());
  char *shared = mem_strdup(particles);
  char *from_zero = comm->rank == 0 ? shared : NULL;
  comm_broadcast_text(comm, &from_zero);
  const int materials = scene_text(file, from_zero, text, sizeof text);
  for (int k = 0; k < materials && comm->rank == 0; k++) copy_initial(file, particles, k);
  check_barrier(comm->mpi);

  struct error err = {0};
  struct scene *scene = NULL;
  struct sim *sim = NULL;
  int code = scene_parse(&scene, "reference.yml", text, NULL, 0, &err);
  if (!code) code = sim_create(&sim, comm, scene, isa, &err);
  if (code) fprintf(stderr, "%s: %s\n", name, err.text);
  CHECK(!code);

  struct expected e = {0};
  e.id = read_rows(file, "/initial/id", &e.count);
  e.volume = read_rows(file, "/initial/volume", NULL);
  CHECK(sim->totals.particles == e.count);
  int compared = 0;
  const double dt = read_double(file, "dt");
  for (int step = 1; step <= LAST_STEP; step++) {
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
  check_barrier(comm->mpi);
  for (int k = 0; k < materials && comm->rank == 0; k++) {
    snprintf(text, sizeof text, "%s.%d", particles, k);
    unlink(text);
  }
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
  CHECK(cases->count >= 22);
  for (int k = 0; k < cases->count; k++) {
    char *path = file_join(TEST_DATA "/reference", cases->names[k]);
    run_case(&comm, ISA_COUNT, path, cases->names[k]);
    for (enum isa isa = ISA_BASE; isa < isa_detect() && comm.size == 1; isa++)
      run_case(&comm, isa, path, cases->names[k]); /* that ranks change nothing is for test_bits to say */
    mem_free(path);
  }
  file_list_destroy(&cases);
  comm_destroy(&comm);
  return check_end();
}
