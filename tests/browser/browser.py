"""A headless Chromium, driven over a pair of pipes with its own protocol: no package is needed besides it."""

import base64
import json
import os
import select
import shutil
import struct
import subprocess
import tempfile
import time
import zlib

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu-sandbox", "--use-gl=angle", "--use-angle=swiftshader",
         "--enable-unsafe-swiftshader", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--force-device-scale-factor=1"]


class Browser:
    """One page. `patience` is how many seconds anything may take."""

    def __init__(self, width, height, patience=240, flags=()):
        self.patience = patience
        self.profile = tempfile.mkdtemp(prefix="firn-browser-")
        self.downloads = os.path.join(self.profile, "downloads")
        os.mkdir(self.downloads)
        theirs_in, self.to = os.pipe()
        self.back, theirs_out = os.pipe()

        def wire():  # Chromium reads from 3 and writes to 4
            a, b = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(a, 3)
            os.dup2(b, 4)
            os.closerange(5, 256)

        command = ["chromium", *FLAGS, *flags, f"--window-size={width},{height}", f"--user-data-dir={self.profile}",
                   "--remote-debugging-pipe", "about:blank"]
        self.process = subprocess.Popen(command, close_fds=False, preexec_fn=wire, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(theirs_in)
        os.close(theirs_out)
        self.number, self.buffer, self.session, self.errors = 0, b"", None, []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        self.call("Runtime.enable")
        self.call("Page.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=self.downloads)

    def close(self):
        os.close(self.to)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.back)
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _message(self, until):
        while b"\0" not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.back], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self.back, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session and not method.startswith(("Target.", "Browser.")):
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        until = time.monotonic() + self.patience
        while True:
            answer = self._message(until)
            if answer.get("method") == "Runtime.exceptionThrown":
                details = answer["params"]["exceptionDetails"]
                self.errors.append(details.get("exception", {}).get("description", details["text"]))
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def value(self, expression):
        """What a JavaScript expression is."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression):
        until = time.monotonic() + self.patience
        while not self.value(expression):
            if self.errors:
                raise RuntimeError(self.errors[0])
            if time.monotonic() > until:
                raise TimeoutError(f"never true: {expression}")
            time.sleep(0.1)

    def open(self, path):
        """Returns when all of the page's elements are there and its scripts have begun."""
        answer = self.call("Page.navigate", url="file://" + os.path.abspath(path).replace("#", "#", 1))
        if "errorText" in answer:
            raise RuntimeError(f"{path}: {answer['errorText']}")
        self.wait("location.protocol === 'file:' && document.readyState === 'complete'")

    def settle(self):
        """Lets the page draw what has changed."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))))")

    def key(self, key, shift=False):
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, modifiers=8 if shift else 0, **text)
        self.settle()

    def mouse(self, kind, x, y, button="left", buttons=0, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=buttons, clickCount=1, **more)

    def click(self, x, y):
        self.mouse("mousePressed", x, y, buttons=1)
        self.mouse("mouseReleased", x, y)
        self.settle()

    def drag(self, x, y, dx, dy, button="left"):
        buttons = {"left": 1, "right": 2}[button]
        self.mouse("mousePressed", x, y, button, buttons)
        for k in range(1, 5):
            self.mouse("mouseMoved", x + dx * k / 4, y + dy * k / 4, button, buttons)
        self.mouse("mouseReleased", x + dx, y + dy, button)
        self.settle()

    def picture(self, path=None):
        self.settle()
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        if path:
            with open(path, "wb") as file:
                file.write(data)
        return Picture(data)


class Picture:
    """Pixels of a PNG of 8-bit RGB or RGBA."""

    def __init__(self, data):
        assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
        at, packed = 8, b""
        while at < len(data):
            size, kind = struct.unpack(">I4s", data[at:at + 8])
            if kind == b"IHDR":
                self.width, self.height, depth, color = struct.unpack(">IIBB", data[at + 8:at + 18])
                assert depth == 8 and color in (2, 6)
                self.bytes = 3 if color == 2 else 4
            if kind == b"IDAT":
                packed += data[at + 8:at + 8 + size]
            at += 12 + size
        raw, row = zlib.decompress(packed), self.width * self.bytes
        self.rows, above = [], bytearray(row)
        for y in range(self.height):
            kind, line = raw[y * (row + 1)], bytearray(raw[y * (row + 1) + 1:(y + 1) * (row + 1)])
            self._unfilter(kind, line, above)
            self.rows.append(line)
            above = line

    def _unfilter(self, kind, line, above):
        n = self.bytes
        for x in range(len(line) if kind else 0):
            left, up, corner = (line[x - n], above[x], above[x - n]) if x >= n else (0, above[x], 0)
            if kind == 4:
                p = left + up - corner
                pa, pb, pc = abs(p - left), abs(p - up), abs(p - corner)
                guess = left if pa <= pb and pa <= pc else up if pb <= pc else corner
            else:
                guess = (0, left, up, (left + up) // 2)[kind]
            line[x] = (line[x] + guess) & 255

    def at(self, x, y):
        return tuple(self.rows[y][self.bytes * x:self.bytes * x + 3])

    def share(self, test, box=None):
        """Share of the pixels in box (x0, y0, x1, y1) for which test(r, g, b)."""
        x0, y0, x1, y1 = box or (0, 0, self.width, self.height)
        found = sum(bool(test(*self.at(x, y))) for y in range(y0, y1) for x in range(x0, x1))
        return found / ((x1 - x0) * (y1 - y0))

    def differs(self, other, box=None, by=12):
        """Share of the pixels that differ by more than `by` in some colour."""
        x0, y0, x1, y1 = box or (0, 0, self.width, self.height)
        found = sum(max(abs(p - q) for p, q in zip(self.at(x, y), other.at(x, y))) > by
                    for y in range(y0, y1) for x in range(x0, x1))
        return found / ((x1 - x0) * (y1 - y0))
