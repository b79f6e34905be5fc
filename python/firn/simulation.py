"""Scenes and simulations."""

from __future__ import annotations

import ctypes
import json
import os
import weakref
from ctypes import POINTER, byref, c_double, c_ubyte, c_void_p
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence, Union

import numpy as np

from . import _library
from ._library import call, library

_TYPES = (np.float64, np.uint64, np.uint32)


class Scene:
    """What to simulate.

    `source` is the path of a scene file, or a scene as a dictionary. Overrides are those of `firn run --set`:
    `Scene("plow.yml", time__end=0.5)` or `Scene("plow.yml", **{"time.end": 0.5})`; two underscores are a dot.
    """

    def __init__(self, source: Union[str, Mapping[str, Any]], name: str = "scene.yml", **overrides: Any):
        if isinstance(source, Mapping):
            text = json.dumps(source, default=_plain)  # JSON is YAML
        else:
            name = str(source)
            with open(source, encoding="utf-8") as file:
                text = file.read()
        words = [f"{key.replace('__', '.')}={_yaml(value)}" for key, value in overrides.items()]
        self._handle = c_void_p()
        call("firn_scene_parse", byref(self._handle), name.encode(), text.encode(), _library.texts(words),
             len(words))
        self._close = weakref.finalize(self, library().firn_scene_destroy, byref(self._handle))

    @property
    def name(self) -> str:
        return library().firn_scene_name(self._handle).decode()

    @property
    def output(self) -> str:
        """The folder of its run."""
        return library().firn_scene_output(self._handle).decode()

    @property
    def resolved(self) -> str:
        """The scene as YAML, with all defaults and overrides."""
        return library().firn_scene_resolved(self._handle).decode()

    @property
    def end(self) -> float:
        """The end of the scene (s)."""
        return library().firn_scene_end(self._handle)

    @property
    def frame_rate(self) -> float:
        """Frames per second of simulated time (1/s)."""
        return library().firn_scene_frame_rate(self._handle)

    @property
    def last_frame(self) -> int:
        return library().firn_scene_last_frame(self._handle)


def _plain(value: Any) -> Any:
    """A value that JSON cannot express, as one that it can."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"a scene holds numbers, words, lists and maps, not {type(value).__name__}")


def _yaml(value: Any) -> str:
    return json.dumps(value, default=_plain)


class Particles:
    """This rank's particles. Fields are attributes under their names in files: position, velocity, mass, FE...

    Reading a field gives a copy of its present values that cannot be written to. Assigning a whole array
    changes the field; `Simulation.commit()` then makes all changes part of the state.
    """

    def __init__(self, sim: "Simulation"):
        object.__setattr__(self, "_sim", weakref.proxy(sim))
        object.__setattr__(self, "_before", None)  # how many there were when uncommitted changes began

    def _field(self, name: str) -> _library.Field:
        field = _library.Field()
        call("firn_sim_find_field", self._sim._handle, name.encode(), byref(field))
        return field

    def __len__(self) -> int:
        return self._field("id").count

    @property
    def fields(self) -> dict[str, str]:
        """Names and units."""
        out = {}
        for k in range(library().firn_sim_field_count(self._sim._handle)):
            field = _library.Field()
            call("firn_sim_get_field", self._sim._handle, k, byref(field))
            out[field.name.decode()] = field.unit.decode()
        return out

    def __getitem__(self, name: str) -> np.ndarray:
        field = self._field(name)
        kind = np.dtype(_TYPES[field.type])
        out = np.empty((field.count, field.components), kind)
        for c in range(field.components if field.count else 0):
            raw = (ctypes.c_char * (field.count * kind.itemsize)).from_address(field.array[c])
            out[:, c] = np.frombuffer(raw, kind)
        shape = {1: (-1,), 3: (-1, 3), 9: (-1, 3, 3)}[field.components]
        out = out.reshape(shape) if field.count else out.reshape((0,) + shape[1:])
        out.flags.writeable = False
        return out

    def __setitem__(self, name: str, values: Any) -> None:
        rows = self._rows(name, values, self._field(name).count)
        self._begin()
        call("firn_sim_write", self._sim._handle, name.encode(), rows.ctypes.data_as(c_void_p))

    def _rows(self, name: str, values: Any, count: int) -> np.ndarray:
        field = self._field(name)
        shape = {1: (count,), 3: (count, 3), 9: (count, 3, 3)}[field.components]
        if count == 0:
            return np.empty(shape, _TYPES[field.type])
        return np.ascontiguousarray(np.broadcast_to(np.asarray(values, _TYPES[field.type]), shape))

    def _begin(self) -> None:
        if self._before is None:
            object.__setattr__(self, "_before", len(self))

    def __getattr__(self, name: str) -> np.ndarray:
        self._sim._handle  # a closed simulation is not a missing field
        try:
            return self[name]
        except _library.InputError as problem:
            raise AttributeError(str(problem)) from None

    def __setattr__(self, name: str, values: Any) -> None:
        self[name] = values

    def add(self, **fields: Any) -> None:
        """Adds particles of this rank; position and mass are required. Every rank calls it, also without rows."""
        if "position" not in fields:
            raise _library.InputError("new particles need position and mass")
        count = len(np.asarray(fields["position"]))
        rows = {name: self._rows(name, values, count) for name, values in fields.items()}
        arrays = (c_void_p * len(rows))(*[array.ctypes.data for array in rows.values()])
        self._begin()
        call("firn_sim_add", self._sim._handle, count, len(rows), _library.texts(list(rows)), arrays)

    def remove(self, which: Any) -> None:
        """Removes the particles of this rank whose flag is true. There is one flag for each particle that existed
        before add(). Every rank calls it."""
        self._begin()
        flags = np.asarray(which, bool)
        if flags.shape == (len(self),):
            flags = flags[:self._before]
        flags = np.ascontiguousarray(np.broadcast_to(flags, (self._before,)), np.uint8)
        call("firn_sim_remove", self._sim._handle, flags.ctypes.data_as(POINTER(c_ubyte)))


class Body:
    """A body of the scene: where it is, and what the snow does to it."""

    def __init__(self, sim: "Simulation", name: str):
        self._sim = sim  # a weak reference
        self.name = name
        self._index = library().firn_sim_find_body(sim._handle, name.encode())
        if self._index < 0:
            raise KeyError(f"the scene has no body '{name}'; it has {', '.join(sim.bodies)}")

    def _state(self) -> _library.BodyState:
        state = _library.BodyState()
        call("firn_sim_get_body", self._sim._handle, self._index, byref(state))
        return state

    def _load(self) -> _library.BodyState:
        state = self._state()
        if not state.measured:
            raise _library.InputError(f"bodies.{self.name}: not measured; the scene must say measure: true")
        return state

    @property
    def present(self) -> bool:
        """Whether the body is there at this time."""
        return bool(self._state().present)

    @property
    def origin(self) -> np.ndarray:
        """The position of its pivot (m)."""
        return np.array(self._state().origin)

    @property
    def turn(self) -> np.ndarray:
        """Its rotation since time 0, a 3 x 3 matrix."""
        return np.array(self._state().turn).reshape(3, 3)

    @property
    def velocity(self) -> np.ndarray:
        """The velocity of its pivot (m/s)."""
        return np.array(self._state().velocity)

    @property
    def spin(self) -> np.ndarray:
        """Its angular velocity (rad/s)."""
        return np.array(self._state().spin)

    @property
    def force(self) -> np.ndarray:
        """The force of the snow on the body (N), mean of the last step."""
        return np.array(self._load().force)

    @property
    def torque(self) -> np.ndarray:
        """The torque of the snow about the pivot (N m), mean of the last step."""
        return np.array(self._load().torque)

    @property
    def area(self) -> float:
        """The area in contact (m^2), mean of the last step."""
        return self._load().area

    def move(self, velocity: Sequence[float], spin: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
        """Moves it with this velocity of its pivot (m/s) and spin (rad/s) until the next call. Same on all ranks."""
        call("firn_sim_move_body", self._sim._handle, self._index, (c_double * 3)(*velocity),
             (c_double * 3)(*spin))


class Bodies(Mapping):
    """The bodies of a simulation by name."""

    def __init__(self, sim: "Simulation"):
        self._sim = weakref.proxy(sim)

    def __len__(self) -> int:
        return library().firn_sim_body_count(self._sim._handle)

    def __iter__(self) -> Iterator[str]:
        for k in range(len(self)):
            yield library().firn_sim_body_name(self._sim._handle, k).decode()

    def __getitem__(self, name: str) -> Body:
        return Body(self._sim, name)


class Simulation:
    """A simulation of a scene.

    `comm` is an mpi4py communicator; None is all ranks of the program, without mpi4py. With `write=True` it is
    a run as `firn run` makes it, with frames, checkpoints and history in the scene's folder, and `restart`
    ("auto", or a checkpoint) continues one. Methods are collective, except those that only read.
    """

    def __init__(self, scene: Union[Scene, str, Mapping[str, Any]], comm: Any = None, *, write: bool = False,
                 restart: Optional[str] = None, force: bool = False, threads: int = 0, bind: bool = False,
                 isa: Optional[str] = None):
        self.scene = scene if isinstance(scene, Scene) else Scene(scene)
        self._pointer = c_void_p()
        self._alone = _library.ranks(comm) == 1
        self._stepping = False
        self._raised: Optional[BaseException] = None
        self._hooks: dict[str, Callable] = {}
        self._kept: dict[str, Any] = {}
        options = _library.Options(1, int(write), restart.encode() if restart else None, int(force), threads,
                                   int(bind), isa.encode() if isa else None)
        call("firn_sim_create", byref(self._pointer), _library.communicator(comm), self.scene._handle,
             byref(options))
        self._close = weakref.finalize(self, _destroy, self._pointer, self.scene)
        self.particles = Particles(self)
        self.bodies = Bodies(self)

    @property
    def _handle(self) -> c_void_p:
        if not self._pointer:
            raise _library.InputError("the simulation is closed")
        return self._pointer

    def close(self) -> None:
        """Frees the simulation; so does the end of a `with` block. Collective."""
        if self._stepping:
            raise _library.InputError("a hook may not close its simulation")
        self._close()

    def __enter__(self) -> "Simulation":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        # On several ranks an exception may be of one alone: it must come out, not wait in close() for others.
        if kind is None or self._alone:
            self.close()

    # --- where it is ---

    @property
    def info(self) -> _library.Info:
        info = _library.Info()
        library().firn_sim_get_info(self._handle, byref(info))
        return info

    @property
    def time(self) -> float:
        """The time that was reached (s)."""
        return self.info.time

    @property
    def frame(self) -> int:
        """The last frame that was reached."""
        return self.info.frame

    @property
    def over(self) -> bool:
        """Whether the scene's end was reached or a stop was requested."""
        info = self.info
        return bool(info.over or info.stopping)

    # --- steps ---

    def _step(self, name: str, *arguments: Any) -> None:
        handle, outer = self._handle, self._stepping  # a hook may write
        self._stepping = True
        try:
            call(name, handle, *arguments)
        except _library.Error as problem:
            if outer or self._raised is None:
                raise
            raise self._raised from problem
        finally:
            self._stepping = outer
            if not outer:
                self._raised = None

    def step(self) -> float:
        """One time step; returns its length (s)."""
        self._step("firn_sim_step")
        return self.info.last_step

    def advance_to_frame(self, frame: int) -> None:
        self._step("firn_sim_advance_to_frame", frame)

    def advance_to_time(self, time: float) -> None:
        """Advances to a time (s). Between two frames the last step is cut to end there."""
        self._step("firn_sim_advance_to_time", time)

    def steps(self) -> Iterator[float]:
        """Steps to the scene's end; yields the time after each."""
        while not self.over:
            self.step()
            yield self.time

    def frames(self) -> Iterator[int]:
        """Advances to the scene's end; yields the frame that it is at and each one after it."""
        if self.info.on_frame:
            yield self.frame
        while not self.over:
            self.step()
            if self.info.on_frame:
                yield self.frame

    __iter__ = frames

    def run(self, progress: Optional[bool] = None) -> None:
        """Advances to the scene's end, and ends the run if it writes. The progress bar is shown in a terminal or a
        notebook unless `progress` says otherwise."""
        from .progress import Progress

        with Progress(self.scene.end, progress) as bar:
            for time in self.steps():
                bar.show(time)
        self.end()

    def end(self) -> None:
        """Ends a run that writes: a checkpoint if it is not at the scene's end, and run.json."""
        self._step("firn_sim_end")

    def stop(self) -> None:
        """Asks the simulation to stop after the next step, on all ranks. Any rank may call it."""
        library().firn_sim_stop(self._handle)

    def write_frame(self) -> None:
        self._step("firn_sim_write_frame")

    def write_checkpoint(self) -> None:
        self._step("firn_sim_write_checkpoint")

    # --- the state ---

    def commit(self) -> None:
        """Makes changes of particles part of the state: checks them, re-sorts, and moves them to their
        ranks."""
        call("firn_sim_commit", self._handle)
        object.__setattr__(self.particles, "_before", None)

    def sample(self, points: Any) -> tuple[np.ndarray, np.ndarray]:
        """Density (kg/m^3) and velocity (m/s) of the snow as the grid sees it, at N x 3 points (m)."""
        points = np.ascontiguousarray(points, np.float64).reshape(-1, 3)
        density, velocity = np.zeros(len(points)), np.zeros_like(points)
        address = POINTER(c_double)
        call("firn_sim_sample", self._handle, len(points), points.ctypes.data_as(address),
             density.ctypes.data_as(address), velocity.ctypes.data_as(address))
        return density, velocity

    # --- hooks ---

    def before_step(self, hook: Optional[Callable[["Simulation"], Any]]) -> Any:
        """Calls hook(sim) before each step; None: no more. Usable as a decorator. A true value that it returns
        stops the step with firn.Stopped."""
        return self._set_hook("before", hook)

    def after_step(self, hook: Optional[Callable[["Simulation"], Any]]) -> Any:
        """Calls hook(sim) after each step, in the same way."""
        return self._set_hook("after", hook)

    def _set_hook(self, when: str, hook: Optional[Callable]) -> Any:
        self._hooks[when] = hook
        made = [self._make_hook(self._hooks.get(k)) for k in ("before", "after")]
        library().firn_sim_set_hooks(self._handle, made[0], made[1], None)
        self._kept["hooks"] = made  # ctypes must not free them while the library has them
        return hook

    def _make_hook(self, hook: Optional[Callable]) -> Any:
        if hook is None:
            return _library.Hook()
        me = weakref.proxy(self)

        def call_it(_context: Any, _sim: Any) -> int:
            try:
                return int(bool(hook(me)))
            except BaseException as raised:  # noqa: BLE001: it is raised again after the step
                me._raised = raised
                return 1

        return _library.Hook(call_it)

    def accelerate(self, give: Optional[Callable], on: str = "nodes") -> None:
        """An acceleration in addition to gravity: give(x, time) returns N x 3 (m/s^2) at N x 3 points. With
        on="particles" it is give(x, time, id). It must follow from its arguments alone."""
        if on not in ("nodes", "particles"):
            raise ValueError('on is "nodes" or "particles"')
        made = _library.Acceleration()
        if give is not None:
            made = _library.Acceleration(self._make_acceleration(give))
        call(f"firn_sim_accelerate_{on}", self._handle, made, None)
        self._kept[on] = made

    def _make_acceleration(self, give: Callable) -> Callable:
        me = weakref.proxy(self)

        def call_it(_context: Any, time: float, count: int, x: Any, ids: Any, out: Any) -> None:
            if count == 0:
                return
            given = [np.ctypeslib.as_array(out[d], (count,)) for d in range(3)]
            try:
                if me._raised is not None:
                    raise me._raised
                points = np.stack([np.ctypeslib.as_array(x[d], (count,)) for d in range(3)], axis=1)
                more = (np.ctypeslib.as_array(ids, (count,)).copy(),) if ids else ()
                values = np.broadcast_to(np.asarray(give(points, time, *more), np.float64), (count, 3))
            except BaseException as raised:  # noqa: BLE001: it is raised again after the step
                me._raised = raised
                values = np.full((count, 3), np.nan)  # refused by all ranks
            for d in range(3):
                given[d][:] = values[:, d]

        return call_it


def _destroy(handle: c_void_p, _scene: Scene) -> None:
    library().firn_sim_destroy(byref(handle))


def log(level: str = "warnings", handler: Optional[Callable[[str, str], None]] = None) -> None:
    """What Firn prints on rank 0: "quiet", "warnings" or "info"; to stderr, or to handler(level, line)."""
    levels = ("quiet", "warnings", "info")
    if level not in levels:
        raise ValueError(f"level is one of {', '.join(levels)}")
    library().firn_log_level(levels.index(level))
    made = _library.LogHandler()
    if handler is not None:
        made = _library.LogHandler(lambda _context, k, line: handler(levels[k], line.decode(errors="replace")))
    library().firn_log_to(made, None)
    log.kept = made  # type: ignore[attr-defined]


def version() -> str:
    """The version of libfirn."""
    return library().firn_version().decode()
