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

static int add_vector(hid_t object, const char *theirs, const char *ours, char *text, size_t size)
{
  double v[3];
  if (H5Aexists(object, theirs) <= 0) return 0;
  read_doubles(object, theirs, v);
  return snprintf(text, size, "%s: [%.17g, %.17g, %.17g]", ours, v[0], v[1], v[2]);
}

static int add_shape(hid_t body, const char *kind, char *text, size_t size)
{
  double a[3], b[3], axes[9];
  read_doubles(body, "center", a);
  if (strcmp(kind, "sphere") == 0)
    return snprintf(text, size, "    sphere: {center: [%.17g, %.17g, %.17g], radius: %.17g}\n", a[0], a[1],
                    a[2], read_double(body, "radius"));
  if (strcmp(kind, "capsule") == 0) {
    const double half = read_double(body, "half");
    read_doubles(body, "axis", b);
    return snprintf(text, size,
                    "    capsule: {from: [%.17g, %.17g, %.17g], to: [%.17g, %.17g, %.17g], radius: %.17g}\n",
                    a[0] - half * b[0], a[1] - half * b[1], a[2] - half * b[2], a[0] + half * b[0],
                    a[1] + half * b[1], a[2] + half * b[2], read_double(body, "radius"));
  }
  CHECK(strcmp(kind, "box") == 0);
  read_doubles(body, "half", b);
  read_doubles(body, "axes", axes);
  const double turn[3] = {axes[7] - axes[5], axes[2] - axes[6], axes[3] - axes[1]};
  const double twice_sine = sqrt(turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2]);
  const double degrees = atan2(twice_sine, axes[0] + axes[4] + axes[8] - 1.0) * 180.0 / M_PI;
  int used = snprintf(text, size, "    box: {center: [%.17g, %.17g, %.17g], size: [%.17g, %.17g, %.17g]",
                      a[0], a[1], a[2], 2.0 * b[0], 2.0 * b[1], 2.0 * b[2]);
  if (twice_sine > 0.0)
    used +=
        snprintf(text + used, size - (size_t)used, ", rotate: {axis: [%.17g, %.17g, %.17g], degrees: %.17g}",
                 turn[0], turn[1], turn[2], degrees);
  return used + snprintf(text + used, size - (size_t)used, "}\n");
}

static int add_springs(hid_t body, char *text, size_t size)
{
  int used = 0;
  if (H5Lexists(body, "springs", H5P_DEFAULT) <= 0) return 0;
  hid_t springs = H5Gopen(body, "springs", H5P_DEFAULT);
  char name[16];
  for (int k = 0; snprintf(name, sizeof name, "%d", k), H5Lexists(springs, name, H5P_DEFAULT) > 0; k++) {
    hid_t spring = H5Gopen(springs, name, H5P_DEFAULT);
    used += snprintf(text + used, size - (size_t)used, "%s      - {", k ? "" : "    spring:\n");
    used += add_vector(spring, "anchor", "anchor", text + used, size - (size_t)used);
    used += snprintf(text + used, size - (size_t)used, ", ");
    used += add_vector(spring, "velocity", "velocity", text + used, size - (size_t)used);
    used += snprintf(text + used, size - (size_t)used, ", ");
    used += add_vector(spring, "at", "at", text + used, size - (size_t)used);
    used += snprintf(text + used, size - (size_t)used,
                     ", stiffness: %.17g, damping: %.17g, length: %.17g, rope: %s}\n",
                     read_double(spring, "stiffness"), read_double(spring, "damping"),
                     read_double(spring, "length"), read_double(spring, "rope") != 0.0 ? "true" : "false");
    H5Gclose(spring);
  }
  H5Gclose(springs);
  return used;
}

/* What makes a body free. Mass and inertia follow from its shape if the case has a density. */
static int add_free(hid_t body, char *text, size_t size)
{
  static const char *const words[6] = {"x", "y", "z", "turn_x", "turn_y", "turn_z"};
  double i[9], lock[6], c[3];
  int used, locks = 0;
  read_doubles(body, "inertia", i);
  read_doubles(body, "mass_center", c);
  double middle[3];
  read_doubles(body, "center", middle);
  if (H5Aexists(body, "density") > 0) {
    used = snprintf(text, size, "    density: %.17g\n", read_double(body, "density"));
    if (memcmp(c, middle, sizeof c) != 0)
      used += snprintf(text + used, size - (size_t)used, "    mass_center: [%.17g, %.17g, %.17g]\n", c[0],
                       c[1], c[2]);
  } else {
    used = snprintf(text, size,
                    "    mass: %.17g\n    mass_center: [%.17g, %.17g, %.17g]\n"
                    "    inertia: [%.17g, %.17g, %.17g, %.17g, %.17g, %.17g]\n",
                    read_double(body, "mass"), c[0], c[1], c[2], i[0], i[4], i[8], i[1], i[5], i[6]);
  }
  read_doubles(body, "lock", lock);
  for (int k = 0; k < 6; k++)
    if (lock[k] != 0.0)
      used += snprintf(text + used, size - (size_t)used, "%s%s", locks++ ? ", " : "    lock: [", words[k]);
  if (locks) used += snprintf(text + used, size - (size_t)used, "]\n");
  if (H5Aexists(body, "push") > 0) {
    used += snprintf(text + used, size - (size_t)used, "    push: {");
    used += add_vector(body, "push", "force", text + used, size - (size_t)used);
    used += snprintf(text + used, size - (size_t)used, ", ");
    used += add_vector(body, "push_at", "at", text + used, size - (size_t)used);
    used += snprintf(text + used, size - (size_t)used, ", ");
    used += add_vector(body, "torque", "torque", text + used, size - (size_t)used);
    used += snprintf(text + used, size - (size_t)used, "}\n");
  }
  return used + add_springs(body, text + used, size - (size_t)used);
}

/* The bodies of a case, in order, as a list in the scene. */
static int add_bodies(hid_t file, char *text, size_t size)
{
  char slide[64] = "";
  if (H5Aexists(file, "scripted_slide") > 0) read_text(file, "scripted_slide", slide);
  const bool has_free = strcmp(slide, "all") == 0;
  int used = snprintf(text, size, "bodies:\n");
  hid_t bodies = H5Gopen(file, "bodies", H5P_DEFAULT);
  char name[16];
  int k = 0;
  for (; snprintf(name, sizeof name, "%d", k), H5Lexists(bodies, name, H5P_DEFAULT) > 0; k++) {
    hid_t body = H5Gopen(bodies, name, H5P_DEFAULT);
    char kind[64];
    double a[3], b[3], v[3] = {0, 0, 0}, w[3] = {0, 0, 0};
    read_text(body, "kind", kind);
    const bool free = read_flag(body, "free");
    CHECK(free || H5Aexists(body, "rub") > 0 || read_double_or(body, "bounce", 0.0) == 0.0);
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
      if (H5Aexists(body, "velocity") > 0) read_doubles(body, "velocity", v);
      if (H5Aexists(body, "spin") > 0) read_doubles(body, "spin", w);
      used += add_shape(body, kind, text + used, size - (size_t)used);
      used += snprintf(text + used, size - (size_t)used,
                       "    velocity: [%.17g, %.17g, %.17g]\n    spin: [%.17g, %.17g, %.17g]\n", v[0], v[1],
                       v[2], w[0], w[1], w[2]);
    }
    if (has_free) {
      CHECK(H5Aexists(body, "rub") > 0 && H5Aexists(body, "bounce") > 0);
      used +=
          snprintf(text + used, size - (size_t)used, "    rub: %.17g\n    bounce: %.17g\n    measure: true\n",
                   read_double(body, "rub"), read_double(body, "bounce"));
    }
    if (free) used += add_free(body, text + used, size - (size_t)used);
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

/* With sand's hardening the angle follows from h0 .. h3, else these have no effect; nor has what grains of no
 * size are given. */
static bool has_effect(hid_t material, const char *model, const char *name)
{
  if (strcmp(model, "sand") != 0) return true;
  const bool hardens = read_double(material, "hardening") != 0.0;
  if (strcmp(name, "fast_angle") == 0 || strcmp(name, "inertial_number") == 0 ||
      strcmp(name, "grain_density") == 0)
    return read_double(material, "grain_size") > 0.0;
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
  if (H5Lexists(file, "air", H5P_DEFAULT) > 0)
    used +=
        snprintf(text + used, size - (size_t)used, ", density: %.17g", read_double(material, "rest_density"));
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

/* The section `air` of a case that has one. */
static void air_text(hid_t file, char *text, size_t size)
{
  char profile[64];
  double wind[3], times[3], factors[3];
  text[0] = '\0';
  if (H5Lexists(file, "air", H5P_DEFAULT) <= 0) return;
  hid_t air = H5Gopen(file, "air", H5P_DEFAULT);
  read_text(air, "profile", profile);
  CHECK(strcmp(profile, "log") == 0 && read_double(air, "above") == 0.0);
  read_doubles(air, "wind", wind);
  read_doubles(air, "gust_times", times);
  read_doubles(air, "gust_factors", factors);
  /* The drag by the terminal speed that it means. */
  const int used = snprintf(
      text, size,
      "air: {wind: [%.17g, %.17g, %.17g], profile: log, above: b0, height: %.17g, roughness: %.17g,\n"
      "  terminal_speed: %.17g, loose: %.17g, dense: %.17g,\n"
      "  gusts: {keys: [{time: %.17g, factor: %.17g}, {time: %.17g, factor: %.17g}, {time: %.17g, factor: "
      "%.17g}]}}\n",
      wind[0], wind[1], wind[2], read_double(air, "height"), read_double(air, "roughness"),
      sqrt(9.81 / read_double(air, "drag")), read_double(air, "loose"), read_double(air, "dense"), times[0],
      factors[0], times[1], factors[1], times[2], factors[2]);
  CHECK(used > 0 && (size_t)used < size);
  H5Gclose(air);
}

/* What the air gave the snow in a step. */
static void check_air(const struct sim *sim, hid_t attributes)
{
  double impulse[3], worst = 0.0, most = 0.0;
  read_doubles(attributes, "air_impulse", impulse);
  const double work = read_double(attributes, "air_work");
  const struct exact_sum *energy = sim->instruments->step->energy;
  for (int d = 0; d < 3; d++) {
    most = fmax(most, fabs(impulse[d]));
    worst = fmax(worst, fabs(exact_value(&energy[ENERGY_BLOWN + d]) - impulse[d]));
  }
  if (sim->comm.rank == 0)
    printf("  air: impulse %.1e of %.3g, work %.1e of %.3g\n", worst, most,
           fabs(exact_value(&energy[ENERGY_AIR]) - work), work);
  CHECK(worst <= 1e-8 * most && fabs(exact_value(&energy[ENERGY_AIR]) - work) <= 1e-8 * fabs(work));
}

/* Returns the number of materials. */
static int scene_text(hid_t file, const char *particles, char *text, size_t size)
{
  double lower[3], nodes[3], gravity[3];
  char kernel[64], transfer[64], force[64] = "mpm", bodies[4096], materials[4096], heat[1024], air[1024];
  read_doubles(file, "lower", lower);
  read_doubles(file, "nodes", nodes);
  read_doubles(file, "gravity", gravity);
  read_text(file, "kernel", kernel);
  read_text(file, "transfer", transfer);
  if (H5Aexists(file, "force") > 0) read_text(file, "force", force);
  heat_text(file, heat, sizeof heat);
  air_text(file, air, sizeof air);
  const double beta = read_double(file, "beta"), dt = read_double(file, "dt"),
               flip = read_double(file, "flip_fraction");
  char integrator[256], fraction[64] = "", slide[64] = "", flow[64] = "", repeats[64] = "";
  if (H5Aexists(file, "scripted_slide") > 0) read_text(file, "scripted_slide", slide);
  CHECK(!slide[0] || strcmp(slide, "normals") == 0 || strcmp(slide, "all") == 0);
  if (H5Aexists(file, "operator") > 0) read_text(file, "operator", flow);
  if (strcmp(flow, "flow") == 0)
    snprintf(repeats, sizeof repeats, ", flow_repeats: %.0f", read_double_or(file, "flow_repeats", 0.0));
  snprintf(integrator, sizeof integrator,
           "{scheme: semi-implicit, beta: %.17g, tolerance: %.17g, max_iterations: 2000, slide: %s%s}", beta,
           read_double(file, "cr_tolerance"), strcmp(slide, "normals") == 0 ? "normal" : "all", repeats);
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
               "%s%s%s%s",
               lower[0], lower[1], lower[2], nodes[0] - 1.0, nodes[1] - 1.0, nodes[2] - 1.0,
               read_double(file, "spacing"), gravity[0], gravity[1], gravity[2], dt,
               beta == 0.0 ? "{scheme: explicit}" : integrator, transfer, kernel, force, fraction, heat, air,
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

/* Free bodies of a step: places, turns, velocities, angular momenta and what the snow gave them. */
static void check_bodies(const struct sim *sim, hid_t file, const char *group, double v_scale)
{
  static const char *const names[] = {"position", "orientation",      "velocity",
                                      "spin",     "angular_momentum", "snow_impulse"};
  enum { POSITION, TURN, VELOCITY, SPIN, ANGULAR, IMPULSE, COUNT };
  double *rows[COUNT], worst[COUNT] = {0.0}, largest_impulse = 0.0;
  const struct rigid *r = sim->rigid;
  char path[128];
  for (int k = 0; k < COUNT; k++) {
    snprintf(path, sizeof path, "%s/bodies/%s", group, names[k]);
    rows[k] = read_rows(file, path, NULL);
  }
  for (int b = 0; b < 3 * sim->scene->body_count; b++) v_scale = fmax(v_scale, fabs(rows[VELOCITY][b]));
  for (int b = 0; b < 6 * sim->scene->body_count; b++)
    largest_impulse = fmax(largest_impulse, fabs(rows[IMPULSE][b]));
  for (int k = 0; k < r->count; k++) {
    const struct rigid_body *b = &r->body[k];
    const int row = b->body;
    double spin[3], same = 0.0;
    free_spin(b->free, &b->state, spin);
    for (int d = 0; d < 4; d++) same += b->state.turn[d] * rows[TURN][4 * row + d];
    for (int d = 0; d < 4; d++)
      worst[TURN] = fmax(worst[TURN], fabs(b->state.turn[d] - copysign(1.0, same) * rows[TURN][4 * row + d]));
    for (int d = 0; d < 3; d++) {
      const int at = 3 * row + d;
      worst[POSITION] = fmax(worst[POSITION], fabs(b->state.center[d] - rows[POSITION][at]));
      worst[VELOCITY] = fmax(worst[VELOCITY], fabs(b->state.velocity[d] - rows[VELOCITY][at]) / v_scale);
      worst[SPIN] = fmax(worst[SPIN], 0.1 * fabs(spin[d] - rows[SPIN][at]) / v_scale);
      worst[ANGULAR] = fmax(worst[ANGULAR], fabs(b->state.angular[d] - rows[ANGULAR][at]) /
                                                (b->free->moment[2] * v_scale / 0.1));
    }
    for (int d = 0; d < 6; d++)
      worst[IMPULSE] = fmax(worst[IMPULSE], fabs(b->snow[d] - rows[IMPULSE][6 * row + d]) / largest_impulse);
  }
  if (sim->comm.rank == 0)
    printf("  bodies: c %.1e  q %.1e  V %.1e  w %.1e  L %.1e  snow %.1e  presses %d  rounds %d\n",
           worst[POSITION], worst[TURN], worst[VELOCITY], worst[SPIN], worst[ANGULAR], worst[IMPULSE],
           r->presses, r->rounds);
  CHECK(worst[POSITION] <= 1e-9 && worst[TURN] <= 1e-9);
  CHECK(worst[VELOCITY] <= 1e-9 && worst[SPIN] <= 1e-9 && worst[ANGULAR] <= 1e-9);
  CHECK(worst[IMPULSE] <= 1e-8);
  hid_t attributes = H5Gopen(file, group, H5P_DEFAULT);
  CHECK((double)r->presses == read_double(attributes, "body_contacts"));
  CHECK((double)sim->report.contact_particles == read_double(attributes, "particles_in_contact"));
  H5Gclose(attributes);
  for (int k = 0; k < COUNT; k++) mem_free(rows[k]);
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
  if (sim->transfer.air) check_air(sim, attributes);
  if (sim->rigid) check_bodies(sim, file, group, largest(e->velocity, 3 * e->count));
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
  CHECK(cases->count >= 28);
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
