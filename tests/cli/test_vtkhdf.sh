#!/usr/bin/env bash
# Frames as VTKHDF: the layout by a reader that follows the specification, the same bytes on any ranks and by any
# writer, nothing of it without output.vtkhdf. With a third argument, pvpython opens a frame as well (nightly).
. "$(dirname "$0")/tools.sh"
readers=$(cd "$(dirname "${BASH_SOURCE[0]}")/../vtkhdf" 2>/dev/null && pwd)
small_scene | sed 's/end: 0.05/end: 0.0125/' >scene.yml
expect 0 1 one.log scene.yml --output one
expect 0 3 three.log scene.yml --output three
expect 0 3 direct.log scene.yml --output direct --set output.writer=direct
expect 0 1 packed.log scene.yml --output packed --set output.compression=4
expect 0 3 packed3.log scene.yml --output packed3 --set output.compression=4
expect 0 1 off.log scene.yml --output off --set output.vtkhdf=false
last=frames/frame_000002.h5
cmp one/$last three/$last || fail "the frame depends on the ranks"
cmp packed/$last packed3/$last || fail "the compressed frame depends on the ranks"
same one direct
same one off
same one packed
for run in one three direct packed3; do
  "$firn" info $run/$last >info.log 2>&1 || { fail "firn info of $run/$last" && show info.log; }
done

# The price: at most nine bytes per particle, and some for the structure.
count=$("$firn" info one/$last | sed -n 's/^ *particles *\([0-9]*\).*/\1/p')
more=$(($(stat -c %s one/$last) - $(stat -c %s off/$last)))
[ $more -le $((9 * count + 8192)) ] || fail "$more bytes more for $count particles"
h5ls -r off/$last | grep -q VTKHDF && fail "output.vtkhdf: false leaves the group there"

# A frame that nobody sees the particles of, since there are none yet.
cat >late.yml <<'END'
domain: {lower: [-0.2, -0.04, -0.08], cells: [40, 20, 16], spacing: 0.01}
time: {end: 0.00625, frame_rate: 160}
sources: [{name: gun, box: {center: [0, 0.1, 0], size: [0.04, 0.04, 0.04]}, velocity: [0, -1, 0], start: 1}]
END
"$firn" check late.yml >late.log 2>&1 && expect 0 2 late.log late.yml --output late

if /usr/bin/python3 -c 'import h5py' 2>/dev/null; then
  for frame in one/$last three/$last direct/$last packed3/$last one/frames/frame_000000.h5 late/frames/frame_000000.h5; do
    [ -e "$frame" ] || continue
    /usr/bin/python3 "$readers/read.py" "$frame" >read.log 2>&1 || { fail "$frame is no VTKHDF" && show read.log; }
    [ "$frame" = late/frames/frame_000000.h5 ] || says read.log "^$count "
  done
else
  skipped "VTKHDF by the specification: python3-h5py is not there"
fi
if [ -n "${3:-}" ]; then
  if command -v pvpython >/dev/null 2>&1; then
    ln -s "frame_000002.h5" one/frames/frame_000002.hdf
    timeout $patience pvpython "$readers/in_paraview.py" "$PWD/one/$last" "$PWD/one/frames/frame_000002.hdf" "$count" \
      >paraview.log 2>&1 || { fail "ParaView does not open the frame" && show paraview.log; }
  else
    skipped "VTKHDF in ParaView: pvpython is not there"
  fi
fi
finish "VTKHDF"
