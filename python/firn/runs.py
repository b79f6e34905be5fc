"""Readers of finished or running runs: frames, history, probes, checkpoints. They need h5py for particles."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, Iterator, Optional, Sequence

import numpy as np


class State:
    """A frame or a checkpoint. Fields are read on access: state.position, state["JP"]."""

    def __init__(self, path: Path):
        import h5py

        self.path = Path(path)
        with h5py.File(self.path, "r") as file:
            self.attributes = {key: _plain(value) for key, value in file.attrs.items()}
            self.fields = list(file["particles"])

    @property
    def time(self) -> float:
        """Its time (s)."""
        return float(self.attributes["time"])

    @property
    def step(self) -> int:
        return int(self.attributes["step"])

    @property
    def frame(self) -> int:
        return int(self.attributes["frame"])

    @property
    def scene(self) -> str:
        """The scene that it comes from, as YAML with all defaults."""
        return self.attributes["scene_resolved"]

    def __getitem__(self, name: str) -> np.ndarray:
        import h5py

        with h5py.File(self.path, "r") as file:
            return file["particles"][name][:]

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("_") or name == "fields":
            raise AttributeError(name)
        if name not in self.fields:
            raise AttributeError(f"{self.path} has no field '{name}'; it has {', '.join(self.fields)}")
        return self[name]

    def __len__(self) -> int:
        import h5py

        with h5py.File(self.path, "r") as file:
            return len(file["particles"]["position"])

    def contacts(self, body: str) -> dict[str, np.ndarray]:
        """Where a body with pressure_map is pushed, as means since the frame before: position (m), force (N),
        pressure (Pa), and span (s)."""
        import h5py

        with h5py.File(self.path, "r") as file:
            group = file["contacts"]
            names = _plain(group.attrs["bodies"]).split("\n")
            on_it = group["body"][:] == names.index(body)
            out = {name: group[name][:][on_it] for name in ("position", "force", "pressure")}
            out["span"] = np.float64(group.attrs["span"])
            return out


class States(Sequence):
    """Frames or checkpoints in the order of their numbers."""

    def __init__(self, paths: Sequence[Path]):
        self.paths = list(paths)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return States(self.paths[k])
        return State(self.paths[k])

    def path_of(self, particle: int) -> np.ndarray:
        """Time and position (m) of the particle with this id, in each of them that has it: rows t, x, y, z."""
        rows = []
        for state in self:
            found = np.flatnonzero(state["id"] == particle)
            if len(found):
                rows.append((state.time, *state["position"][found[0]]))
        return np.array(rows).reshape(-1, 4)


class Table(dict):
    """A table of a run: columns by name, as arrays."""

    def __getattr__(self, name: str) -> np.ndarray:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no column '{name}'; there are {', '.join(self)}") from None


def _read_table(path: Path) -> Optional[Table]:
    if not path.exists():
        return None
    lines = path.read_text().splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]  # a run may be writing the last one
    rows = csv.reader(whole)
    names = next(rows, [])
    data = [[float(word) for word in row] for row in rows if len(row) == len(names)]
    columns = np.array(data).reshape(-1, len(names)).T if names else []
    return Table(zip(names, columns))


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


class Run:
    """The folder of a run."""

    def __init__(self, folder: Any):
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise FileNotFoundError(f"{self.folder} is not the folder of a run")

    def _states(self, pattern: str) -> States:
        return States(sorted(self.folder.glob(pattern), key=lambda path: (len(path.name), path.name)))

    @property
    def frames(self) -> States:
        return self._states("frames/frame_*.h5")

    @property
    def checkpoints(self) -> States:
        return self._states("checkpoints/checkpoint_*.h5")

    @property
    def history(self) -> Optional[Table]:
        """history.csv; None if the run has none."""
        return _read_table(self.folder / "history.csv")

    @property
    def probes(self) -> Optional[Table]:
        """probes.csv; None if the run has none."""
        return _read_table(self.folder / "probes.csv")

    @property
    def record(self) -> Optional[dict]:
        """run.json: what the last start of the run took; None while it runs."""
        path = self.folder / "run.json"
        return json.loads(path.read_text()) if path.exists() else None

    def __iter__(self) -> Iterator[State]:
        return iter(self.frames)


def open_run(folder: Any) -> Run:
    """The run in a folder."""
    return Run(folder)
