"""Opens pages of firn view in a real browser: python3 test_view.py ONE.html TWO.html PICTURES

ONE has one run, TWO two. Says what fails and ends with code 1 then."""

import os
import sys
import time

from browser import Browser, Picture

bad = []


def check(right, words):
    if not right:
        bad.append(words)
        print("FAIL:", words, file=sys.stderr)


def is_snow(r, g, b):
    return min(r, g, b) > 165 and max(r, g, b) - min(r, g, b) < 40


def one_run(page, pictures):
    width, height = 660, 400
    scene = (0, 70, 660, 330)  # between the panels
    with Browser(width, height) as b:
        b.open(page)
        b.wait("window.firn && (firn.ready || firn.failed)")
        check(b.value("firn.failed") is None, f"the page fails: {b.value('firn.failed')}")
        b.value("document.getElementById('side').style.display = 'none'; firn.setTime(0); firn.state.playing = false")
        first = b.picture(os.path.join(pictures, "first.png"))
        check(first.share(is_snow, scene) > 0.005, "there is no snow in the picture")
        check(b.picture().differs(first) == 0, "a picture at rest changes")

        # What the page holds is what the frames say.
        run = b.value("({count: firn.runs[0].count, most: firn.runs[0].most, ids: new Set(firn.runs[0].id).size,"
                      "frames: firn.runs[0].frames.length, last: firn.runs[0].frames.at(-1)[1]})")
        check(run["ids"] == run["count"] == run["most"] > 100, f"particles are missing: {run}")

        b.key("End")
        check(abs(b.value("firn.state.time") - run["last"]) < 1e-9, "End does not go to the last frame")
        check(b.picture(os.path.join(pictures, "last.png")).differs(first) > 0.01, "another time looks the same")
        b.key("Home")
        check(b.picture().differs(first) < 0.002, "back at the start the picture is another one")
        b.key(".")
        check(b.value("firn.state.time") == b.value("firn.runs[0].frames[1][1]"), "'.' is not the next frame")
        b.key(",")

        b.key(" ")
        at = b.value("firn.state.time")
        b.wait(f"firn.state.time !== {at}")
        b.wait("firn.drawn > 12")
        b.key(" ")
        check(b.value("firn.state.playing") is False, "the space bar does not stop")

        b.key("Home")
        b.drag(150, 200, 90, -40)
        turned = b.picture(os.path.join(pictures, "turned.png"))
        check(turned.differs(first) > 0.02, "dragging does not turn")
        b.key("r")
        check(b.picture().differs(first) < 0.002, "'r' does not bring back the first view")
        b.key("ArrowLeft")
        check(b.picture().differs(first) > 0.02, "an arrow key does not turn")
        b.key("r")
        b.drag(150, 200, 60, 0, "right")
        check(b.picture().differs(first) > 0.02, "the right button does not move")
        b.key("r")
        b.mouse("mouseWheel", 150, 200, deltaX=0, deltaY=-400)
        near = b.picture()
        check(near.share(is_snow, scene) > 1.05 * first.share(is_snow, scene), "the wheel does not bring the snow nearer")
        b.key("r")

        b.key("c")
        name = b.value("firn.colors[firn.state.color]")
        colored = b.picture(os.path.join(pictures, "colour.png"))
        check(colored.differs(first) > 0.005 and name, "'c' does not change the colour")
        b.value("document.getElementById('color').value = '-1';"
                "document.getElementById('color').dispatchEvent(new Event('change'))")
        check(b.picture().differs(first) < 0.002, "the list of colours does not bring back the snow")
        b.value("document.getElementById('bodies').click()")
        check(b.picture().differs(first) > 0.05, "bodies do not go away")
        b.value("document.getElementById('bodies').click()")

        pick(b)
        b.key("Escape")
        b.key("s")
        picture_saved(b)
        b.value("document.getElementById('side').style.display = ''; document.getElementById('plot').dispatchEvent("
                "new PointerEvent('pointerdown', {clientX: (r => r.left + 0.75 * r.width)("
                "document.getElementById('plot').getBoundingClientRect())}))")
        check(abs(b.value("firn.state.time") - 0.75 * run["last"]) < 0.02 * run["last"], "the plot does not set the time")
        check(not b.errors, f"the page reports {b.errors}")


def pick(b):
    """A click on the snow shows a particle's numbers."""
    place = b.value("""(() => { // where the middle particle is on the screen
      const run = firn.runs[0], c = document.getElementById('gl'), cam = cameraOf(c.width, c.height), m = multiply(cam.project, cam.view);
      const x = positionOf(run, run.count >> 1, firn.state.time), h = [0, 1, 2, 3].map(i => m[i] * x[0] + m[4 + i] * x[1] + m[8 + i] * x[2] + m[12 + i]);
      return [(0.5 + 0.5 * h[0] / h[3]) * c.clientWidth, (0.5 - 0.5 * h[1] / h[3]) * c.clientHeight]; })()""")
    b.click(*place)
    check(b.value("firn.state.picked !== null"), "a click on the snow finds no particle")
    text = b.value("document.getElementById('about').innerText")
    check("particle" in text and "speed" in text and "m/s" in text, f"no numbers of the particle: {text!r}")
    b.click(4, 4)


def picture_saved(b):
    until = time.monotonic() + b.patience
    while True:
        names = [n for n in os.listdir(b.downloads) if n.endswith(".png")]
        if names:
            break
        if time.monotonic() > until:
            check(False, "'s' saves no picture")
            return
        time.sleep(0.1)
    time.sleep(0.3)
    with open(os.path.join(b.downloads, names[0]), "rb") as file:
        picture = Picture(file.read())
    check(picture.share(is_snow) > 0.01, "the saved picture has no snow")


def two_runs(page, pictures):
    with Browser(520, 400) as b:
        b.open(page)
        b.wait("window.firn && (firn.ready || firn.failed)")
        b.value("document.getElementById('side').style.display = 'none'; firn.setTime(0)")
        both = b.picture(os.path.join(pictures, "two.png"))
        for left in (0, 260):
            check(both.share(is_snow, (left, 70, left + 260, 340)) > 0.005, f"no snow in the half at {left}")
        b.drag(100, 200, 80, 0)
        turned = b.picture()
        for left in (0, 260):
            check(turned.differs(both, (left, 70, left + 260, 340)) > 0.01, f"the half at {left} does not turn")
        check(not b.errors, f"the page reports {b.errors}")


def on_a_phone(page, pictures):
    with Browser(360, 640) as b:
        b.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
        b.open(page)
        b.wait("window.firn && (firn.ready || firn.failed)")
        b.value("firn.setTime(0)")
        first = b.picture(os.path.join(pictures, "phone.png"))
        check(b.value("document.documentElement.scrollWidth") <= 360, "the page is wider than a phone")
        check(b.value("getComputedStyle(document.getElementById('side')).display") == "none", "settings hide the picture")
        b.value("document.getElementById('menu').click()")
        check(b.value("getComputedStyle(document.getElementById('side')).display") != "none", "the menu does not open")
        b.value("document.getElementById('menu').click()")

        def touch(kind, *points):
            b.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(points)])

        before = b.value("firn.state.azimuth")
        touch("touchStart", (150, 300))
        for x in (170, 200, 240):
            touch("touchMove", (x, 300))
        touch("touchEnd")
        b.settle()
        check(b.value("firn.state.azimuth") != before and b.picture().differs(first) > 0.02, "a finger does not turn")
        before = b.value("firn.state.distance")
        touch("touchStart", (150, 300), (210, 300))
        for apart in (40, 60, 80):
            touch("touchMove", (180 - apart, 300), (180 + apart, 300))
        touch("touchEnd")
        check(b.value("firn.state.distance") < before, "two fingers do not bring the snow nearer")
        check(not b.errors, f"the page reports {b.errors}")


def without_webgl(page):
    with Browser(400, 300, flags=["--disable-3d-apis"]) as b:
        b.open(page)
        b.wait("document.getElementById('note').innerText.includes('WebGL2')")
        check("cannot draw" in b.value("document.getElementById('note').innerText"), "no plain words without WebGL2")
        check(not b.errors, f"without WebGL2 the page reports {b.errors}")


def main():
    one, two, pictures = sys.argv[1:]
    one_run(one, pictures)
    two_runs(two, pictures)
    on_a_phone(one, pictures)
    without_webgl(one)
    print("pages of firn view in a browser:", "bad" if bad else "good")
    sys.exit(1 if bad else 0)


main()
