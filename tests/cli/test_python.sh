#!/usr/bin/env bash
# The snippets of docs/python.md, run one after the other on a run of a snowball against a plate. usage: test_python.sh FIRN MPIEXEC
set -uo pipefail
page=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../docs" && pwd)/python.md
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
if ! python=$(command -v /usr/bin/python3) || ! "$python" -c 'import h5py, numpy' 2> /dev/null; then
  skipped "python: /usr/bin/python3 has no h5py; apt install python3-h5py"
  exit 0
fi
awk '/^```yaml/ { on = 1; next } /^```/ { on = 0 } on' "$page" > ball.yml
"$firn" run ball.yml --output out/ball --quiet < /dev/null > log.txt 2>&1 || { fail "the run: $(cat log.txt)"; exit 1; }
awk '/^```python/ { on = 1; next } /^```/ { on = 0 } on' "$page" > all.py
[ "$(grep -c import all.py)" -ge 4 ] || fail "the snippets of $page were not found"
cat >> all.py <<'END'
assert len(path) == 3 and info[0]["particles"] == len(ids) == len(fe), (len(path), len(ids))
assert info[0]["attributes"]["step"] == step and check["steps"] >= 20 and check["warnings"] == []
assert 0 < check["seconds"] <= check["seconds_hardened"] and check["frames"] == 3 and check["disk"] > 0
assert abs(impulse - (history["momentum_x"][0] - history["momentum_x"][-1])) < 0.05 * impulse, impulse
assert 0.9 < elastic_volume.mean() < 1.1
assert len(where) > 20 and abs(where[:, 0] - 0.1).max() < 1e-12 and 0.002 < span < 0.006 and pressure.max() > 1e3
# The series: every item is a dataset of that shape, and contacts are a grid of their own.
import xml.etree.ElementTree as tree
grids = tree.parse("out/ball/ball.xdmf").getroot().findall("Domain/Grid")
assert [grid.get("Name") for grid in grids] == ["ball", "contacts"] and all(grid.get("CollectionType") == "Temporal" for grid in grids)
assert len(grids[0].findall("Grid")) == 3 and 1 <= len(grids[1].findall("Grid")) <= 2
for item in [item for grid in grids for item in grid.iter("DataItem")]:
    name, inside = item.text.split(":")
    with h5py.File("out/ball/" + name) as frame:
        assert list(frame[inside].shape) == [int(n) for n in item.get("Dimensions").split()], item.text
        assert frame[inside].dtype.itemsize == int(item.get("Precision")), item.text
END
PATH=$(dirname "$firn"):$PATH "$python" all.py > log.txt 2>&1 || { fail "the snippets:"; show log.txt; }
"$firn" check ball.yml --set snow='[{file: cube.h5}]' > log.txt 2>&1 || fail "the particle file of the last snippet: $(cat log.txt)"
"$firn" check ball.yml --set integrator="{scheme: explicit}" --set time.max_step=5e-4 > log.txt 2>&1
for line in "frames     3, 200 per second" "disk       about .* MB" "steps      at least [0-9]" "[0-9] once some snow is pressed to half" "time       about .*, up to .* on one core"; do
  grep -q "$line" log.txt || fail "check does not say '$line': $(cat log.txt)"
done
"$firn" info --json --scene out/ball/frames/frame_000000.h5 > /dev/null 2>&1 && fail "--json and --scene at once"
"$firn" check --json --ranks 2 ball.yml > /dev/null 2>&1 && fail "--json and --ranks at once"
exit $bad
