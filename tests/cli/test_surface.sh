#!/usr/bin/env bash
# firn surface: closed meshes of a run's frames, the same bytes on any ranks and threads; clear words on bad frames.
. "$(dirname "$0")/tools.sh"
cat >scene.yml <<'END'
domain: {lower: [-0.2, -0.04, -0.1], cells: [40, 20, 20], spacing: 0.01}
time: {end: 0.01, frame_rate: 200, max_step: 4e-4}
materials: {powder: {kind: reference}, packed: {kind: icy}}
snow:
  - sphere: {center: [-0.1, 0.06, 0], radius: 0.06}
    velocity: [1, 0, 0]
    material: powder
  - sphere: {center: [0.1, 0.06, 0], radius: 0.05}
    material: packed
output: {fields: [material]}
gravity: [0, 0, 0]
END
expect 0 2 run.log scene.yml --output run
frame=run/frames/frame_000000.h5

surface() { # CODE LOG RANKS ARGUMENTS...
  local code=$1 log=$2 ranks=$3 got
  shift 3
  timeout $patience "$mpiexec" -n "$ranks" "$firn" surface "$@" >"$log" 2>&1 </dev/null
  got=$?
  [ "$got" -eq "$code" ] || { fail "exit code $got instead of $code: firn surface $*" && show "$log"; }
}

surface 0 one.log 1 run/frames/*.h5 --each one/s_%02d.ply --threads 1
surface 0 three.log 3 run/frames/*.h5 --each three/s_%02d.ply --threads 2
says one.log '3 files, [0-9]+ particles, [0-9]+ triangles'
for k in 0 1 2; do cmp -s one/s_0$k.ply three/s_0$k.ply || fail "surface $k depends on the ranks"; done
cmp -s one/s_00.ply one/s_02.ply && fail "the surface does not move"

# All formats hold one mesh; volume and place are those of the two balls.
for kind in obj vtp; do surface 0 $kind.log 1 $frame -o a.$kind; done
faces=$(sed -n 's/^element face //p;/^end_header/q' one/s_00.ply | head -n 1)
[ "$(grep -c '^f ' a.obj)" -eq "$faces" ] || fail "the OBJ has not $faces triangles"
grep -a -q "NumberOfPolys=\"$faces\"" a.vtp || fail "the VTP has not $faces triangles"
awk -v h=0.01 '
  /^v / { x[++n] = $2; y[n] = $3; z[n] = $4
          a = sqrt(($2 + .1) ^ 2 + ($3 - .06) ^ 2 + $4 ^ 2) - .06; b = sqrt(($2 - .1) ^ 2 + ($3 - .06) ^ 2 + $4 ^ 2) - .05
          d = a < b ? a : b; if (d < 0) d = -d; if (d > worst) worst = d }
  /^f / { for (k = 2; k <= 4; k++) { split($k, p, "/"); v[k] = p[1] }
          for (k = 2; k <= 4; k++) edges[v[k] " " v[k == 4 ? 2 : k + 1]]++
          i = v[2]; j = v[3]; k = v[4]
          sum += (x[i] * (y[j] * z[k] - z[j] * y[k]) + y[i] * (z[j] * x[k] - x[j] * z[k]) + z[i] * (x[j] * y[k] - y[j] * x[k])) / 6 }
  END { for (e in edges) { split(e, p, " "); if (edges[e] != 1 || edges[p[2] " " p[1]] != 1) open++ }
        exact = 4 / 3 * 3.14159265 * (.06 ^ 3 + .05 ^ 3)
        printf "%d %.4f %.4f\n", open, worst / h, sum / exact - 1 }' a.obj >numbers
read -r open worst volume <numbers
[ "$open" -eq 0 ] || fail "$open edges do not belong to two triangles"
awk -v w="$worst" 'BEGIN { exit !(w < 0.3) }' || fail "a vertex is $worst cells from the spheres"
awk -v v="$volume" 'BEGIN { exit !(v < 0.02 && v > -0.02) }' || fail "the volume is wrong by $volume"

# One file per material, and spheres.
surface 0 by.log 2 $frame -o parts.ply --by material
says by.log '2 files'
[ -s parts_powder.ply ] && [ -s parts_packed.ply ] && [ ! -e parts.ply ] || fail "--by material wrote $(ls parts*)"
surface 0 spheres.log 1 $frame -o spheres.ply --kernel spheres --smooth 0
cmp -s spheres.ply one/s_00.ply && fail "--kernel spheres changes nothing"

# VDB: the same bytes each time.
if timeout $patience "$firn" surface $frame -o a.vdb >vdb.log 2>&1; then
  surface 0 vdb2.log 2 $frame -o b.vdb
  cmp -s a.vdb b.vdb || fail "two VDB files of a frame differ"
  "$firn" export $frame -o c.vdb >export.log 2>&1 && "$firn" export $frame -o d.vdb >>export.log 2>&1
  cmp -s c.vdb d.vdb || fail "two exports as VDB differ"
else
  says vdb.log 'install the packages libopenvdb-dev and libboost-dev'
  skipped "surfaces as VDB: built without OpenVDB"
fi

# Bad frames are one line each.
: >empty.h5
head -c 7000 $frame >half.h5
for name in empty half nowhere; do
  surface 1 bad.log 1 $name.h5 -o bad.ply
  [ "$(grep -c '^firn: ' bad.log)" -eq 1 ] && says bad.log "$name.h5"
done
surface 1 bad.log 2 $frame half.h5 --each bad/%d.ply
says bad.log 'half.h5'
surface 1 bad.log 1 $frame -o bad.stl
says bad.log 'suffix'
surface 1 bad.log 1 $frame $frame -o bad.ply
surface 1 bad.log 1 $frame -o bad.ply --kernel cubes
echo "my own notes" >notes.ply
surface 1 bad.log 1 $frame -o notes.ply
says bad.log 'refusing to overwrite'
[ ! -e bad.ply ] || fail "a bad frame left a file"
finish "firn surface"
