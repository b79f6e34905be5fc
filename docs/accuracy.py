#!/usr/bin/env python3
"""Convergence of force, run-out and energy: the tables and plots of docs/accuracy.md.

usage: docs/accuracy.py FIRN [bar|slope|column]... [--plots FOLDER]

Prints tables in Markdown, some minutes each on one core, and draws FOLDER/accuracy_<problem>.svg.
"""
import csv
import math
import os
import resource
import subprocess
import sys
import tempfile

BAR = """
domain: {{lower: [-0.06, -0.06, -0.06], cells: [{nx}, {ny}, {ny}], spacing: {h}}}
gravity: [0, 0, 0]
time: {{end: 0.03, frame_rate: 50{time}}}
integrator: {integrator}
transfer: {transfer}
materials: {{bar: {{model: corotated, young: 1e5, poisson: 0, density: 400}}}}
snow: [{{box: {{lower: [0, -0.03, -0.03], upper: [0.2, 0.03, 0.03]}}, velocity: [-0.5, 0, 0], per_cell: {ppc},
        sampling: jittered, volume: exact}}]
bodies: {{wall: {{plane: {{point: [0, 0, 0], normal: [1, 0, 0]}}, friction: 0, measure: true}}}}
output: {{budget: true, every: 1000}}
"""
SLOPE = """
domain: {{lower: [-0.1, -0.06, -0.08], cells: [{nx}, {ny}, {nz}], spacing: {h}}}
gravity: [4.905, -8.4957, 0]
time: {{end: 0.3, frame_rate: 10{time}}}
integrator: {integrator}
transfer: {transfer}
materials: {{block: {{model: corotated, young: 1e5, density: 400}}}}
snow: [{{box: {{lower: [0, 0, -0.04], upper: [0.12, 0.06, 0.04]}}, per_cell: {ppc}, sampling: jittered, volume: exact}}]
bodies: {{slope: {{plane: {{point: [0, 0, 0], normal: [0, 1, 0]}}, friction: 0.3, measure: true}}}}
probes: [{{name: all, inside: {{box: {{lower: [-1, -1, -1], upper: [2, 1, 1]}}}}}}]
output: {{budget: true, every: 1000}}
"""
COLUMN = """
domain: {{lower: [-0.04, -0.04, -0.04], cells: [{nx}, {ny}, {nz}], spacing: {h}}}
time: {{end: 0.8, frame_rate: 10{time}}}
integrator: {integrator}
transfer: {transfer}
materials: {{grains: {{model: sand, young: 1e6, poisson: 0.3, density: 1600, friction_angle: 30, cone: slope}}}}
snow: [{{box: {{lower: [0, 0, 0], upper: [0.2, 0.2, 0.06]}}, per_cell: {ppc}, sampling: jittered, volume: exact}}]
bodies:
  floor: {{plane: {{point: [0, 0, 0], normal: [0, 1, 0]}}, sticky: true, measure: true}}
  back: {{plane: {{point: [0, 0, 0], normal: [1, 0, 0]}}, friction: 0}}
  left: {{plane: {{point: [0, 0, 0], normal: [0, 0, 1]}}, friction: 0}}
  right: {{plane: {{point: [0, 0, 0.06], normal: [0, 0, -1]}}, friction: 0}}
probes:
  - {{name: along, profile: {{lower: [-0.02, -1, -1], upper: [0.78, 1, 1], axis: x, count: 40}}}}
  - {{name: up, profile: {{lower: [-1, -0.02, -1], upper: [1, 0.38, 1], axis: y, count: 20}}}}
output: {{budget: true, every: 1000}}
"""
EXPLICIT, IMPLICIT = "{scheme: explicit}", "{scheme: semi-implicit}"
# what is changed, against the defaults of Firn (8 particles per cell, semi-implicit, FLIP 0.95)
CASES = [("defaults", {}),
         ("step 1e-4 s", {"time": ", step: 1e-4"}),
         ("step 2e-5 s", {"time": ", step: 2e-5"}),
         ("tolerance 1e-7", {"integrator": "{stop: strain, tolerance: 1e-7}"}),
         ("cells half as large", {"refine": 2}),
         ("27 particles per cell", {"ppc": 27}),
         ("explicit", {"integrator": EXPLICIT}),
         ("explicit, APIC", {"integrator": EXPLICIT, "transfer": "{scheme: apic}"}),
         ("explicit, APIC, MLS", {"integrator": EXPLICIT, "transfer": "{scheme: apic, force: mls}"}),
         ("explicit, APIC, cells half as large", {"integrator": EXPLICIT, "transfer": "{scheme: apic}", "refine": 2})]
DRAWN = ["defaults", "step 1e-4 s", "explicit", "explicit, APIC", "explicit, APIC, cells half as large"]


def table(path):
    with open(path) as file:
        return [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]


def run(firn, text, spacing, sizes, change):
    """History and probes of a case, and the processor seconds it took."""
    values = {"ppc": 8, "time": "", "integrator": IMPLICIT, "transfer": "{scheme: flip}", **change}
    values["h"] = spacing / change.get("refine", 1)
    for name, length in sizes.items():
        values[name] = round(length / values["h"])
    with tempfile.TemporaryDirectory() as folder:
        scene = os.path.join(folder, "scene.yml")
        with open(scene, "w") as file:
            file.write(text.format(**values))
        begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([firn, "run", scene, "--output", folder + "/out", "--quiet", "--threads", "1"], check=True,
                       stderr=subprocess.DEVNULL)
        took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin
        probes = folder + "/out/probes.csv"
        return table(folder + "/out/history.csv"), table(probes) if os.path.exists(probes) else None, took


def scheme_loss(history):
    first = history[0]["kinetic"] + history[0]["elastic"] + history[0]["potential"]
    scale = abs(first) if abs(first) > 1e-9 else max(row["kinetic"] for row in history)
    return history[-1]["lost_scheme"] / scale


def bar(firn, change):
    """Force rho c v A for 2 L / c, then nothing; the bar leaves as fast as it came."""
    history, _, took = run(firn, BAR, 0.01, {"nx": 0.36, "ny": 0.12}, change)
    area, speed, sound = 0.06 * 0.06, 0.5, math.sqrt(1e5 / 400)
    force, span = 400 * sound * speed * area, 2 * 0.2 / sound
    plateau = [-row["force_wall_x"] for row in history if 0.2 * span < row["time"] < 0.8 * span]
    impulse = sum(-row["force_wall_x"] * row["dt"] for row in history)
    mass = history[0]["mass"]
    cells = [f"{max(-r['force_wall_x'] for r in history) / force:.3f}", f"{sum(plateau) / len(plateau) / force:.3f}",
             f"{impulse / (2 * mass * speed):.3f}", f"{100 * scheme_loss(history):.1f} %", f"{took:.1f} s"]
    return cells, means(history, lambda row: -row["force_wall_x"] / force, 5e-4, 1e3)


def slope(firn, change):
    """30 degrees, friction 0.3: a = g (sin - 0.3 cos) = 2.356 m/s^2; friction takes 0.3 m g cos times the way."""
    history, probes, took = run(firn, SLOPE, 0.01, {"nx": 0.5, "ny": 0.16, "nz": 0.16}, change)
    a = 4.905 - 0.3 * 8.4957
    mass, end = history[0]["mass"], probes[-1]["time"]
    late = [row for row in history if row["time"] > 0.15]
    normal = sum(-row["force_slope_y"] * row["dt"] for row in late) / sum(row["dt"] for row in late)
    way = sum(0.5 * (row["all_vx"] + last["all_vx"]) * (row["time"] - last["time"]) for last, row in zip(probes, probes[1:]))
    friction = history[-1]["lost_friction"] / (0.3 * mass * 8.4957 * way)
    given = mass * 4.905 * way
    cells = [f"{probes[-1]['all_vx'] / (a * end):.3f}", f"{way / (0.5 * a * end * end):.3f}", f"{normal / (mass * 8.4957):.4f}",
             f"{friction:.3f}", f"{100 * history[-1]['lost_scheme'] / given:.1f} %", f"{took:.1f} s"]
    return cells, [(row["time"], row["all_vx"] - a * row["time"]) for row in probes]


def quantile(row, name, count, low, width, share):
    """Where so much of the mass in slices of a profile is below."""
    masses = [row[f"{name}_{k}_mass"] for k in range(count)]
    rest = share * sum(masses)
    for k, mass in enumerate(masses):
        if mass >= rest and mass > 0:
            return low + width * (k + rest / mass)
        rest -= mass
    return low + width * count


def column(firn, change):
    """A column of sand as high as wide, in plane strain: channels gave run-outs of 1.2 (Lube et al. 2005) to 1.8 widths."""
    history, probes, took = run(firn, COLUMN, 0.02, {"nx": 0.9, "ny": 0.4, "nz": 0.14}, change)
    front = [(row["time"], quantile(row, "along", 40, -0.02, 0.02, 0.995) / 0.2 - 1) for row in probes]
    high = quantile(probes[-1], "up", 20, -0.02, 0.02, 0.999) / 0.2
    fallen = history[0]["potential"] - history[-1]["potential"]
    weight = -sum(row["force_floor_y"] * row["dt"] for row in history if row["time"] > 0.7)
    weight /= sum(row["dt"] for row in history if row["time"] > 0.7) * 9.81 * history[0]["mass"]
    moving = max(row["kinetic"] for row in history) / fallen
    cells = [f"{front[-1][1]:.3f}", f"{high:.3f}", f"{weight:.3f}", f"{moving:.3f}", f"{took:.1f} s"]
    return cells, front


def means(history, value, over, scale):
    """(time, mean) over equal spans: single explicit steps are too many for a plot."""
    points, sums = [], [0.0, 0.0, 0.0]
    for row in history:
        sums = [sums[0] + row["dt"], sums[1] + value(row) * row["dt"], sums[2] + row["time"] * row["dt"]]
        if sums[0] >= 0.999 * over:
            points.append((scale * sums[2] / sums[0], sums[1] / sums[0]))
            sums = [0.0, 0.0, 0.0]
    return points


COLOURS = ["#222222", "#e69f00", "#56b4e9", "#009e73", "#d55e00", "#0072b2"]


def ticks(low, high):
    step = 10 ** math.floor(math.log10(high - low))
    step = next(step * k for k in (0.1, 0.2, 0.25, 0.5, 1, 2) if (high - low) / (step * k) <= 8)
    return [k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def draw(path, title, along, up, lines):
    """lines: (name, points); the first one is the known answer, dashed."""
    left, top, width, height = 70, 40, 560, 300
    xs, ys = [x for _, line in lines for x, _ in line], [y for _, line in lines for _, y in line]
    x0, x1, y0, y1 = min(xs), max(xs), min(0, min(ys)), 1.05 * max(ys)
    at = lambda x, y: (left + width * (x - x0) / (x1 - x0), top + height * (1 - (y - y0) / (y1 - y0)))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="930" height="{top + height + 60}" font-family="sans-serif" font-size="13">',
           '<rect width="100%" height="100%" fill="white"/>', f'<text x="{left}" y="24" font-size="15">{title}</text>',
           f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" stroke="#888"/>']
    for x in ticks(x0, x1):
        out.append(f'<text x="{at(x, y0)[0]:.1f}" y="{top + height + 18}" text-anchor="middle">{x:.4g}</text>'
                   f'<path d="M{at(x, y0)[0]:.1f} {top}v{height}" stroke="#ddd"/>')
    for y in ticks(y0, y1):
        out.append(f'<text x="{left - 8}" y="{at(x0, y)[1] + 4:.1f}" text-anchor="end">{y:.4g}</text>'
                   f'<path d="M{left} {at(x0, y)[1]:.1f}h{width}" stroke="#ddd"/>')
    out.append(f'<text x="{left + width / 2}" y="{top + height + 42}" text-anchor="middle">{along}</text>')
    out.append(f'<text transform="translate(18 {top + height / 2}) rotate(-90)" text-anchor="middle">{up}</text>')
    for k, (name, line) in enumerate(lines):
        thin = line[::max(1, len(line) // 300)] + line[-1:]
        way = "M" + "L".join(f"{at(x, y)[0]:.1f} {at(x, y)[1]:.1f}" for x, y in thin)
        look = f'fill="none" stroke="{COLOURS[k % len(COLOURS)]}" stroke-width="{2 if k else 1.5}"' + ("" if k else ' stroke-dasharray="6 4"')
        y = top + 10 + 20 * k
        out.append(f'<path d="{way}" {look}/><path d="M{left + width + 14} {y}h24" {look}/>'
                   f'<text x="{left + width + 44}" y="{y + 4}">{name}</text>')
    with open(path, "w") as file:
        file.write("\n".join(out) + "\n</svg>\n")


PROBLEMS = {
    "bar": (bar, ["peak force", "plateau force", "impulse", "lost by the scheme", "time"],
            ("Force of a bar on a wall, over rho c v A (means of 0.5 ms)", "time (ms)", "force",
             [(0, 1), (25.3, 1), (25.3, 0), (30, 0)])),
    "slope": (slope, ["speed", "distance", "normal force", "energy lost in friction", "lost by the scheme", "time"],
              ("Speed of a block on a slope minus that of theory, which is 0.707 m/s at the end", "time (s)",
               "difference (m/s)", [(0, 0), (0.3, 0)])),
    "column": (column, ["run-out / width", "height / width", "weight on the floor", "largest kinetic energy", "time"],
               ("Front of a column of sand", "time (s)", "run-out / width", [(0, 1.2), (0.8, 1.2)]))}
KNOWN = {"bar": "wave theory", "slope": "theory", "column": "channels, at rest"}


def main():
    words = sys.argv[1:]
    folder = words.pop(words.index("--plots") + 1) if "--plots" in words else None
    firn, wanted = words[0], [word for word in words[1:] if word != "--plots"] or list(PROBLEMS)
    for name in wanted:
        measure, heads, plot = PROBLEMS[name]
        lines = [(KNOWN[name], plot[3])]
        print(f"\n{name}\n\n| settings | " + " | ".join(heads) + " |\n|---|" + "---|" * len(heads))
        for what, change in CASES:
            if name != "bar" and what == "step 2e-5 s":
                continue  # minutes, and no other answer
            cells, line = measure(firn, change)
            print(f"| {what} | " + " | ".join(cells) + " |", flush=True)
            if what in DRAWN:
                lines.append((what, line))
        if folder:
            draw(f"{folder}/accuracy_{name}.svg", *plot[:3], lines)


main()
