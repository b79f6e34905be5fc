#!/usr/bin/env python3
"""Convergence of force, run-out and energy: the tables of docs/accuracy.md.

usage: docs/accuracy.py FIRN [bar|slope|column]...   prints tables in Markdown; some minutes on one core
"""
import csv
import math
import os
import subprocess
import sys
import tempfile
import time

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
snow: [{{box: {{lower: [0, 0, -0.04], upper: [0.12, 0.06, 0.04]}}, per_cell: {ppc}, sampling: jittered}}]
bodies: {{slope: {{plane: {{point: [0, 0, 0], normal: [0, 1, 0]}}, friction: 0.3, measure: true}}}}
probes: [{{name: all, inside: {{box: {{lower: [-1, -1, -1], upper: [2, 1, 1]}}}}}}]
output: {{budget: true, every: 1000}}
"""
COLUMN = """
domain: {{lower: [-0.04, -0.04, -0.04], cells: [{nx}, {ny}, {nz}], spacing: {h}}}
time: {{end: 0.7, frame_rate: 10{time}}}
integrator: {integrator}
transfer: {transfer}
materials: {{grains: {{model: sand, young: 5e5, density: 1500, friction_angle: 30}}}}
snow: [{{box: {{lower: [0, 0, 0], upper: [0.1, 0.1, 0.04]}}, per_cell: {ppc}, sampling: jittered}}]
bodies:
  floor: {{plane: {{point: [0, 0, 0], normal: [0, 1, 0]}}, friction: 0.5}}
  back: {{plane: {{point: [0, 0, 0], normal: [1, 0, 0]}}, friction: 0}}
  left: {{plane: {{point: [0, 0, 0], normal: [0, 0, 1]}}, friction: 0}}
  right: {{plane: {{point: [0, 0, 0.04], normal: [0, 0, -1]}}, friction: 0}}
probes: [{{name: pile, deposit: {{direction: [1, 0, 0]}}}}]
output: {{budget: true, every: 1000}}
"""
EXPLICIT, IMPLICIT = "{scheme: explicit}", "{tolerance: 1e-4}"
# what is changed, against the defaults of Firn (h 0.01 m, 8 particles a cell, semi-implicit, FLIP 0.95)
CASES = [("defaults", {}),
         ("step 1e-4 s", {"time": ", step: 1e-4"}),
         ("step 2e-5 s", {"time": ", step: 2e-5"}),
         ("tolerance 1e-7", {"integrator": "{tolerance: 1e-7}"}),
         ("cells of 0.005 m", {"h": 0.005}),
         ("27 particles a cell", {"ppc": 27}),
         ("explicit", {"integrator": EXPLICIT}),
         ("explicit, APIC", {"integrator": EXPLICIT, "transfer": "{scheme: apic}"}),
         ("explicit, APIC, MLS", {"integrator": EXPLICIT, "transfer": "{scheme: apic, force: mls}"}),
         ("explicit, APIC, 0.005 m", {"integrator": EXPLICIT, "transfer": "{scheme: apic}", "h": 0.005})]


def table(path):
    with open(path) as file:
        return [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]


def run(firn, text, sizes, change):
    """History and probes of a case, and the seconds it took."""
    values = {"h": 0.01, "ppc": 8, "time": "", "integrator": IMPLICIT, "transfer": "{scheme: flip}", **change}
    for name, length in sizes.items():
        values[name] = round(length / values["h"])
    with tempfile.TemporaryDirectory() as folder:
        scene = os.path.join(folder, "scene.yml")
        with open(scene, "w") as file:
            file.write(text.format(**values))
        begin = time.monotonic()
        subprocess.run([firn, "run", scene, "--output", folder + "/out", "--quiet", "--threads", "1"], check=True,
                       stderr=subprocess.DEVNULL)
        took = time.monotonic() - begin
        probes = folder + "/out/probes.csv"
        return table(folder + "/out/history.csv"), table(probes) if os.path.exists(probes) else None, took


def scheme_loss(history):
    first = history[0]["kinetic"] + history[0]["elastic"] + history[0]["potential"]
    scale = abs(first) if abs(first) > 1e-9 else max(row["kinetic"] for row in history)
    return history[-1]["lost_scheme"] / scale


def bar(firn, change):
    """Force rho c v A for 2 L / c, then nothing; the bar leaves as fast as it came."""
    history, _, took = run(firn, BAR, {"nx": 0.36, "ny": 0.12}, change)
    area, speed, sound = 0.06 * 0.06, 0.5, math.sqrt(1e5 / 400)
    force, span = 400 * sound * speed * area, 2 * 0.2 / sound
    plateau = [-row["force_wall_x"] for row in history if 0.2 * span < row["time"] < 0.8 * span]
    impulse = sum(-row["force_wall_x"] * row["dt"] for row in history)
    mass = history[0]["mass"]
    return [f"{max(-r['force_wall_x'] for r in history) / force:.3f}", f"{sum(plateau) / len(plateau) / force:.3f}",
            f"{impulse / (2 * mass * speed):.3f}", f"{100 * scheme_loss(history):.1f} %", f"{took:.1f} s"]


def slope(firn, change):
    """30 degrees, friction 0.3: a = g (sin - 0.3 cos) = 2.356 m/s^2."""
    history, probes, took = run(firn, SLOPE, {"nx": 0.5, "ny": 0.16, "nz": 0.16}, change)
    a = 4.905 - 0.3 * 8.4957
    mass, end = history[0]["mass"], probes[-1]["time"]
    late = [row for row in history if row["time"] > 0.15]
    normal = sum(-row["force_slope_y"] * row["dt"] for row in late) / sum(row["dt"] for row in late)
    way = sum(0.5 * (row["all_vx"] + last["all_vx"]) * (row["time"] - last["time"]) for last, row in zip(probes, probes[1:]))
    return [f"{probes[-1]['all_vx'] / (a * end):.3f}", f"{way / (0.5 * a * end * end):.3f}",
            f"{normal / (mass * 8.4957):.4f}", f"{took:.1f} s"]


def column(firn, change):
    """A column of sand as high as wide: measured run-outs are 1.2 times the height over width (Lube et al. 2005)."""
    history, probes, took = run(firn, COLUMN, {"nx": 0.6, "ny": 0.2, "nz": 0.12}, change)
    return [f"{(probes[-1]['pile_front'] - 0.1) / 0.1:.2f}", f"{probes[-1]['pile_highest'] / 0.1:.2f}",
            f"{1e6 * probes[-1]['pile_volume']:.0f}", f"{took:.1f} s"]


PROBLEMS = {"bar": (bar, ["peak force", "plateau force", "impulse", "lost by the scheme", "time"]),
            "slope": (slope, ["speed", "way", "normal force", "time"]),
            "column": (column, ["run-out / width", "height / width", "volume (cm^3)", "time"])}


def main():
    firn, wanted = sys.argv[1], sys.argv[2:] or list(PROBLEMS)
    for name in wanted:
        measure, heads = PROBLEMS[name]
        print(f"\n{name}\n\n| settings | " + " | ".join(heads) + " |\n|---|" + "---|" * len(heads))
        for what, change in CASES:
            if name != "bar" and what == "step 2e-5 s":
                continue  # minutes, and no other answer
            print(f"| {what} | " + " | ".join(measure(firn, change)) + " |", flush=True)


main()
