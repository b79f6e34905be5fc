"""Opens frames as a user of ParaView does: pvpython in_paraview.py FRAME NAME COUNT. NAME is the same file with a
suffix that ParaView knows; its reader must find COUNT particles in the bounds that the points have."""

import sys

from paraview.simple import OpenDataFile, Threshold, UpdatePipeline, servermanager
from vtkmodules.vtkIOHDF import vtkHDFReader

frame, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
reader = vtkHDFReader()
assert reader.CanReadFile(frame), "vtkHDFReader does not know the frame"
reader.SetFileName(frame)
reader.Update()
grid = reader.GetOutput()
assert grid.GetNumberOfPoints() == grid.GetNumberOfCells() == count, (grid.GetNumberOfPoints(), grid.GetNumberOfCells())
assert all(grid.GetCellType(k) == 1 and grid.GetCell(k).GetPointId(0) == k for k in range(0, count, 97))
names = {grid.GetPointData().GetArrayName(k) for k in range(grid.GetPointData().GetNumberOfArrays())}
assert {"id", "velocity", "density"} <= names, names
source = OpenDataFile(name)
assert source, "ParaView does not open the file"
UpdatePipeline(proxy=source)
info = source.GetDataInformation()
assert info.GetNumberOfPoints() == count, info.GetNumberOfPoints()
assert all(abs(a - b) < 1e-6 for a, b in zip(info.GetBounds(), grid.GetBounds()))
fast = Threshold(Input=source)
fast.Scalars = ["POINTS", "id"]
fast.UpperThreshold = 0.0
fast.ThresholdMethod = "Above Upper Threshold"
UpdatePipeline(proxy=fast)
assert 0 < servermanager.Fetch(fast).GetNumberOfPoints() <= count
print("ParaView opens the frame:", count, "particles")
