/* Cam clay in a press: a block between walls without friction, and a plate that comes down on it. At the
 * block's own mean strain its stress is that of one particle in an oedometer. */
#include "support/path.h"
#include "support/physics.h"

#include <stdio.h>

static const double edge = 0.2, speed = 2.0;
enum { CELLS = 10, PER_AXIS = 2 };

static void start(struct run *run)
{
  const double h = edge / CELLS, lower[3] = {0.0, 0.0, 0.0};
  const int cells[3] = {CELLS, CELLS, CELLS};
  struct cloud *cloud = cloud_box(lower, cells, h, PER_AXIS, 250.0);
  cloud_write(cloud);
  run_start(run,
            "domain: {lower: [%g, %g, %g], cells: [18, 18, 18], spacing: %g}\ngravity: [0, 0, 0]\n"
            "time: {end: 1, step: 2e-5}\nintegrator: {scheme: explicit}\ntransfer: {scheme: apic}\n"
            "materials: {clay: {model: cam_clay}}\nsnow:\n  - {file: %s, material: clay}\n"
            "bodies:\n  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, friction: 0}\n"
            "  left: {plane: {point: [0, 0, 0], normal: [1, 0, 0]}, friction: 0}\n"
            "  right: {plane: {point: [%g, 0, 0], normal: [-1, 0, 0]}, friction: 0}\n"
            "  back: {plane: {point: [0, 0, 0], normal: [0, 0, 1]}, friction: 0}\n"
            "  front: {plane: {point: [0, 0, %g], normal: [0, 0, -1]}, friction: 0}\n"
            "  plate: {plane: {point: [0, %g, 0], normal: [0, -1, 0]}, velocity: [0, %g, 0], friction: 0}\n",
            -4 * h, -4 * h, -4 * h, h, cloud->path, edge, edge, edge, -speed);
  cloud_destroy(&cloud);
}

struct inside {
  double strain, axial, lateral, plastic; /* means: ln J, tau (Pa), ln J_P */
};

/* Particles that were two cells and more from every face: plates act on nodes, and the layer beside them
 * strains differently. */
static struct inside look_inside(const struct run *run)
{
  const struct particles *p = run->sim->p;
  const double h = edge / CELLS, top = edge - speed * run->sim->clock.time;
  struct inside mean = {0};
  int count = 0;
  for (int32_t i = 0; i < p->count; i++) {
    const double x = p->x[0][i], y = p->x[1][i], z = p->x[2][i];
    if (x < 2 * h || x > edge - 2 * h || z < 2 * h || z > edge - 2 * h || y < 2 * h || y > top - 2 * h)
      continue;
    struct lane_state state = {.table = run->sim->constants};
    struct lane_stress stress;
    for (int d = 0; d < 9; d++) state.f[d][0] = p->fe[d][i];
    for (int l = 1; l < WIDE; l++)
      for (int d = 0; d < 9; d += 4) state.f[d][l] = 1.0;
    state.volume[0] = p->jp[i];
    state.shear[0] = p->shear[i];
    lanes_base.model_stress(&state, &stress);
    const double(*f)[WIDE] = (const double(*)[WIDE])state.f;
    const double det = f[0][0] * (f[4][0] * f[8][0] - f[5][0] * f[7][0]) -
                       f[1][0] * (f[3][0] * f[8][0] - f[5][0] * f[6][0]) +
                       f[2][0] * (f[3][0] * f[7][0] - f[4][0] * f[6][0]);
    mean.strain += log(det) + p->jp[i];
    mean.plastic += p->jp[i];
    mean.axial += stress.tau[4][0];
    mean.lateral += 0.5 * (stress.tau[0][0] + stress.tau[8][0]);
    count++;
  }
  assert_true(count > 100);
  return (struct inside){mean.strain / count, mean.axial / count, mean.lateral / count, mean.plastic / count};
}

/* One particle pressed to this strain in steps of 1e-4. */
static struct inside oedometer(double volume_strain)
{
  const struct material m = path_material(MODEL_CAM_CLAY);
  struct material_constants constants;
  struct point point = point_start(&lanes_base, &m, &constants);
  const int steps = (int)ceil(-volume_strain / 1e-4);
  double tau[3];
  for (int k = 0; k < steps; k++) point_strain(&point, (double[3]){volume_strain / steps, 0.0, 0.0});
  point_stress(&point, tau);
  return (struct inside){volume_strain, tau[0], tau[1], point.volume};
}

static void block_follows_the_oedometer(void **unused)
{
  (void)unused;
  static const double travel[] = {0.1, 0.15, 0.3}; /* of the edge */
  struct run run;
  start(&run);
  for (size_t k = 0; k < sizeof travel / sizeof *travel; k++) {
    run_to(&run, travel[k] * edge / speed);
    const struct inside found = look_inside(&run), wanted = oedometer(found.strain);
    print_message("press, plate at -%.0f %%: ln J %.4f; axial %.1f (%.1f), lateral %.1f (%.1f) kPa, ln J_P "
                  "%.4f (%.4f)\n",
                  100.0 * travel[k], found.strain, 1e-3 * found.axial, 1e-3 * wanted.axial,
                  1e-3 * found.lateral, 1e-3 * wanted.lateral, found.plastic, wanted.plastic);
    assert_true(fabs(found.axial / wanted.axial - 1.0) < 0.03);
    assert_true(fabs(found.lateral / wanted.lateral - 1.0) < 0.1);
    assert_true(fabs(found.plastic / wanted.plastic - 1.0) < 0.05);
  }
  run_end(&run);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(block_follows_the_oedometer)};
PHYSICS_MAIN(tests);
