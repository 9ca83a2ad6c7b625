"""browser.py: headless Chromium, driven over a pipe with the DevTools protocol (messages of JSON that
end with a NUL byte). Only what the test of the report page needs; only the standard library."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def find():
    """The browser's program, or None."""
    return next((found for name in ("chromium", "chromium-browser", "google-chrome")
                 if (found := shutil.which(name))), None)


class Browser:
    """One browser with one tab. Use it in a `with`."""

    def __init__(self, program, timeout=60):
        self.timeout, self.last, self.events, self.buffer = timeout, 0, [], b""
        self.home = tempfile.TemporaryDirectory(prefix="waymark-browser-", ignore_cleanup_errors=True)
        read_3, self.to = os.pipe()
        self.back, write_4 = os.pipe()

        def wire():  # the browser reads from 3 and writes to 4
            first = fcntl.fcntl(read_3, fcntl.F_DUPFD, 10)
            second = fcntl.fcntl(write_4, fcntl.F_DUPFD, 10)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--remote-debugging-pipe", f"--user-data-dir={self.home.name}",
             "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-extensions", "--hide-scrollbars",
             "--force-color-profile=srgb"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=wire, close_fds=False)
        os.close(read_3)
        os.close(write_4)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(10)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.back)
        self.home.cleanup()

    def receive(self, until):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.back], [], [], max(0, until - time.monotonic()))
            more = os.read(self.back, 1 << 16) if ready else b""
            if not more:
                raise RuntimeError("the browser says nothing")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + self.timeout
        while True:
            answer = self.receive(until)
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def wait_for(self, method):
        until = time.monotonic() + self.timeout
        while not any(e["method"] == method for e in self.events):
            message = self.receive(until)
            if "method" in message:
                self.events.append(message)

    def show(self, path, width, height, theme="light", media="", phone=False):
        """Opens a file; the events since then are in self.events."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=2 if phone else 1, mobile=phone)
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": theme}])
        self.events = []
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait_for("Page.loadEventFired")

    def run(self, script):
        """The value of a JavaScript expression."""
        got = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise RuntimeError(json.dumps(got["exceptionDetails"])[:2000])
        return got["result"].get("value")

    def picture(self, path, whole=True):
        got = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as f:
            f.write(base64.b64decode(got["data"]))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True,
                                          preferCSSPageSize=True, paperWidth=8.27,
                                          paperHeight=11.69)["data"])
