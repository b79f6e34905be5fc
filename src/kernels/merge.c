/* From the parts of blocks to the nodes of a brick (docs/architecture.md): up to 2 x 2 x 2 parts, in pairs
 * along z, then y, then x. A part that is not there counts as +0.0 and is added, and +0.0 is added to the
 * last sum. For sums may be -0.0, and at a cut between ranks each adds what it gets, whether a block stands
 * behind it or not (decomposition/halo.c). */
#include "kernels/stencil.h"

typedef double four __attribute__((vector_size(32)));
typedef double four_unaligned __attribute__((vector_size(32), aligned(8), may_alias));

static inline four four_load(const double *p)
{
  return *(const four_unaligned *)p;
}

static inline void four_store(double *p, four a)
{
  *(four_unaligned *)p = a;
}

/* Stands for what is not there. */
static const double nothing[PART_DOUBLES] __attribute__((aligned(64)));

/* The four nodes along y of one channel on node plane x, from the parts dx: pairs along z, then y. `at` are
 * where the sheets of these parts begin, by (dy, dz). */
ALWAYS_INLINE four sheet_pairs(const double *const at[4], int z)
{
  const four zero = {0.0, 0.0, 0.0, 0.0};
  const bool both = z < PART_Z - BLOCK_Z;
  const int far = (BLOCK_Z + z) * SHEET_ROW;
  const four here = four_load(at[0] + z * SHEET_ROW) + (both ? four_load(at[1] + far) : zero),
             next = four_load(at[2] + z * SHEET_ROW + BLOCK_Y) +
                    (both ? four_load(at[3] + far + BLOCK_Y) : zero);
  return here + next;
}

ALWAYS_INLINE void merge_sheets(const struct brick_parts *parts, bool vector, double *brick)
{
  const double *part[8];
  for (int k = 0; k < 8; k++) part[k] = parts->part[k] ? parts->part[k] : nothing;
  const four zero = {0.0, 0.0, 0.0, 0.0};
  for (int x = 0; x < BLOCK_X; x++) {
    double *tile = brick + x * TILE_DOUBLES;
    for (int z = 0; z < TILE_Z; z++) {
      four channel[4] = {zero, zero, zero, zero};
      for (int c = vector ? 1 : 0; c < 4; c++) {
        const double *near[4], *far[4];
        for (int k = 0; k < 4; k++) {
          near[k] = part[k] + x * SHEET_X + c * SHEET_CHANNEL;
          far[k] = part[4 + k] + (BLOCK_X + x) * SHEET_X + c * SHEET_CHANNEL;
        }
        channel[c] = sheet_pairs(near, z);
        channel[c] = channel[c] + (x < PART_X - BLOCK_X ? sheet_pairs(far, z) : zero) + zero;
      }
      const four a = __builtin_shufflevector(channel[0], channel[1], 0, 4, 2, 6),
                 b = __builtin_shufflevector(channel[0], channel[1], 1, 5, 3, 7),
                 c = __builtin_shufflevector(channel[2], channel[3], 0, 4, 2, 6),
                 d = __builtin_shufflevector(channel[2], channel[3], 1, 5, 3, 7);
      four_store(tile + 4 * z, __builtin_shufflevector(a, c, 0, 1, 4, 5));
      four_store(tile + 4 * (TILE_Z + z), __builtin_shufflevector(b, d, 0, 1, 4, 5));
      four_store(tile + 4 * (2 * TILE_Z + z), __builtin_shufflevector(a, c, 2, 3, 6, 7));
      four_store(tile + 4 * (3 * TILE_Z + z), __builtin_shufflevector(b, d, 2, 3, 6, 7));
    }
  }
}

/* The node at (x, y, z) of the brick, from the parts dx. */
ALWAYS_INLINE four node_pairs(const double *const part[4], int x, int y, int z)
{
  const four zero = {0.0, 0.0, 0.0, 0.0};
  const bool both_z = z < PART_Z - BLOCK_Z, both_y = y < PART_Y - BLOCK_Y;
  const double *near = part[0] + x * NODES_X + y * NODES_Y, *near_z = part[1] + x * NODES_X + y * NODES_Y;
  four here = four_load(near + 4 * z) + (both_z ? four_load(near_z + 4 * (BLOCK_Z + z)) : zero), next = zero;
  if (both_y) {
    const double *far = part[2] + x * NODES_X + (BLOCK_Y + y) * NODES_Y,
                 *far_z = part[3] + x * NODES_X + (BLOCK_Y + y) * NODES_Y;
    next = four_load(far + 4 * z) + (both_z ? four_load(far_z + 4 * (BLOCK_Z + z)) : zero);
  }
  return here + next;
}

static void merge_nodes(const struct brick_parts *parts, double *brick)
{
  const double *part[8];
  for (int k = 0; k < 8; k++) part[k] = parts->part[k] ? parts->part[k] : nothing;
  const four zero = {0.0, 0.0, 0.0, 0.0};
  for (int x = 0; x < BLOCK_X; x++)
    for (int y = 0; y < TILE_Y; y++)
      for (int z = 0; z < TILE_Z; z++) {
        four node = node_pairs(part, x, y, z);
        node = node + (x < PART_X - BLOCK_X ? node_pairs(part + 4, BLOCK_X + x, y, z) : zero) + zero;
        four_store(brick + x * TILE_DOUBLES + 4 * (y * TILE_Z + z), node);
      }
}

void KERNEL(merge)(enum part_layout layout, bool vector, const struct brick_parts *parts, double *brick)
{
  if (layout == PART_NODES)
    merge_nodes(parts, brick);
  else if (vector)
    merge_sheets(parts, true, brick);
  else
    merge_sheets(parts, false, brick);
}
