#!/usr/bin/env bash
# Terrain and maps: a flow over a small valley gives the same bytes of all maps on 1, 2, 3 ranks, along every slab axis, and across a
# restart; files that GDAL reads back; drag of zones slows the flow; a terrain that is no good is one clear sentence.
#   test_maps.sh FIRN MPIEXEC
set -uo pipefail
# shellcheck source=tests/cli/tools.sh
. "$(dirname "${BASH_SOURCE[0]}")/tools.sh"

# 41 x 17 cells of 1 m: a slope of 30 degrees that ends in a plain, with a bend across.
dem() { # CELL [HOLE]: > FILE
  awk -v cell="$1" -v hole="${2:-}" 'BEGIN {
    print "ncols 41\nnrows 17\nxllcenter 500000\nyllcenter 200000\ncellsize " cell "\nNODATA_value -9999"
    for (j = 0; j < 17; j++) {
      for (i = 0; i < 41; i++) {
        x = i; y = j - 8; z = 1000 + 0.01 * y * y + (x < 24 ? 0.577 * (24 - x) : 0)
        printf "%s ", hole != "" && i == 5 && j == 3 ? -9999 : sprintf("%.4f", z)
      }
      print ""
    }
  }'
}
dem 1 >valley.asc
printf '500003,200005\n500008,200005\n500008,200011\n500003,200011\n' >release.csv
cat >flow.yml <<'END'
terrain: {file: valley.asc, origin: [500000, 200016, 1000], friction: 0.3}
domain: {lower: [0, -1, 0], cells: [80, 36, 32], spacing: 0.5}
time: {end: 2, frame_rate: 4, max_step: 5e-3}
integrator: {scheme: explicit}
transfer: {scheme: apic}
materials: {snow: {model: sand, density: 200, friction_angle: 25, cone: slope, young: 1e5}}
snow:
  - name: slab
    release: {file: release.csv, thickness: 1}
    sampling: jittered
output: {fields: [density]}
END

expect 0 1 one.log flow.yml --set output.folder=one
for kind in peak_thickness peak_thickness_vertical peak_speed peak_pressure arrival_time final_thickness deposit release terrain; do
  [ -s one/maps/$kind.asc ] && [ -s one/maps/$kind.tif ] || fail "no map of $kind"
done
same_maps() { # A B
  local file
  for file in "$1"/maps/*.asc "$1"/maps/*.tif; do
    cmp -s "$file" "$2/maps/${file##*/}" || fail "$file differs in $2"
  done
}
for ranks in 2 3; do
  expect 0 $ranks log.$ranks flow.yml --set output.folder=on$ranks
  same_maps one on$ranks
done
for axis in y z; do
  expect 0 1 log.$axis flow.yml --set output.folder=$axis --set domain.slab_axis=$axis --set time.end=1
  expect 0 3 log.$axis.3 flow.yml --set output.folder=${axis}3 --set domain.slab_axis=$axis --set time.end=1
  same_maps $axis ${axis}3
done

# A restart on other ranks, in the middle of the flow.
expect 0 2 part.log flow.yml --set output.folder=part --set time.end=1 --set checkpoint.frames=1
expect 0 3 rest.log flow.yml --set output.folder=part --set checkpoint.frames=1 --restart auto
same_maps one part

# The snow has moved, and no faster than its drop allows.
peak() { # FILE: the largest number
  awk 'NR > 6 { for (i = 1; i <= NF; i++) if ($i > most) most = $i } END { print most }' "$1"
}
awk -v v="$(peak one/maps/peak_speed.asc)" 'BEGIN { exit !(v > 3 && v < 17) }' || fail "speed $(peak one/maps/peak_speed.asc)"
awk -v t="$(peak one/maps/release.asc)" 'BEGIN { exit !(t == 1) }' || fail "release of $(peak one/maps/release.asc) m"

# Zones: one that holds all brakes all.
printf '499990,199990\n500050,199990\n500050,200020\n499990,200020\n' >all.csv
expect 0 1 zone.log flow.yml --set output.folder=zone --set 'terrain.zones=[{file: all.csv, turbulence: 20}]'
awk -v a="$(peak zone/maps/peak_speed.asc)" -v b="$(peak one/maps/peak_speed.asc)" 'BEGIN { exit !(a < 0.9 * b) }' ||
  fail "turbulence does not slow the flow: $(peak zone/maps/peak_speed.asc) and $(peak one/maps/peak_speed.asc)"
expect 0 1 same.log flow.yml --set output.folder=same --set terrain.turbulence=20
same_maps zone same

# Pictures.
"$firn" map one >map.log 2>&1 || { fail "firn map" && show map.log; }
[ -s one/maps/peak_speed.png ] || fail "no picture of the speed"
"$firn" map nowhere >map.log 2>&1 && fail "firn map of nothing"
says map.log 'nowhere has no maps'

# What other programs read.
if command -v gdalinfo >/dev/null; then
  gdalinfo -mm one/maps/peak_speed.tif >info.log 2>&1 || { fail "gdalinfo" && show info.log; }
  says info.log 'Size is 41, 17'
  says info.log 'Origin = \(499999.50*,200016.50*\)'
  says info.log 'NoData Value=-9999'
  gdal_translate -q -of AAIGrid one/maps/peak_speed.tif back.asc 2>back.log || { fail "gdal_translate" && show back.log; }
  awk 'FNR == NR { if (FNR > 6) for (i = 1; i <= NF; i++) a[++n] = $i; next } NF > 10 { for (i = 1; i <= NF; i++) b[++m] = $i }
       END { for (k = 1; k <= n; k++) if ((a[k] - b[k])^2 > 1e-6) exit 1; exit n != m }' one/maps/peak_speed.asc back.asc ||
    fail "GeoTIFF and ASCII grid differ"
else
  skipped "maps: gdalinfo (gdal-bin) is not there, so no other program reads the GeoTIFF"
fi
if "$firn" check flow.yml --set terrain.file=one/maps/terrain.tif >tif.log 2>&1; then
  expect 0 2 tif.run flow.yml --set output.folder=tif --set terrain.file=one/maps/terrain.tif
  for kind in peak_thickness peak_speed; do cmp -s one/maps/$kind.asc tif/maps/$kind.asc || fail "$kind of a GeoTIFF terrain"; done
else
  says tif.log 'built without GDAL|not on this machine'
  skipped "maps: Firn was built without GDAL, so no terrain is read from GeoTIFF"
fi

# Terrain that is no good.
refuse() { # TEXT ARGUMENTS...
  local text=$1
  shift
  "$firn" check flow.yml "$@" >refused.log 2>&1 && fail "accepted: $*"
  [ "$(wc -l <refused.log)" -eq 1 ] || { fail "not one line: $*" && show refused.log; }
  says refused.log "$text"
}
dem 1 hole >hole.asc
dem 0.0001 | sed 's/500000/11.3/; s/200000/47.2/' >degrees.asc
dem -1 >down.asc
refuse '1 of 697 cells have no data, the first in row 4, column 6' --set terrain.file=hole.asc
"$firn" check flow.yml --set terrain.file=hole.asc --set terrain.holes=fill >filled.log 2>&1 || { fail "holes: fill" && show filled.log; }
refuse 'look like degrees; project it to metres' --set terrain.file=degrees.asc
refuse 'upside down' --set terrain.file=down.asc
printf '1,1\n2,1\n2,2\n' >away.csv
refuse 'away.csv does not overlap the terrain, which covers 499999.5 to 500040.5 east' --set snow.slab.release.file=away.csv
refuse 'release.csv is a polygon: give its .thickness.' --set snow.slab.release.thickness=null
refuse 'the domain does not overlap it; .* x 0 to 40' --set 'domain.lower=[1000, 0, 0]'
refuse "'within' leaves nothing of it: it covers 500000 to 500040 east" --set 'terrain.within=[0, 10, 0, 10]'
refuse 'heights of a terrain are along y' --set 'gravity=[0, 0, -9.81]'
refuse "lies on a terrain: add the section 'terrain" --set terrain=null
exit $bad
