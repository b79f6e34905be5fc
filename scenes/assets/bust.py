#!/usr/bin/env python3
"""Writes bust.obj: the head and shoulders of nobody, as a closed mesh (metres, y up, looking along z).

   python3 scenes/assets/bust.py > scenes/assets/bust.obj

Rings around the vertical axis, each an oval whose half widths and depth follow a profile; nose, brow, eyes, mouth,
chin and ears are smooth bumps on it."""
from math import cos, exp, pi, sin

LEVELS, AROUND = 72, 60
# height, half width (x), half depth (z), how far the ring's centre is to the front
PROFILE = [(0.00, 0.150, 0.100, 0.000), (0.03, 0.152, 0.102, 0.000), (0.07, 0.140, 0.088, 0.000),
           (0.11, 0.085, 0.066, 0.000), (0.135, 0.056, 0.058, 0.000), (0.16, 0.052, 0.056, 0.004),
           (0.19, 0.058, 0.070, 0.012), (0.22, 0.066, 0.082, 0.014), (0.26, 0.074, 0.092, 0.012),
           (0.30, 0.079, 0.098, 0.008), (0.34, 0.078, 0.098, 0.002), (0.375, 0.066, 0.086, -0.002),
           (0.40, 0.046, 0.062, -0.004), (0.415, 0.020, 0.030, -0.004)]
# angle from the front (radians), height, size of both, how far out (m); mirrored where the angle is not 0
BUMPS = [(0.0, 0.262, 0.13, 0.020, 0.017), (0.0, 0.245, 0.17, 0.009, 0.013),  # nose
         (0.40, 0.300, 0.30, 0.009, 0.007), (0.42, 0.279, 0.16, 0.010, -0.010),  # brow, eyes
         (0.0, 0.223, 0.30, 0.004, 0.005), (0.0, 0.215, 0.32, 0.003, -0.005), (0.0, 0.207, 0.26, 0.004, 0.005),  # mouth
         (0.0, 0.188, 0.30, 0.010, 0.010), (0.75, 0.250, 0.30, 0.016, 0.004),  # chin, cheeks
         (1.62, 0.268, 0.10, 0.022, 0.016)]  # ears


def profile(y):
    """Catmull-Rom through the table."""
    k = max(j for j in range(len(PROFILE) - 1) if PROFILE[j][0] <= y)
    at = [PROFILE[min(max(j, 0), len(PROFILE) - 1)] for j in range(k - 1, k + 3)]
    t = (y - at[1][0]) / (at[2][0] - at[1][0])
    def through(a, b, c, d):
        return b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)))
    return [through(*(row[j] for row in at)) for j in (1, 2, 3)]


def point(y, angle):
    width, depth, front = profile(y)
    out = 0.0
    for a, height, wide, high, far in BUMPS:
        for side in ((1,) if a == 0.0 else (1, -1)):
            gap = (angle - side * a + pi) % (2 * pi) - pi
            out += far * exp(-((gap / wide) ** 2 + ((y - height) / high) ** 2))
    return (sin(angle) * (width + out), y, cos(angle) * (depth + out) + front)


def main():
    top = PROFILE[-1][0]
    heights = [top * k / (LEVELS - 1) for k in range(LEVELS)]
    vertices = [point(y, 2 * pi * j / AROUND) for y in heights for j in range(AROUND)]
    vertices += [(0.0, 0.0, 0.0), (0.0, top + 0.004, PROFILE[-1][3])]
    bottom, summit = len(vertices) - 1, len(vertices)
    faces = []
    for k in range(LEVELS - 1):
        for j in range(AROUND):
            a, b = k * AROUND + j + 1, k * AROUND + (j + 1) % AROUND + 1
            faces += [(a, b, b + AROUND), (a, b + AROUND, a + AROUND)]
    last = (LEVELS - 1) * AROUND
    for j in range(AROUND):
        a, b = j + 1, (j + 1) % AROUND + 1
        faces += [(b, a, bottom), (last + a, last + b, summit)]
    print("# made by bust.py")
    for v in vertices:
        print("v %.4f %.4f %.4f" % v)
    for f in faces:
        print("f %d %d %d" % f)


main()
