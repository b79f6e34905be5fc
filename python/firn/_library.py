"""libfirn through ctypes: structures, prototypes, and errors as exceptions."""

from __future__ import annotations

import ctypes
import os
import sys
import weakref
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_char, c_char_p, c_double, c_int, c_int64, c_ubyte,
                    c_uint64, c_void_p)
from pathlib import Path

SONAME = "libfirn.so.0.2"


class Error(Exception):
    """A call of libfirn failed; the text is the program's own."""

    code = 0


class InputError(Error, ValueError):
    """The scene, an argument or a file's contents; or a call at the wrong time."""

    code = -1


class MachineError(Error, OSError):
    """Disk, permissions, network."""

    code = -2


class LimitError(Error):
    """A count or size beyond what this build can hold."""

    code = -3


class Diverged(Error):
    """The simulation cannot go on: a step that no halving saves."""

    code = -4


class StaleError(Error):
    """Another start of the same run has taken over its folder."""

    code = -5


class DamagedError(Error):
    """A file is not what was written."""

    code = -6


class FormatError(Error):
    """A sound file of a format version that this Firn does not read."""

    code = -7


class Stopped(Error):
    """A hook, stop() or the time limit ended the run."""

    code = -8


_KINDS = {kind.code: kind for kind in Error.__subclasses__()}


class ErrorText(Structure):
    _fields_ = [("code", c_int), ("text", c_char * 1024)]


class Options(Structure):
    _fields_ = [("version", c_int), ("writes", c_int), ("restart", c_char_p), ("force", c_int),
                ("threads", c_int), ("bind", c_int), ("isa", c_char_p)]


class Info(Structure):
    """Where a simulation is; the same on all ranks."""

    _fields_ = [("time", c_double), ("last_step", c_double), ("step", c_int64), ("frame", c_int64),
                ("on_frame", c_int), ("particles", c_int64), ("removed", c_int64), ("halvings", c_int64),
                ("iterations", c_int64), ("max_speed", c_double), ("over", c_int), ("stopping", c_int),
                ("threads", c_int)]


class BodyState(Structure):
    _fields_ = [("present", c_int), ("origin", c_double * 3), ("turn", c_double * 9),
                ("velocity", c_double * 3), ("spin", c_double * 3), ("measured", c_int),
                ("force", c_double * 3), ("torque", c_double * 3), ("area", c_double)]


class Field(Structure):
    _fields_ = [("name", c_char_p), ("unit", c_char_p), ("type", c_int), ("components", c_int),
                ("count", c_int64), ("array", c_void_p * 9)]


Hook = CFUNCTYPE(c_int, c_void_p, c_void_p)
Acceleration = CFUNCTYPE(None, c_void_p, c_double, c_int64, POINTER(POINTER(c_double)), POINTER(c_uint64),
                         POINTER(POINTER(c_double)))
LogHandler = CFUNCTYPE(None, c_void_p, c_int, c_char_p)

_ERR = POINTER(ErrorText)
_TEXTS = POINTER(c_char_p)
_PROTOTYPES = {
    "firn_version": (c_char_p, []),
    "firn_version_at_least": (c_int, [c_int, c_int, c_int]),
    "firn_log_level": (None, [c_int]),
    "firn_log_to": (None, [LogHandler, c_void_p]),
    "firn_mpi_start": (c_int, []),
    "firn_mpi_stop": (None, []),
    "firn_mpi_world": (c_void_p, []),
    "firn_mpi_from_fortran": (c_void_p, [c_int]),
    "firn_mpi_size": (c_int, [c_void_p]),
    "firn_mpi_abort": (None, [c_int]),
    "firn_scene_parse": (c_int, [POINTER(c_void_p), c_char_p, c_char_p, _TEXTS, c_int, _ERR]),
    "firn_scene_destroy": (None, [POINTER(c_void_p)]),
    "firn_scene_name": (c_char_p, [c_void_p]),
    "firn_scene_output": (c_char_p, [c_void_p]),
    "firn_scene_resolved": (c_char_p, [c_void_p]),
    "firn_scene_end": (c_double, [c_void_p]),
    "firn_scene_frame_rate": (c_double, [c_void_p]),
    "firn_scene_last_frame": (c_int64, [c_void_p]),
    "firn_sim_create": (c_int, [POINTER(c_void_p), c_void_p, c_void_p, POINTER(Options), _ERR]),
    "firn_sim_end": (c_int, [c_void_p, _ERR]),
    "firn_sim_destroy": (None, [POINTER(c_void_p)]),
    "firn_sim_step": (c_int, [c_void_p, _ERR]),
    "firn_sim_advance_to_frame": (c_int, [c_void_p, c_int64, _ERR]),
    "firn_sim_advance_to_time": (c_int, [c_void_p, c_double, _ERR]),
    "firn_sim_write_frame": (c_int, [c_void_p, _ERR]),
    "firn_sim_write_checkpoint": (c_int, [c_void_p, _ERR]),
    "firn_sim_stop": (None, [c_void_p]),
    "firn_sim_get_info": (None, [c_void_p, POINTER(Info)]),
    "firn_sim_set_hooks": (None, [c_void_p, Hook, Hook, c_void_p]),
    "firn_sim_accelerate_nodes": (c_int, [c_void_p, Acceleration, c_void_p, _ERR]),
    "firn_sim_accelerate_particles": (c_int, [c_void_p, Acceleration, c_void_p, _ERR]),
    "firn_sim_body_count": (c_int, [c_void_p]),
    "firn_sim_body_name": (c_char_p, [c_void_p, c_int]),
    "firn_sim_find_body": (c_int, [c_void_p, c_char_p]),
    "firn_sim_get_body": (c_int, [c_void_p, c_int, POINTER(BodyState), _ERR]),
    "firn_sim_move_body": (c_int, [c_void_p, c_int, POINTER(c_double), POINTER(c_double), _ERR]),
    "firn_sim_field_count": (c_int, [c_void_p]),
    "firn_sim_get_field": (c_int, [c_void_p, c_int, POINTER(Field), _ERR]),
    "firn_sim_find_field": (c_int, [c_void_p, c_char_p, POINTER(Field), _ERR]),
    "firn_sim_write": (c_int, [c_void_p, c_char_p, c_void_p, _ERR]),
    "firn_sim_add": (c_int, [c_void_p, c_int64, c_int, _TEXTS, POINTER(c_void_p), _ERR]),
    "firn_sim_remove": (c_int, [c_void_p, POINTER(c_ubyte), _ERR]),
    "firn_sim_commit": (c_int, [c_void_p, _ERR]),
    "firn_sim_sample": (c_int, [c_void_p, c_int64, POINTER(c_double), POINTER(c_double), POINTER(c_double),
                                _ERR]),
}


def _candidates():
    if os.environ.get("FIRN_LIBRARY"):
        yield os.environ["FIRN_LIBRARY"]
        return
    # <prefix>/lib/python3/dist-packages/firn, with the library below the same prefix.
    for prefix in Path(__file__).resolve().parents[3:6]:
        for folder in ("lib", "lib64", *sorted(path.name for path in prefix.glob("lib/*-linux-*"))):
            for place in (prefix / folder, prefix / "lib" / folder):
                if (place / SONAME).exists():
                    yield str(place / SONAME)
    yield SONAME


def _load():
    problems = []
    for name in _candidates():
        try:
            library = ctypes.CDLL(name)
        except OSError as problem:
            problems.append(str(problem))
            continue
        for function, (result, arguments) in _PROTOTYPES.items():
            getattr(library, function).restype = result
            getattr(library, function).argtypes = arguments
        return library
    raise ImportError("libfirn was not found; install Firn, or set FIRN_LIBRARY to its path ("
                      + "; ".join(problems) + ")")


_library = None
_started = _hooked = False


def _stop() -> None:
    if _started:
        library().firn_mpi_stop()


def library():
    """The loaded library; MPI is not started yet."""
    global _library
    if _library is None:
        _library = _load()
        # Made before those of all scenes and simulations, it is called after them at the end of the program.
        weakref.finalize(_library, _stop)
    return _library


def call(name: str, *arguments) -> None:
    """Calls a function that takes an error last, and raises what it says."""
    text = ErrorText()
    code = getattr(library(), name)(*arguments, byref(text))
    if code:
        raise _KINDS.get(code, Error)(text.text.decode(errors="replace"))


def _abort_with(before):
    """An exception that nobody catches on one rank ends all: the others would wait for it for ever."""

    def hook(kind, value, trace):
        before(kind, value, trace)
        if not hasattr(sys, "ps1") and ranks(None) > 1:
            sys.stdout.flush()
            sys.stderr.flush()
            library().firn_mpi_abort(1)

    return hook


def communicator(comm):
    """The MPI_Comm of an mpi4py communicator; None is all ranks of the program."""
    global _started, _hooked
    lib = library()
    if lib.firn_mpi_start():
        _started = True
    if not _hooked:
        sys.excepthook = _abort_with(sys.excepthook)
        _hooked = True
    return lib.firn_mpi_world() if comm is None else lib.firn_mpi_from_fortran(comm.py2f())


def ranks(comm) -> int:
    """How many a communicator has."""
    return library().firn_mpi_size(communicator(comm))


def texts(strings):
    """An array of C strings."""
    return (c_char_p * max(1, len(strings)))(*[string.encode() for string in strings])
