"""Firn from Python: simulations through libfirn, and readers of runs.

    import firn

    scene = firn.Scene("snowball.yml", time__end=0.2)
    with firn.Simulation(scene) as sim:
        for frame in sim:
            print(frame, sim.time, sim.particles.position.mean(axis=0))

    run = firn.open_run("out/snowball")
    print(run.history["kinetic"], run.frames[-1].velocity)

docs/python.md is the tutorial.
"""

from ._library import (DamagedError, Diverged, Error, FormatError, InputError, LimitError, MachineError,
                       StaleError, Stopped)
from .runs import Run, State, open_run
from .simulation import Body, Particles, Scene, Simulation, log, version

__all__ = ["Body", "DamagedError", "Diverged", "Error", "FormatError", "InputError", "LimitError",
           "MachineError", "Particles", "Run", "Scene", "Simulation", "StaleError", "State", "Stopped", "log",
           "open_run", "version"]
__version__ = "0.2.0"
