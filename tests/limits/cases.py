"""The situations of run.py. A function makes the scene of a situation and what is expected of it; the table at the end crosses
them. Ratios are over the known answer, so 1 is right."""
import math

G = 9.81
CASES = []


class Case:
    def __init__(self, name, scene, expect, default=False, warns=None, files=None, code=0):
        self.name, self.scene, self.expect, self.default, self.warns = name, scene, expect, default, warns
        self.files, self.code = files or {}, code


class Between:
    def __init__(self, what, low, high, measure):
        self.what, self.low, self.high, self.measure = what, low, high, measure

    def text(self):
        if self.low == -math.inf:
            return f"at most {self.high:g}"
        return f"{self.low:g} to {self.high:g}"


def right(what, tolerance, measure):
    """A ratio over the known answer."""
    return Between(what, 1 - tolerance, 1 + tolerance, measure)


def at_most(what, limit, measure):
    return Between(what, -math.inf, limit, measure)


def add(name, situation, default=False, warns=None, code=0):
    scene, expect, *files = situation
    CASES.append(Case(name, scene, expect, default, warns, files[0] if files else None, code))


def box(lower, upper):
    return {"box": {"lower": lower, "upper": upper}}


def plane(point, normal, **more):
    return {"plane": {"point": point, "normal": normal}, **more}


def scene(h, lower, cells, end, snow, bodies, material=None, rows=2000, **more):
    """Lengths of `lower` in cells. The history has about so many rows."""
    out = {"domain": {"lower": [round(h * x, 12) for x in lower], "cells": cells, "spacing": h},
           "time": {"end": end, "frame_rate": 2 / end}, "snow": snow, "bodies": bodies,
           "output": {"budget": True}}
    if material is not None:
        out["materials"] = {"m": material}
    for key, value in more.items():
        if isinstance(value, dict) and key in out:
            out[key].update(value)
        elif value is not None:
            out[key] = value
    return out


def tank(sides, friction=0.0):
    """Four walls around [0, sides[0]] x [0, sides[1]]."""
    return {"a": plane([0, 0, 0], [1, 0, 0], friction=friction),
            "b": plane([sides[0], 0, 0], [-1, 0, 0], friction=friction),
            "c": plane([0, 0, 0], [0, 0, 1], friction=friction),
            "d": plane([0, 0, sides[1]], [0, 0, -1], friction=friction)}


def floor(**more):
    return plane([0, 0, 0], [0, 1, 0], measure=True, **more)


def weight(run):
    return run.last("mass") * G


def height(run):
    """Of the centre of mass, over the second half of the run."""
    return run.mean("potential") / weight(run)


def speed(run, axis="x"):
    return run.last("momentum_" + axis) / run.last("mass")


def kept():
    return at_most("particles lost", 0, lambda run: run.last("removed"))


def whole():
    return at_most("halvings", 0, lambda run: run.total("halvings"))


# Rest and impacts.

def rest(material, h, walls=False, friction=0.3, end=0.3, **more):
    """A block of 5 x 6 x 5 cells under its weight, free or in a tank that it fills. Large ones swing for longer."""
    if h > 0.02:
        end *= 1.5 * math.sqrt(h / 0.01)
    bodies = {"floor": floor(friction=friction)}
    if walls:
        bodies.update({name: dict(wall, measure=True) for name, wall in tank([5 * h, 5 * h], friction).items()})
    slumps = material.get("model") == "sand" and not walls
    out = scene(h, [-8, -4, -8], [21, 20, 21], end, [box([0, 0, 0], [5 * h, 6 * h, 5 * h])], bodies, material, **more)
    size = lambda run: weight(run) * 6 * h
    carried = lambda run: -sum(run.mean(f"force_{name}_y", 0.6) for name in bodies)
    return out, [right("force on bodies / weight", 0.03 if slumps else 0.01, lambda run: carried(run) / weight(run)),
                 at_most("energy gained / m g H", 1e-6, lambda run: run.growth() / size(run)), kept(), whole()]


def drop(material, h, fall, friction=0.3, along=0.0, **more):
    """A block of 5 cells that hits the floor at a speed of `fall`, and stays around for a while."""
    end = 12 * h / fall + 0.02
    out = scene(h, [-12, -4, -12], [29, 24, 29], end, [dict(box([0, 2 * h, 0], [5 * h, 7 * h, 5 * h]), velocity=[along, -fall, 0])],
                {"floor": floor(friction=friction)}, material, **more)
    first = 0.5 * (fall ** 2 + along ** 2)
    energy = lambda run: run.energies()[0]
    return out, [at_most("energy gained / first kinetic", 1e-3, lambda run: run.growth() / (first * run.history["mass"][0])),
                 Between("plastic work / first energy", 0.0, 1.0, lambda run: run.last("lost_plastic") / energy(run))]


def settle(h, below):
    """A soft block on a floor that is `below` cells above the lower face of the domain; its centre sinks by rho g H^2 / 3 E."""
    young, poisson, density, high = 1e5, 0.2, 400, 6 * h
    sag = density * G * high ** 2 / (3 * young)  # of the middle of a column that is free at its sides
    out = scene(h, [-8, -below, -8], [21, 26 + below, 21], 0.6, [dict(box([0, 0, 0], [5 * h, high, 5 * h]), sampling="jittered")],
                {"floor": floor()}, {"model": "neo_hookean", "young": young, "poisson": poisson, "density": density})
    return out, [Between("centre sinks, cells (theory %.3f)" % (sag / h), 0.0, sag / h + 0.1,
                         lambda run: (run.history["potential"][0] / weight(run) - height(run)) / h), kept()]


# Friction.

def slide(material, h, friction=0.3, degrees=30, end=0.1, at=0.0, low=0.97, **more):
    """A block of 8 x 5 x 6 cells on a slope; gravity is turned, the floor is not."""
    angle = math.radians(degrees)
    wanted = G * (math.sin(angle) - friction * math.cos(angle))
    way = max(0.0, wanted) * end ** 2 / 2
    out = scene(h, [-12, -5, -5], [26 + 12 + math.ceil(way / h), 20, 16], end,
                [box([0, at, 0], [8 * h, 5 * h + at, 6 * h])], {"floor": plane([0, at, 0], [0, 1, 0], friction=friction, measure=True)},
                material, gravity=[G * math.sin(angle), -G * math.cos(angle), 0], **more)
    if wanted > 0:
        return out, [Between("speed", low, 1.03, lambda run: speed(run) / (wanted * end)), kept()]
    return out, [Between("way, cells", -0.02, 0.02, lambda run: speed(run) * end / h), kept()]


def scrape(material, h, along, fall, friction=0.3, **more):
    """A block of 8 cells hits the floor at a slant and never stops sliding: what friction takes is `friction` times what the floor
    gives."""
    end = 12 * h / fall
    out = scene(h, [-12, -4, -12], [26 + 12 + math.ceil(along * end / h), 26, 32], end,
                [dict(box([0, 2 * h, 0], [8 * h, 10 * h, 8 * h]), velocity=[along, -fall, 0])], {"floor": floor(friction=friction)}, material, **more)
    given = lambda run, axis: run.mean(f"force_floor_{axis}", 0.0)
    return out, [right("friction / (coefficient x normal impulse)", 0.05, lambda run: given(run, "x") / (-friction * given(run, "y"))),
                 at_most("energy gained / first kinetic", 1e-3,
                         lambda run: run.growth() / (0.5 * (fall ** 2 + along ** 2) * run.history["mass"][0])), kept()]


def conveyor(material, h, friction=0.3, **more):
    """The floor moves at 0.5 m/s: the block catches up at mu g and then keeps that speed."""
    belt, end = 0.5, 0.25
    out = scene(h, [-8, -4, -5], [24 + math.ceil(belt * end / h), 16, 16], end, [box([0, 0, 0], [8 * h, 4 * h, 6 * h])],
                {"floor": floor(friction=friction, velocity=[belt, 0, 0])}, material, **more)
    half = lambda run: next(k for k, t in enumerate(run.history["time"]) if t >= 0.08)
    return out, [right("speed at 0.08 s", 0.03, lambda run: run.history["momentum_x"][half(run)] / run.last("mass") /
                       (friction * G * run.history["time"][half(run)])),
                 right("speed at the end", 0.01, lambda run: speed(run) / belt)]


def roll(cells, degrees, end, low=0.9, **more):
    """An elastic ball of so many cells radius on a slope rolls at 5/7 g sin."""
    h, angle = 0.01, math.radians(degrees)
    radius, pull = cells * h, 5 / 7 * G * math.sin(math.radians(degrees))
    out = scene(h, [-cells - 5, -4, -cells - 4], [2 * cells + 14 + math.ceil(pull * end ** 2 / 2 / h), 2 * cells + 12, 2 * cells + 8], end,
                [{"sphere": {"center": [0, radius, 0], "radius": radius}, "sampling": "jittered", "per_cell": 4}],
                {"floor": floor(friction=0.5)}, {"model": "neo_hookean", "density": 400, "young": 5e5},
                gravity=[G * math.sin(angle), -G * math.cos(angle), 0], **dict({"transfer": {"scheme": "apic", "force": "mls"}}, **more))
    return out, [Between("speed", low, 1.1, lambda run: speed(run) / (pull * end)), kept()]


# Elastic bodies in the air.

def spin(**more):
    """A free elastic block spins at 20 rad/s: both its angular momentum and its speed stay. 0.1 s are a third of a turn."""
    h, turn = 0.01, 20.0
    size = [12 * h, 8 * h, 6 * h]
    out = scene(h, [-12, -12, -8], [24, 24, 16], 0.1, [{"box": {"center": [0, 0, 0], "size": size}, "spin": [0, 0, turn]}], {},
                {"model": "neo_hookean", "density": 400, "young": 1e6}, gravity=[0, 0, 0], **more)
    del out["bodies"]
    first = lambda run: run.last("mass") * (size[0] ** 2 + size[1] ** 2) / 12 * turn
    return out, [right("angular momentum / first", 0.03, lambda run: run.last("angular_z") / first(run)),
                 right("kinetic energy / first", 0.1, lambda run: run.last("kinetic") / (first(run) * turn / 2)), kept()]


def ring(**more):
    """A free elastic bar, 24 x 4 x 4 cells, begins with its ends moving apart as its first mode does: the kinetic energy has twice
    the frequency c / 2 L of the bar."""
    h, young, density, long = 0.01, 1e6, 400, 0.24
    slices = [dict(box([x * h, 0, 0], [(x + 1) * h, 4 * h, 4 * h]), velocity=[-0.05 * math.cos(math.pi * (x + 0.5) / 24), 0, 0])
              for x in range(24)]
    period = 2 * long / math.sqrt(young / density)
    out = scene(h, [-6, -4, -4], [36, 12, 12], 1.6 * period, slices, {},
                {"model": "neo_hookean", "density": density, "young": young, "poisson": 0}, gravity=[0, 0, 0], time={"max_step": period / 200},
                **more)
    del out["bodies"]

    def measured(run):
        t, k = run.history["time"], run.history["kinetic"]
        least = [min((value, i) for i, value in enumerate(k) if (m - 0.4) * period / 2 < t[i] < (m + 0.4) * period / 2)[1] for m in (0.5, 2.5)]
        return t[least[1]] - t[least[0]]
    return out, [right("period / (2 L / c)", 0.05, lambda run: measured(run) / period), kept()]


# Flow.

def column(h, low=0.85, **more):
    """A column of sand, 8 x 8 cells, collapses on a rough floor between smooth walls. The time is three times sqrt(H/g) or so; the
    independent program's run-out is 0.80 of the width."""
    wide = 8 * h
    end = 4.43 * math.sqrt(wide / G)
    bodies = {"floor": dict(plane([0, 0, 0], [0, 1, 0]), sticky=True, measure=True), "back": plane([0, 0, 0], [1, 0, 0], friction=0),
              "c": plane([0, 0, 0], [0, 0, 1], friction=0), "d": plane([0, 0, 3 * h], [0, 0, -1], friction=0)}
    out = scene(h, [-6, -4, -4], [48, 20, 11], end, [dict(box([0, 0, 0], [wide, wide, 3 * h]))], bodies,
                {"model": "sand", "young": 5e8 * h, "friction_angle": 30, "cone": "slope"},
                probes=[{"name": "heap", "deposit": {"direction": [1, 0, 0], "above": {"plane": {"point": [0, 0, 0], "normal": [0, 1, 0]}}}}],
                **more)
    return out, [Between("run-out / 0.80 of the width", low, 1.15, lambda run: (run.probes["heap_front"][-1] / wide - 1) / 0.8),
                 at_most("energy gained / m g H", 1e-3, lambda run: run.growth() / (weight(run) * wide)), kept()]


def repose(h):
    """Sand poured onto a rough floor makes a heap; its slope, highest over front, is at most that of friction."""
    end = 1.2
    out = scene(h, [-16, -4, -16], [32, 26, 32], end, [box([-h, 0, -h], [h, h, h])],
                {"floor": dict(plane([0, 0, 0], [0, 1, 0]), sticky=True, measure=True)},
                {"model": "sand", "friction_angle": 30, "cone": "slope"},
                sources=[{"box": {"lower": [-2 * h, 14 * h, -2 * h], "upper": [2 * h, 15 * h, 2 * h]}, "rate": 0.7 * 1600 * 16 * h * h * 0.5,
                          "velocity": [0, -0.5, 0], "until": 0.6}],
                probes=[{"name": "heap", "deposit": {"direction": [1, 0, 0], "above": {"plane": {"point": [0, 0, 0], "normal": [0, 1, 0]}}}}])
    return out, [Between("slope of the heap, degrees (30)", 18, 33,
                         lambda run: math.degrees(math.atan(run.probes["heap_highest"][-1] / run.probes["heap_front"][-1]))), kept()]


def drum(h, turn=1.0, **more):
    """A drum half full of sand turns about z: the centre of mass stands aside by the angle of friction. Its place comes from the
    torque on the drum and the potential energy. It stands too steep, and firn check says so."""
    radius, long, end = 8 * h, 4 * h, 1.2
    hull = {"difference": [box([-radius - 3 * h, -radius - 3 * h, -3 * h], [radius + 3 * h, radius + 3 * h, long + 3 * h]),
                           {"cylinder": {"from": [0, 0, -6 * h], "to": [0, 0, long + 6 * h], "radius": radius}}]}
    ends = {"front": plane([0, 0, 0], [0, 0, 1], friction=0), "back": plane([0, 0, long], [0, 0, -1], friction=0)}
    fill = {"intersection": [{"cylinder": {"from": [0, 0, 0], "to": [0, 0, long], "radius": radius}},
                             box([-radius, -radius, 0], [radius, 0, long])]}
    out = scene(h, [-12, -12, -4], [24, 24, 12], end, [fill],
                dict(ends, drum=dict(hull, pivot=[0, 0, long / 2], spin=[0, 0, turn], friction=0.9, measure=True)),
                {"model": "sand", "friction_angle": 30, "cone": "slope"}, **more)
    aside = lambda run: -run.mean("torque_drum_z", 0.6) / weight(run)
    return out, [Between("angle of the surface, degrees (30)", 25, 52,
                         lambda run: abs(math.degrees(math.atan2(aside(run), -run.mean("potential", 0.6) / weight(run))))), kept(), whole()]


def silo(h):
    """Sand in a narrow silo: friction of the walls carries a part of its weight, and all forces add up to it."""
    wide, high = 6 * h, 24 * h
    bodies = {"floor": floor(friction=0.5)}
    bodies.update({name: dict(wall, measure=True) for name, wall in tank([wide, wide], 0.5).items()})
    out = scene(h, [-4, -4, -4], [14, 34, 14], 0.6, [box([0, 0, 0], [wide, high, wide])], bodies,
                {"model": "sand", "friction_angle": 30, "cone": "slope"})
    names = ["floor", "a", "b", "c", "d"]
    return out, [right("all forces / weight", 0.01, lambda run: -sum(run.mean(f"force_{n}_y", 0.6) for n in names) / weight(run)),
                 Between("floor / weight", 0.3, 0.85, lambda run: -run.mean("force_floor_y", 0.6) / weight(run)), kept()]


def hourglass(h):
    """Sand runs out through a hole into a sink: what is gone is what the sink took, and it comes at an even rate. That is a tenth of
    what it should be (docs/accuracy.md)."""
    wide, high, hole = 8 * h, 14 * h, 4 * h
    low = -6 * h
    plate = {"difference": [box([-4 * h, -2 * h, -4 * h], [wide + 4 * h, 0, wide + 4 * h]),
                            box([(wide - hole) / 2, -3 * h, (wide - hole) / 2], [(wide + hole) / 2, h, (wide + hole) / 2])]}
    bodies = {"plate": dict(plate, friction=0.5, measure=True)}
    bodies.update(tank([wide, wide], 0.3))
    out = scene(h, [-4, -10, -4], [16, 32, 16], 0.7, [box([0, 0, 0], [wide, high, wide])], bodies,
                {"model": "sand", "friction_angle": 30, "cone": "slope"},
                sinks=[box([-4 * h, -10 * h, -4 * h], [wide + 4 * h, low, wide + 4 * h])])

    def rate(run, begin, end):
        at = [min(range(len(run.history["time"])), key=lambda k: abs(run.history["time"][k] - t)) for t in (begin, end)]
        return (run.history["mass"][at[0]] - run.history["mass"][at[1]]) / (end - begin)
    return out, [right("rate, 0.45 to 0.6 s over 0.3 to 0.45 s", 0.2, lambda run: rate(run, 0.45, 0.6) / rate(run, 0.3, 0.45)),
                 Between("part that left", 0.01, 0.9, lambda run: 1 - run.last("mass") / run.history["mass"][0]), whole()]


def dam(h, **water):
    """The model water, a square column: its front at T = t sqrt(2 g / a) = 2.5 or so, where Martin and Moyce measured 2.7."""
    wide = 10 * h
    end = 1.7678 * math.sqrt(wide / G)
    bodies = {"floor": floor(friction=0), "back": plane([0, 0, 0], [1, 0, 0], friction=0),
              "c": plane([0, 0, 0], [0, 0, 1], friction=0), "d": plane([0, 0, 3 * h], [0, 0, -1], friction=0)}
    out = scene(h, [-4, -4, -4], [70, 20, 11], end, [box([0, 0, 0], [wide, wide, 3 * h])], bodies, dict(water, model="water"),
                integrator={"scheme": "explicit"},
                probes=[{"name": "wave", "deposit": {"direction": [1, 0, 0], "above": {"plane": {"point": [0, 0, 0], "normal": [0, 1, 0]}}}}])
    return out, [Between("front / 2.71 widths", 0.9, 1.1, lambda run: run.probes["wave_front"][-1] / wide / 2.71), kept()]


def deep(h, cells, low=0.97, **water):
    """The model water in a tank 4 cells wide: it stands as high as it was filled."""
    wide, high = 4 * h, cells * h
    bodies = {"floor": floor(friction=0)}
    bodies.update(tank([wide, wide]))
    out = scene(h, [-4, -4, -4], [12, cells + 12, 12], 4 * math.sqrt(h), [box([0, 0, 0], [wide, high, wide])], bodies, dict(water, model="water"))
    return out, [Between("height of the centre / half the depth", low, 1.03, lambda run: height(run) / (high / 2)), kept()]


# Snow and water that come in.

def fall(thin, end, until, material, **more):
    """Snow of 1/thin of its density falls at 1.5 m/s onto a layer of a cell, and lies there about as high as its mass says."""
    h, wide, density = 0.02, 0.16, 400 if "model" not in material else 250
    rate = density / thin * wide * wide * 1.5
    out = scene(h, [-8, -4, -8], [24, 22, 24], end, [box([0, 0, 0], [wide, h, wide])], {"floor": floor()}, material,
                sources=[{"box": {"lower": [0, 12 * h, 0], "upper": [wide, 13 * h, wide]}, "rate": rate, "velocity": [0, -1.5, 0],
                          "until": until}], **more)
    depth = lambda run: run.last("mass") / (density * wide * wide)
    return out, [Between("height of the centre / half the depth at rest", 0.6, 1.25, lambda run: height_at_end(run) / (depth(run) / 2)), kept()]


def height_at_end(run):
    return run.mean("potential", 0.95) / weight(run)


def pour(part):
    """Water poured thinly into a tank of 8 x 8 cells with 2 cells of water: it lies as deep as its mass says."""
    h, wide = 0.01, 0.08
    rate, amount = 1000 * 0.06 * 0.06 * 1.0 * part, 0.256
    out = scene(h, [-4, -4, -4], [17, 35, 17], 0.8, [dict(box([0, 0, 0], [wide, 2 * h, wide]), phase="liquid")],
                dict({"floor": floor()}, **tank([wide, wide])), heat={"liquid": {"stiffness": 2e5}},
                sources=[{"box": {"lower": [h, 0.2, h], "upper": [0.07, 0.21, 0.07]}, "rate": rate, "velocity": [0, -1, 0], "phase": "liquid",
                          "until": min(0.6, amount / rate)}])
    depth = lambda run: run.last("mass") / (1000 * wide * wide)
    return out, [right("height of the centre / half the depth", 0.1, lambda run: height_at_end(run) / (depth(run) / 2)), kept()]


def floats(cells):
    """A cube of snow, so many cells wide, under water: a quarter of it and of its tank, between planes of friction 0. In the open
    it would rise by a t^2 / 2 with a = g (1000 - 400) / (400 + 500), its own mass and that of the water around it."""
    h, end = 0.04 / cells, 0.1
    hole = box([-0.02, 0.02, -0.02], [0.02, 0.06, 0.02])
    bodies = {"floor": plane([0, 0, 0], [0, 1, 0], friction=0)}
    bodies.update(tank([0.05, 0.05]))
    wide = math.ceil(0.05 / h) + 8
    out = scene(h, [-4, -4, -4], [wide, 3 * cells + 4, wide], end,
                [dict({"difference": [box([0, 0, 0], [0.05, 0.08, 0.05]), hole]}, phase="liquid"),
                 dict(box([0, 0.02, 0], [0.02, 0.06, 0.02]), sampling="jittered", name="cube")], bodies, {}, heat={"liquid": {"stiffness": 2e5}},
                probes=[{"name": "cube", "point": [0.01, 0.04, 0.01], "radius": 0.01}], output={"probes_every": 1})
    way = G * 600 / 900 * end ** 2 / 2

    def rise(run):
        t, v = run.probes["time"], run.probes["cube_vy"]
        return sum(v[k] * (t[k] - t[k - 1]) for k in range(1, len(t)))
    return out, [Between("rise / that in the open", 0.0, 1.1, lambda run: rise(run) / way), kept()]


def overfull(times):
    """A source that brings so many times what fits."""
    h, wide = 0.02, 0.12
    out = scene(h, [-8, -4, -8], [22, 26, 22], 0.1, [box([0, 0, 0], [wide, h, wide])], {"floor": floor()}, {},
                sources=[{"box": {"lower": [0, 16 * h, 0], "upper": [wide, 17 * h, wide]}, "rate": times * 400 * wide * wide * 1.5,
                          "velocity": [0, -1.5, 0], "until": 0.1}])
    return out, []


# Elastic parts.

def cantilever(thick, long, young, end=1.0, **more):
    """A beam of so many cells held by a sticky wall bends under its weight; the mean sag is that of Euler and Bernoulli with shear."""
    h, density = 0.01, 200
    high, length = thick * h, long * h
    out = scene(h, [-6, -8, -4], [long + 12, thick + 16, thick + 8], end,
                [dict(box([-3 * h, 0, 0], [length, high, high]), sampling="jittered")],
                {"wall": plane([0, 0, 0], [1, 0, 0], sticky=True, measure=True)}, {"model": "corotated", "young": young, "poisson": 0, "density": density}, **more)
    load, inertia, area = density * G * high * high, high ** 4 / 12, high * high
    sag = load * length ** 4 / (20 * young * inertia) + load * length ** 2 / (3 * (young / 2) * area * 5 / 6)
    part = long / (long + 3)
    return out, [right("mean sag / beam theory", 0.25, lambda run: (run.history["potential"][0] / weight(run) - height(run)) / (sag * part)), kept()]


def two_materials():
    """Snow of 100 on snow of 800 kg/m^3: each keeps its density at the border."""
    h = 0.02
    out = scene(h, [-4, -4, -4], [18, 24, 18], 0.2,
                [dict(box([0, 0, 0], [0.2, 0.1, 0.2]), material="heavy"), dict(box([0, 0.1, 0], [0.2, 0.2, 0.2]), material="light")],
                {"floor": floor()}, materials={"heavy": {"density": 800}, "light": {"density": 100}}, output={"probes_every": 1},
                probes=[{"name": "low", "inside": box([0.04, 0.08, 0.04], [0.16, 0.1, 0.16])},
                        {"name": "high", "inside": box([0.04, 0.1, 0.04], [0.16, 0.12, 0.16])}])
    return out, [right("heavy at the border / 800", 0.05, lambda run: run.probes["low_density"][0] / 800),
                 right("light at the border / 100", 0.05, lambda run: run.probes["high_density"][0] / 100)]


def collision(**more):
    """Two equal balls meet: the total momentum stays, and what one does the other does."""
    h = 0.01
    ball = lambda x, v: {"sphere": {"center": [x, 0, 0], "radius": 4 * h}, "velocity": [v, 0, 0], "sampling": "sequence", "particles": 1600}
    out = scene(h, [-15, -8, -8], [30, 16, 16], 0.03, [ball(-0.06, 3), ball(0.06, -3)], {}, {}, gravity=[0, 0, 0], **more)
    del out["bodies"]
    return out, [at_most("momentum / m v", 1e-10, lambda run: abs(speed(run)) / 3),
                 at_most("energy gained / first", 1e-3, lambda run: run.growth() / run.energies()[0]), kept()]


def far(origin):
    """A block at rest that far from the origin."""
    h = 0.01
    at = lambda p: [origin + p[0], p[1], origin + p[2]]
    out = scene(h, [0, -4, 0], [21, 20, 21], 0.2, [box(at([8 * h, 0, 8 * h]), at([13 * h, 6 * h, 13 * h]))], {"floor": floor()}, {})
    out["domain"]["lower"] = at([0, -4 * h, 0])
    return out, [right("force on the floor / weight", 0.01, lambda run: -run.mean("force_floor_y", 0.6) / weight(run)), kept(), whole()]


def piston(material, h, **more):
    """A block in a tank is pressed by a plate: the work of the plate is what the snow has and lost, nothing is created."""
    bodies = {"floor": floor(), "plate": dict(box([-2 * h, 6 * h, -2 * h], [7 * h, 9 * h, 7 * h]), velocity=[0, -0.5, 0], measure=True)}
    bodies.update(tank([5 * h, 5 * h]))
    out = scene(h, [-4, -4, -4], [13, 18, 13], 3 * h / 0.5, [box([0, 0, 0], [5 * h, 6 * h, 5 * h])], bodies, material, **more)
    return out, [at_most("energy gained / work", 1e-3, lambda run: run.growth() / run.last("work_bodies")), kept(), whole()]


# Bodies of other shapes.

CUBE = """v -1 -1 -1
v 1 -1 -1
v 1 1 -1
v -1 1 -1
v -1 -1 1
v 1 -1 1
v 1 1 1
v -1 1 1
f 1 3 2
f 1 4 3
f 5 6 7
f 5 7 8
f 1 2 6
f 1 6 5
f 4 7 3
f 4 8 7
f 1 5 8
f 1 8 4
f 2 3 7
f 2 7 6
"""


def rest_on(body, h, files=None, top=0.0, end=0.3):
    """The block of `rest` on another floor."""
    out = scene(h, [-10, -8, -10], [25, 26, 25], end, [box([0, top, 0], [5 * h, top + 6 * h, 5 * h])],
                {"floor": dict(body, friction=0.5, measure=True)}, {})
    return out, [right("force on the floor / weight", 0.01, lambda run: -run.mean("force_floor_y", 0.6) / weight(run)),
                 Between("centre sinks, cells", -0.05, 0.3, lambda run: (run.history["potential"][0] / weight(run) - height(run)) / h),
                 at_most("energy gained / m g H", 1e-6, lambda run: run.growth() / (weight(run) * 6 * h)), kept(), whole()], files or {}


def slide_on(body, h, degrees, friction, end=0.15, files=None):
    """A block on a body that is itself a slope of so many degrees, falling along +x."""
    angle = math.radians(degrees)
    turned = {"center": [0, 0, 0], "size": [8 * h, 5 * h, 6 * h], "rotate": {"axis": [0, 0, 1], "degrees": -degrees}}
    turned["center"] = [2.5 * h * math.sin(angle), 2.5 * h * math.cos(angle), 0]
    wanted = G * (math.sin(angle) - friction * math.cos(angle))
    out = scene(h, [-20, -26, -10], [60, 46, 20], end, [{"box": turned}], {"floor": dict(body, friction=friction, measure=True)}, {})
    along = lambda run: speed(run) * math.cos(angle) - speed(run, "y") * math.sin(angle)
    return out, [right("speed along the slope", 0.05, lambda run: along(run) / (wanted * end)), kept()], files or {}


SKELETON = """spacing: %g
rate: 40
end: 0.5
bones:
  - name: log
    from: [-0.12, 0, 0]
    to: [0.12, 0, 0]
    radius: 0.05
    motion: {keys: [{time: 0}, {time: 0.4, move: [0, 0.05, 0]}, {time: 0.5, move: [0, 0.05, 0]}]}
"""


def lifted(h):
    """A plate of snow lies across a log whose level set moves up by 0.05 m: the snow goes along, and the work is its potential energy."""
    out = scene(h, [-16, -10, -16], [32, 32, 32], 0.5, [box([-4 * h, 0.05, -4 * h], [4 * h, 0.05 + 4 * h, 4 * h])],
                {"log": {"levelset": {"file": "log.yml"}, "sticky": True, "measure": True}}, {"kind": "icy"})
    return out, [right("rise / 0.05 m", 0.1, lambda run: (run.last("potential") - run.history["potential"][0]) / weight(run) / 0.05),
                 right("force / weight in the end", 0.05, lambda run: -run.mean("force_log_y", 0.85) / weight(run)), kept()], {"log.yml": SKELETON % h}


def copies(count):
    """So many copies of a block that falls: each has the same share of everything."""
    h = 0.01
    out = scene(h, [-8, -4, -8], [21, 20, 21], 0.05, [dict(box([0, 2 * h, 0], [5 * h, 7 * h, 5 * h]), velocity=[0, -1, 0])], {"floor": floor()}, {})
    out["domain"]["copies"] = count
    out["domain"]["slab_axis"] = "x"
    mass = 400 * (5 * h) ** 3
    return out, [right("mass / copies", 1e-9, lambda run: run.last("mass") / (count * mass)),
                 at_most("energy gained / first kinetic", 1e-3, lambda run: run.growth() / (0.5 * count * mass)), kept()]


def sink():
    """A block falls through a sink: all of it is counted out."""
    h = 0.01
    out = scene(h, [-8, -12, -8], [32, 30, 21], 0.2,
                [dict(box([0, 6 * h, 0], [5 * h, 11 * h, 5 * h]), velocity=[0, -2, 0]), box([14 * h, 0, 0], [16 * h, 2 * h, 2 * h])],
                {"floor": dict(box([9 * h, -4 * h, -8 * h], [22 * h, 0, 10 * h]), measure=True)}, {},
                sinks=[box([-8 * h, -8 * h, -8 * h], [7 * h, 0, 13 * h])])
    return out, [right("mass left / that of the crumb", 1e-9, lambda run: run.last("mass") / (400 * 8 * h ** 3)),
                 right("energy out / that of the block at the sink", 0.02, lambda run: run.last("energy_out") / (400 * (5 * h) ** 3 * (2.0 + G * 8.5 * h)))]


def rod(cells):
    """A rod of snow touches a warm wall: the heat of a half space."""
    h, conductivity = 0.01, 3360.0
    out = scene(h, [-4, -4, -4], [32, 12, 12], 0.5, [dict(box([0, 0, 0], [0.2, 0.04, 0.04]), temperature=253.15, conductivity=conductivity)],
                {"wall": plane([0, 0, 0], [1, 0, 0], temperature=263.15)}, gravity=[0, 0, 0], heat={"mix": 1, "contact_cells": cells})
    exact = 2 * 400 * 2100 * 10 * 0.0016 * math.sqrt(conductivity / (400 * 2100) * 0.5 / math.pi)
    # A layer much thinner than a cell conducts too much: the grid knows no gradient within a cell.
    return out, [right("heat / exact", 0.1 if cells >= 0.5 else 0.25, lambda run: run.last("heat_in") / exact)]


LONG_STEPS = "friction on bodies is too strong"
SNOW = ["reference", "powder", "chunky", "icy", "muddy", "lower_hardening", "higher_hardening"]
MATERIALS = dict({kind: {"kind": kind} for kind in SNOW}, corotated={"model": "corotated"}, neo_hookean={"model": "neo_hookean"},
                 sand={"model": "sand"}, cam_clay={"model": "cam_clay"}, cold_dense={"kind": "cold_dense"},
                 sliding_slab={"kind": "sliding_slab"}, von_mises={"model": "von_mises"})
EXPLICIT = {"integrator": {"scheme": "explicit"}}
APIC = {"transfer": {"scheme": "apic"}}
SCHEMES = {"": {}, ".apic": APIC, ".explicit": EXPLICIT, ".trapezoidal": {"integrator": {"beta": 0.5}}}


def text(h):
    return f"{1000 * h:g}mm"


def table():
    for name, material in MATERIALS.items():
        for h in (0.002, 0.005, 0.01, 0.05, 0.5):
            add(f"rest.{name}.{text(h)}", rest(material, h), default=(name, h) in [("reference", 0.005), ("sand", 0.005), ("von_mises", 0.01), ("reference", 0.002)])
        for h in (0.005, 0.02):
            add(f"tank.{name}.{text(h)}", rest(material, h, walls=True), default=(name, h) == ("reference", 0.005))
        for h in (0.0025, 0.01, 0.05):
            for fall_speed, friction in ((1, 0.3), (2, 0), (5, 1)):
                add(f"drop.{name}.{text(h)}.{fall_speed}", drop(material, h, fall_speed, friction),
                    default=(name, h, fall_speed) in [("cam_clay", 0.01, 5), ("von_mises", 0.01, 2)])
        if name != "sand":  # which is no block
            for h in (0.004, 0.02):
                # In these sound crosses 16 cells per step.
                stiff = h < 0.005 and name in ("cam_clay", "sliding_slab", "von_mises")
                add(f"slide.{name}.{text(h)}", slide(material, h, low=0.75 if stiff else 0.97), warns=LONG_STEPS if stiff else None)
            add(f"stick.{name}", slide(material, 0.01, friction=0.8))
        add(f"piston.{name}", piston(material, 0.01), default=name == "cam_clay")
    for scheme, more in SCHEMES.items():
        add(f"slide.snow.1mm{scheme}", slide({}, 0.001, end=0.05, **more))
        add(f"slide.elastic.10mm{scheme}", slide({"model": "neo_hookean", "young": 1e5}, 0.01, end=0.2, **more), default=scheme == "")
        add(f"conveyor{scheme}", conveyor({}, 0.01, **more), default=scheme == "")
        add(f"collision{scheme}", collision(**more))
    add("slide.snow.0.5mm", slide({}, 0.0005, end=0.15, low=0.0), warns=LONG_STEPS)
    whole = {"integrator": {"friction": "whole"}, "time": {"max_step": 5e-4}}  # at any size of cells: c dt/h of 16 and 20
    add("slide.von_mises.4mm.whole", slide({"model": "von_mises"}, 0.004, **whole), default=True)
    add("slide.snow.0.5mm.whole", slide({}, 0.0005, end=0.15, **whole))
    add("stick.von_mises.4mm.whole", slide({"model": "von_mises"}, 0.004, friction=0.8, **whole))
    for name, material in (("reference", {}), ("icy", {"kind": "icy"}), ("chunky", {"kind": "chunky"}), ("cam_clay", {"model": "cam_clay"})):
        add(f"scrape.{name}.whole", scrape(material, 0.01, 8, 3, **whole), default=name == "reference")
    for below in (3, 4):
        add(f"settle.100mm.{below}", settle(0.1, below), default=True)
        add(f"settle.10mm.{below}", settle(0.01, below))
    for degrees, cells in ((10, 10), (20, 10), (20, 5)):
        add(f"roll.{degrees}.{cells}", roll(cells, degrees, 0.25, low=-0.1), warns="keeps what is round from rolling")
        add(f"roll.{degrees}.{cells}.gap", roll(cells, degrees, 0.25, low=0.9 if cells >= 10 else 0.8, integrator={"contact": "gap"}),
            warns=None if cells >= 10 else "rolls too slowly")
    flip = {"transfer": {"scheme": "flip"}}
    for h in (0.002, 0.01, 0.1, 1.0):
        stiff = {"warns": "materials.m.young"} if h == 1.0 else {}
        add(f"column.{text(h)}", column(h), **stiff)
        add(f"column.{text(h)}.flip", column(h, low=0.3, **flip), warns="flip stops sand too soon")
    add("repose", repose(0.01))
    add("drum", drum(0.01), warns="stands too steep")
    add("silo", silo(0.01))
    add("hourglass", hourglass(0.01))
    add("dam.10mm", dam(0.01))
    add("dam.1m", dam(1.0), warns="bulk_modulus")
    add("dam.1m.stiff", dam(1.0, bulk_modulus=1e7))
    add("deep_water.1m", deep(1.0, 12, low=0.7), warns="bulk_modulus")
    add("deep_water.1m.stiff", deep(1.0, 12, bulk_modulus=1e7))
    add("deep_water.10mm", deep(0.01, 12))
    for name, material in (("snow", {}), ("clay", {"model": "cam_clay"})):
        add(f"fall.{name}.20", fall(20, 1.5, 1.0, material))
    add("fall.snow.20.apic", fall(20, 1.5, 1.0, {}, transfer={"scheme": "apic", "force": "mls"}))
    add("fall.snow.100", fall(100, 3.0, 2.5, {}))
    add("pour.0.05", pour(0.05))
    add("pour.0.33", pour(0.33))
    for cells in (4, 8):
        add(f"float.{cells}", floats(cells), warns="rises and sinks too slowly")
    add("overfull", overfull(4), warns="source")
    add("cantilever.4", cantilever(4, 24, 3e6))
    add("cantilever.2", cantilever(2, 12, 1e6))
    add("two_materials", two_materials())
    add("far.1000m", far(1000.0))
    add("rod.1", rod(1))
    add("rod.0.5", rod(0.5), default=True)
    add("rod.0.1", rod(0.1))
    mesh = {"mesh": {"file": "cube.obj", "scale": 0.05, "position": [0.025, -0.05, 0.025]}}
    add("floor.mesh", rest_on(mesh, 0.01, {"cube.obj": CUBE}), default=True)
    terrain = {"heightfield": {"form": "slope", "center": [0.025, 0, 0.025], "size": [0.2, 0.06, 0.2], "height": 0.0}}
    add("floor.heightfield", rest_on(terrain, 0.01))
    middle = [-0.05 * math.sin(math.radians(25)) + 0.1 * math.cos(math.radians(25)),
              -0.05 * math.cos(math.radians(25)) - 0.1 * math.sin(math.radians(25)), 0]
    turned = {"axis": [0, 0, 1], "degrees": -25}
    add("slope.box", slide_on({"box": {"center": middle, "size": [0.5, 0.1, 0.2], "rotate": turned}}, 0.01, 25, 0.2))
    add("slope.mesh", slide_on({"mesh": {"file": "cube.obj", "scale": 0.2, "position": [middle[0] - 0.15 * math.sin(math.radians(25)),
                               middle[1] - 0.15 * math.cos(math.radians(25)), 0], "rotate": turned}}, 0.01, 25, 0.2, files={"cube.obj": CUBE}))
    high = 0.4 * math.tan(math.radians(25))
    hill = {"heightfield": {"form": "slope", "center": [0, -high / 2, 0], "size": [0.4, 0.06, 0.2], "height": high,
                            "rotate": {"axis": [0, 1, 0], "degrees": 180}}}
    add("slope.heightfield", slide_on(hill, 0.01, 25, 0.2))
    add("floor.deforming", lifted(0.01), default=True)
    for scheme, more in (("", APIC), (".explicit", dict(APIC, **EXPLICIT))):
        add(f"spin{scheme}", spin(**more), default=scheme == "")
        add(f"ring{scheme}", ring(**more), default=scheme == "")
    add("copies", copies(2))
    add("sink", sink(), default=True)


table()
