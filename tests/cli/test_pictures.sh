#!/usr/bin/env bash
# Everything to look at, from one small run: traced pictures, films, plots, the page, files for other programs. Mistakes are one line
# and exit code 1, and nothing is written over that is not of the kind.
# usage: test_pictures.sh FIRN MPIEXEC
set -u
. "$(dirname "$0")/tools.sh"

does() { # COMMAND...: succeeds
  timeout $patience "$firn" "$@" >out.log 2>&1 </dev/null || { fail "firn $*" && show out.log; }
}
refused() { # WORDS COMMAND...: one line that says so
  local words=$1 code
  shift
  timeout $patience "$firn" "$@" >stdout 2>stderr </dev/null
  code=$?
  [ "$code" -eq 1 ] || fail "firn $*: exit code $code, not 1"
  [ "$(wc -l <stderr)" -eq 1 ] || { fail "firn $*: not one line" && show stderr; }
  grep -q -e "$words" stderr || { fail "firn $*: does not say '$words'" && show stderr; }
}
is_png() { # FILE WIDTH HEIGHT
  [ "$(od -An -tx1 -j1 -N3 "$1" 2>/dev/null)" = " 50 4e 47" ] || fail "$1 is no PNG"
  [ "$(od -An -tu1 -j16 -N8 "$1" 2>/dev/null | awk '{ print $3 * 256 + $4, $7 * 256 + $8 }')" = "$2 $3" ] || fail "$1 is not $2 x $3"
}

small_scene >ball.yml
expect 0 1 run.log ball.yml --output ball --threads 1 --preview
is_png ball/pictures/000000.png 960 540
frame=ball/frames/frame_000004.h5

# traced pictures
light=(--size 48x27 --samples 8 --threads 1)
does render "$frame" -o ball.png "${light[@]}"
is_png ball.png 48 27
does render "$frame" -o ball.pfm "${light[@]}"
[ "$(head -n 2 ball.pfm | tr '\n' ' ')" = "PF 48 27 " ] || fail "ball.pfm is no float map"
timeout $patience "$mpiexec" -n 2 "$firn" render "$frame" -o two.pfm "${light[@]}" >out.log 2>&1 </dev/null || fail "render on two ranks"
cmp -s ball.pfm two.pfm || fail "a picture on two ranks differs from that on one"
does render "$frame" -o ball.exr "${light[@]}"
python3 - ball.exr ball.pfm <<'PYTHON' || fail "ball.exr does not hold what it should"
import struct, sys
data = open(sys.argv[1], 'rb').read()
assert data[:8] == bytes([0x76, 0x2f, 0x31, 1, 2, 0, 0, 0])
at, names, window = 8, [], None
while data[at]:
    name, kind = data[at:].split(b'\0')[:2]
    at += len(name) + len(kind) + 2
    size = struct.unpack_from('<i', data, at)[0]
    value, at = data[at + 4:at + 4 + size], at + 4 + size
    if kind == b'chlist':
        while value[0]:
            names.append(value.split(b'\0')[0].decode())
            value = value[len(names[-1]) + 17:]
    if name == b'dataWindow': window = struct.unpack('<4i', value)
assert window == (0, 0, 47, 26) and names == sorted(names), (window, names)
assert set('A R G B Z N.X N.Y N.Z id'.split()) == set(names)
rows = {}
for y, offset in enumerate(struct.unpack_from('<27Q', data, at + 1)):
    assert struct.unpack_from('<2i', data, offset) == (y, 48 * 4 * len(names))
    for c, name in enumerate(names): rows[name, y] = struct.unpack_from('<48f', data, offset + 8 + 192 * c)
plain = open(sys.argv[2], 'rb').read().split(b'\n', 3)[3]
for y in range(27):
    for x in range(48):
        assert struct.unpack_from('<3f', plain, 12 * (48 * (26 - y) + x)) == tuple(rows[c, y][x] for c in 'RGB')
ids = [i for y in range(27) for i in rows['id', y]]
assert set(ids) <= {0, 1, 2, 3, 4} and 1 in ids
for y in range(27):
    for x in range(48):
        length = sum(rows[n, y][x] ** 2 for n in ('N.X', 'N.Y', 'N.Z')) ** 0.5
        assert length < 1.001 and (rows['A', y][x] < 1 or rows['Z', y][x] > 0)
PYTHON
is_png ball.png 48 27
does render ball.yml -o before.png "${light[@]}" # the scene before its run
does preview ball.yml -o before.png --size 64x36
is_png before.png 64 36
cp ball/frames/frame_000000.h5 plain.h5
view=(--eye 0.1,0.1,0.5 --target=-0.08,0.05,0 "${light[@]}")
does render ball.yml -o before.pfm "${view[@]}"
does render plain.h5 -o first.pfm "${view[@]}"
python3 - before.pfm first.pfm <<'PYTHON' || fail "a scene before its run is not drawn like its first frame"
import struct, sys
a, b = (struct.unpack('<3888f', open(name, 'rb').read().split(b'\n', 3)[3]) for name in sys.argv[1:])
assert max(a) > 0 and sum(abs(x - y) for x, y in zip(a, b)) < 0.01 * sum(a)
PYTHON
refused "no_such.yml" preview no_such.yml -o x.png
does preview ball/frames/frame_00000[24].h5 --each "each/%03d.png" --size 64x36
[ "$(ls each | tr '\n' ' ')" = "002.png 004.png " ] || fail "--each numbered $(ls each)"
does preview plain.h5 "$frame" --each "order/%d.png" --size 64x36
[ "$(ls order | tr '\n' ' ')" = "0.png 1.png " ] || fail "--each numbered $(ls order)"
refused "inside the snow" render ball/frames/frame_000000.h5 -o in.png "${light[@]}" --eye=-0.1,0.05,0 --target 1,0,0
head -c 20000 "$frame" >short.h5
refused "short.h5" render short.h5 -o short.png "${light[@]}"
refused "must end in .png .*\.exr .*\.pfm" render "$frame" -o ball.jpg
refused "not one of draft, final" render "$frame" -o x.png --quality good
does render "$frame" -o draft.png --quality draft --size 32x18 --threads 1
says out.log ", 16.0 paths per pixel"
refused "is not one of" render "$frame" -o x.png --look mud

# progress on a terminal, and nowhere else
if command -v script >/dev/null; then
  script -q -e -c "timeout $patience $firn render $frame -o bar.png ${light[*]}" typescript >/dev/null 2>&1 </dev/null || fail "render on a terminal"
  tr '\r' '\n' <typescript | grep -q '100 % of the picture, 0 s left' || fail "no progress on a terminal"
else
  fail "script (package bsdutils) is not there: progress is not tested"
fi
does render "$frame" -o bar.png "${light[@]}"
grep -q 'of the picture' out.log && fail "progress in a file"

# films: resumed, with and without ffmpeg
FIRN_FFMPEG=no-such-program does movie ball -o ball.mp4 --size 64x36
says out.log "not installed.*its pictures are in ball_pictures"
is_png ball_pictures/000008.png 64 36
touch -d 2100-01-01 ball_pictures/*.png
rm ball_pictures/000003.png
FIRN_FFMPEG=no-such-program does movie ball -o ball.mp4 --size 64x36
says out.log "^1 of 9 pictures"
mkdir mine && cp ball.png mine/photo.png
refused "not of a film" movie ball -o ball.mp4 --size 64x36 --pictures mine
cmp -s ball.png mine/photo.png || fail "a film touched a picture that is not its own"
if command -v ffmpeg >/dev/null; then
  does movie ball -o ball.mp4 --size 64x36
  [ "$(od -An -c -j4 -N4 ball.mp4 | tr -d ' ')" = ftyp ] || fail "ball.mp4 is no film"
  for name in '-y 50%d.mp4' 'pipe:1.mp4'; do # names, whatever ffmpeg would make of them
    does movie ball -o "$name" --size 64x36
    [ "$(od -An -c -j4 -N4 -- "./$name" | tr -d ' ')" = ftyp ] || fail "$name is no film"
  done
else
  skipped "the film itself: ffmpeg is not installed"
fi

# plots
does plot ball -o ball.svg
grep -q 'kinetic' ball.svg || fail "the plot has no kinetic energy"
if command -v xmllint >/dev/null; then
  xmllint --noout ball.svg >out.log 2>&1 || { fail "ball.svg is no XML" && show out.log; }
else
  skipped "whether plots are sound XML: xmllint is not installed"
fi
does plot ball ball/history.csv -o two.png --only energy,step
refused "is no plot" plot ball -o x.svg --only heat
refused "nowhere" plot nowhere -o x.svg

# one page, on its own
does report ball -o ball.html --pictures 3 --size 160x90
grep -q '</html>' ball.html || fail "ball.html is not whole"
grep -o -E '(src|href)="[^"]{0,20}' ball.html | grep -v 'data:image/png' && fail "the page needs something else"
for words in 'particles' 'firn run ball.yml' 'sphere' 'commit'; do grep -q "$words" ball.html || fail "the page lacks '$words'"; done
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -n "$browser" ]; then
  timeout $patience "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$work/profile" --enable-logging=stderr \
    --window-size=1200,1600 --screenshot="$work/page.png" "file://$work/ball.html" >browser.log 2>&1 </dev/null
  is_png page.png 1200 1600
  grep -E 'CONSOLE|ERR_' browser.log | grep -v -E 'fallback to software WebGL|GL Driver Message' && fail "the browser complains about the page"
  timeout $patience "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$work/profile" --dump-dom \
    "file://$work/ball.html" >dom.log 2>/dev/null </dev/null
  [ "$(grep -c '<img ' dom.log)" -ge 1 ] && grep -q '<svg ' dom.log || fail "the browser shows no pictures or plots"
else
  skipped "the page in a browser: chromium is not installed"
fi
refused "frames" report mine -o mine.html

# files for other programs
for kind in ply vtp csv npz; do does export "$frame" -o "ball.$kind"; done
[ "$(wc -l <ball.csv)" -eq $(($("$firn" info "$frame" | sed -n 's/^ *particles *\([0-9]*\).*/\1/p') + 1)) ] || fail "ball.csv has not one line a particle"
does export ball/frames/frame_00000[0-2].h5 --each "plys/b_%03d.ply"
[ "$(ls plys | tr '\n' ' ')" = "b_000.ply b_001.ply b_002.ply " ] || fail "--each wrote $(ls plys)"
if "$firn" export "$frame" -o ball.vdb >out.log 2>&1 </dev/null; then
  [ "$(od -An -c -N4 ball.vdb | tr -d ' ')" = BDV ] || fail "ball.vdb is no VDB"
else
  says out.log "OpenVDB"
  skipped "VDB files: built without OpenVDB"
fi
refused "suffix" export "$frame" -o ball.obj
refused "2 frames" export "$frame" "$frame" -o ball.ply

# nothing else is replaced
for name in a.ply a.vtp a.csv a.npz a.vdb a.html a.svg a.png; do
  echo "my own notes, which no command may touch" >$name
  case $name in
    *.html) refused "refusing to overwrite" report ball -o $name ;;
    *.svg) refused "refusing to overwrite" plot ball -o $name ;;
    *.png) refused "refusing to overwrite" render "$frame" -o $name "${light[@]}" ;;
    *) refused "refusing to overwrite" export "$frame" -o $name ;;
  esac
  [ "$(cat $name)" = "my own notes, which no command may touch" ] || fail "$name was replaced"
done

[ $bad -eq 0 ] && echo "pictures: all as they should be"
exit $bad
