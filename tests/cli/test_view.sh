#!/usr/bin/env bash
# firn view: what the page holds, on any ranks; what it says of bad frames; and the page in a real browser.
. "$(dirname "$0")/tools.sh"
browser=$(cd "$(dirname "${BASH_SOURCE[0]}")/../browser" && pwd)
small_scene >scene.yml
expect 0 1 one.log scene.yml --output one
expect 0 3 three.log scene.yml --output three

view() { # CODE LOG ARGUMENTS...
  local code=$1 log=$2 got
  shift 2
  timeout $patience "$firn" view "$@" >"$log" 2>&1
  got=$?
  [ "$got" -eq "$code" ] || { fail "exit code $got instead of $code: firn view $*" && show "$log"; }
}

# The frames are the same on any ranks, and so is the page: the folders bear one name.
mkdir a b && mv one a/run && mv three b/run
view 0 a.log a/run -o a.html
view 0 b.log b/run -o b.html
cmp -s a.html b.html || fail "the page depends on the ranks"
says a.log 'a.html: [0-9]+ of [0-9]+ particles of a/run in 9 frames'
[ "$(wc -l <a.log)" -eq 1 ] || { fail "a log gets more than the summary" && show a.log; }
grep -q -E '(src|href)="?https?:|@import|url\(' a.html && fail "the page wants something from elsewhere"

# The page keeps to its size; what it leaves out it says. A smaller page has a part of the same particles.
view 0 few.log a/run -o few.html --size 0.5 --frames 3
says few.log 'particles of a/run in 3 frames'
[ "$(wc -c <few.html)" -le 500000 ] || fail "few.html has $(wc -c <few.html) bytes"

# Bad frames: one line each, and the others are shown.
cp -r a/run broken
head -c 6000 a/run/frames/frame_000002.h5 >broken/frames/frame_000002.h5
: >broken/frames/frame_000003.h5
cp a/run/frames/frame_000004.h5 broken/frames/frame_000004.h5.7-1-1.part
view 0 broken.log broken -o broken.html
[ "$(grep -c 'left out: ' broken.log)" -eq 2 ] || { fail "not one line per bad frame" && show broken.log; }
says broken.log 'left out: .*frame_000002.h5'
says broken.log 'in 7 frames'
for frame in broken/frames/*.h5; do : >"$frame"; done
view 1 none.log broken -o none.html
says none.log 'none of the 9 frames can be read'
mkdir -p empty/frames
view 1 empty.log empty -o none.html
says empty.log 'there are no frames yet'
view 1 no.log nowhere -o none.html
says no.log 'nowhere is not the output folder of a run'
view 1 html.log a/run -o view.txt
view 1 size.log a/run -o none.html --size 0
echo "mine" >mine.html
view 1 mine.log a/run -o mine.html
says mine.log 'mine.html'
[ -e none.html ] && fail "a page without frames was written"

# Two runs, and all of it in a browser.
view 0 two.log a/run b/run -o two.html
[ "$(grep -c 'particles of' two.log)" -eq 2 ] || fail "not one line per run"
if command -v chromium >/dev/null 2>&1 && command -v python3 >/dev/null 2>&1; then
  mkdir -p pictures
  timeout $patience python3 "$browser/test_view.py" a.html two.html pictures >browser.log 2>&1 ||
    { fail "the page in a browser" && show browser.log; }
  [ -z "${FIRN_KEEP_PICTURES:-}" ] || cp -r pictures "$FIRN_KEEP_PICTURES"
else
  skipped "firn view in a browser: chromium or python3 is not there"
fi
finish "firn view"
