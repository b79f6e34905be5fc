"""What docs/python.md promises beside its examples; run in a folder with ball.yml (tests/cli/test_install.sh).

With the word `ranks` it is for two ranks, and ends all of them with an exception of one.
"""

import sys
from pathlib import Path

import firn
import numpy as np


def raises(kind, act, text):
    try:
        act()
    except kind as problem:
        assert text in str(problem), problem
        return
    raise SystemExit(f"no {kind.__name__} with '{text}'")


def write_in_place(sim):
    sim.particles.velocity[0] = 1.0


def complain(sim):
    raise RuntimeError("mine")


def on_ranks():
    from mpi4py import MPI

    one = MPI.COMM_WORLD.rank == 1
    with firn.Simulation(firn.Scene("ball.yml", output__budget=False)) as sim:
        sim.after_step(lambda sim: complain(sim) if one else None)
        raises(RuntimeError if one else firn.Stopped, sim.step, "mine" if one else "hook")
        sim.after_step(None)
        sim.particles.add(position=[] if one else [[0.0, 0.05, 0.0]], mass=1e-5)
        sim.commit()
        sim.step()
        sim.accelerate(lambda x, time: complain(x) if one else 0 * x)
        raises(RuntimeError if one else firn.InputError, sim.step, "mine" if one else "acceleration")
    with firn.Simulation(firn.Scene("ball.yml")) as sim:
        if one:
            raise RuntimeError("all ranks end with this")
        sim.run(progress=False)


if sys.argv[1:] == ["ranks"]:
    on_ranks()
    raise SystemExit("an exception of one rank did not end the other")

sim = firn.Simulation(firn.Scene("ball.yml"))
raises(ValueError, lambda: write_in_place(sim), "read-only")
sim.particles.velocity = 0.5 * sim.particles.velocity
raises(firn.InputError, sim.step, "commit")
sim.commit()
sim.step()
assert abs(sim.particles.velocity[:, 0].mean() - 4.0) < 0.1
raises(AttributeError, lambda: sim.particles.charge, "velocity")
raises(KeyError, lambda: sim.bodies["wall"], "plate")
raises(firn.InputError, lambda: firn.Scene("ball.yml", time__end=-1), "time.end")
raises(firn.InputError, lambda: sim.accelerate(lambda x, time: 0 * x), "budget")
sim.before_step(complain)
raises(RuntimeError, sim.step, "mine")
sim.before_step(lambda sim: True)
raises(firn.Stopped, sim.step, "hook")
sim.before_step(None)
count = sim.info.particles
sim.particles.remove(np.arange(len(sim.particles)) < 10)
sim.particles.add(position=[[0.0, 0.05, 0.0]], mass=[1e-5])
sim.commit()
assert sim.info.particles == count - 9, (count, sim.info.particles)
density, velocity = sim.sample([[0.06, 0, 0], [-0.09, 0.07, 0.07]])
assert density[0] > 200 and density[1] == 0.0, density
count = len(sim.particles)
sim.particles.add(position=[[0.0, 0.05, 0.0]], mass=[1e-5])
sim.particles.remove(np.zeros(count, bool))  # flags of those that were there before
sim.commit()
raises(firn.InputError, lambda: sim.particles.add(mass=[1e-5]), "position")
plate = sim.bodies["plate"]
sim.before_step(lambda sim: sim.close())
raises(firn.InputError, sim.step, "hook")
sim.close()
for act in (lambda: sim.time, sim.step, sim.stop, sim.commit, lambda: sim.particles.JP, lambda: plate.force):
    raises(firn.InputError, act, "closed")

# A hook may stop the simulation, and numbers of numpy and paths are words of a scene.
scene = firn.Scene("ball.yml", output__folder=Path("out") / "héllo", snow__0__velocity=np.float32([8, 0, 0]))
assert scene.output == "out/héllo", scene.output
sim = firn.Simulation(scene)
sim.after_step(lambda sim: sim.stop())
assert sum(1 for _ in sim.steps()) <= 2

# A table that a run is writing, and one that it has only begun.
folder = Path("out/table")
folder.mkdir(parents=True)
(folder / "history.csv").write_text("")
assert firn.open_run(folder).history == {}
(folder / "history.csv").write_text("step,time\n0,0.5\n1,0.")
assert list(firn.open_run(folder).history.time) == [0.5]

# A run that is left without an end, as a kill would, goes on from its checkpoint.
scene = firn.Scene("ball.yml", output__folder="out/killed")
half = firn.Simulation(scene, write=True)
half.advance_to_frame(1)
half.step()
half.close()
with firn.Simulation(scene, write=True, restart="auto") as rest:
    assert rest.frame == 1 and rest.time < scene.end
    rest.run(progress=False)

# What is open at the end of the program is closed before MPI ends.
left = firn.Simulation(scene)
left.step()
