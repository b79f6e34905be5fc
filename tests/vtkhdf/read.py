"""Reads a frame by the VTKHDF specification (version 1.0, UnstructuredGrid) with h5py, and compares it with what
/particles holds: python3 read.py FRAME"""

import sys

import h5py
import numpy as np

path = sys.argv[1]
with h5py.File(path, "r") as file:
    vtk, particles = file["VTKHDF"], file["particles"]
    assert list(vtk.attrs["Version"]) == [1, 0], vtk.attrs["Version"]
    kind = vtk.attrs.get_id("Type")
    assert kind.shape == () and not kind.get_type().is_variable_str(), "Type is no text of fixed length"
    assert vtk.attrs["Type"] == b"UnstructuredGrid", vtk.attrs["Type"]
    points, cells, numbers = (int(vtk[name][()].sum()) for name in ("NumberOfPoints", "NumberOfCells",
                                                                     "NumberOfConnectivityIds"))
    count = len(particles["id"])
    assert points == cells == numbers == count, (points, cells, numbers, count)
    offsets = vtk["Offsets"][:cells + 1]
    assert len(offsets) == cells + 1 and (np.diff(offsets) == 1).all() and offsets[0] == 0
    connectivity, types = vtk["Connectivity"][:numbers], vtk["Types"][:cells]
    assert (connectivity == np.arange(points)).all() and (types == 1).all() and types.dtype == np.uint8
    assert vtk["Points"] == particles["position"], "the points are a copy"
    fields = {name for name, field in particles.items() if field.ndim < 3 and name != "position"}
    assert set(vtk["PointData"]) == fields, set(vtk["PointData"]) ^ fields
    for name in fields:
        assert vtk["PointData"][name] == particles[name], f"{name} is a copy"
    print(count, *(f"{v:.6g}" for v in (*particles["position"][:].min(0), *particles["position"][:].max(0))) if count else ())
