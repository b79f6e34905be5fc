"""What docs/python.md promises beside its examples; run in a folder with ball.yml (tests/cli/test_install.sh)."""

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
sim.close()

# A run that is left without an end, as a kill would, goes on from its checkpoint.
scene = firn.Scene("ball.yml", output__folder="out/killed")
half = firn.Simulation(scene, write=True)
half.advance_to_frame(1)
half.step()
half.close()
with firn.Simulation(scene, write=True, restart="auto") as rest:
    assert rest.frame == 1 and rest.time < scene.end
    rest.run(progress=False)
