"""A headless Chromium driven over its debugging pipe, with the standard library alone."""

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import time
from base64 import b64decode
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--disable-accelerated-2d-canvas", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--disable-dev-shm-usage", "--hide-scrollbars",
    "--force-color-profile=srgb", "--remote-debugging-pipe", "about:blank",
)  # fmt: skip
PATIENCE = 60.0  # s for any answer, on a busy machine


def executable() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One page; `problems`: console errors, exceptions, refusals; `requests`: all loads."""

    def __init__(self, program: str, profile: Path) -> None:
        commands, self._out = (_high(end) for end in os.pipe())
        self._in, answers = (_high(end) for end in os.pipe())
        log = os.open(profile / "chromium.log", os.O_WRONLY | os.O_CREAT)
        self._pid = os.posix_spawn(
            program,
            (program, f"--user-data-dir={profile}", *FLAGS),
            {**os.environ, "HOME": str(profile)},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, commands, 3),
                (os.POSIX_SPAWN_DUP2, answers, 4),
                (os.POSIX_SPAWN_DUP2, log, 1),
                (os.POSIX_SPAWN_DUP2, log, 2),
            ],
            setpgroup=0,
        )
        for end in (commands, answers, log):
            os.close(end)
        self._rest, self._number, self._session = b"", 0, None
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._loaded = 0
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            self._session = None
            self.call("Browser.close")
        os.close(self._out)
        os.close(self._in)
        for _ in range(100):
            if os.waitpid(self._pid, os.WNOHANG)[0]:
                return
            time.sleep(0.05)
        os.killpg(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)

    def call(self, method: str, **params: object) -> dict:
        """Send a command and wait for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive(PATIENCE)
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def open(self, address: str) -> None:
        """Load a page and wait until it has run its scripts."""
        loaded = self._loaded
        self.call("Page.navigate", url=address)
        while self._loaded == loaded:
            self._receive(PATIENCE)

    def run(self, script: str) -> object:
        """The value of a JavaScript expression in the page; promises are awaited."""
        result = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, f"{script}: {result['exceptionDetails']}"
        return result["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.run(condition):
            assert time.monotonic() < end, f"never true: {condition}"
            time.sleep(0.02)

    def mouse(self, kind: str, x: float, y: float, **more: object) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(
        self, start: tuple[float, float], end: tuple[float, float], shift: bool = False
    ) -> None:
        keys = 8 if shift else 0
        self.mouse("mousePressed", *start, button="left", buttons=1, clickCount=1, modifiers=keys)
        for share in (0.25, 0.5, 0.75, 1.0):
            x, y = (a + share * (b - a) for a, b in zip(start, end, strict=True))
            self.mouse("mouseMoved", x, y, button="left", buttons=1)
        self.mouse("mouseReleased", *end, button="left", buttons=0, clickCount=1)

    def click(self, selector: str) -> None:
        x, y = self.middle(selector)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", buttons=0, clickCount=1)

    def middle(self, selector: str) -> tuple[float, float]:
        """Scroll an element into view; its middle on the screen."""
        x, y = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        return x, y

    def press(self, key: str, code: int, text: str = "", modifiers: int = 0) -> None:
        names = {"key": key, "code": key if len(key) > 1 else "", "windowsVirtualKeyCode": code,
                 "modifiers": modifiers}  # fmt: skip
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **names)
        self.call("Input.dispatchKeyEvent", type="keyUp", **names)

    def resize(self, width: int, height: int, phone: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=2 if phone else 1, mobile=phone,
        )  # fmt: skip

    def dark(self, on: bool) -> None:
        value = "dark" if on else "light"
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": value}],
        )

    def screenshot(self, path: Path, whole: bool = True) -> None:
        result = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(b64decode(result["data"]))

    def _receive(self, patience: float) -> dict:
        end = time.monotonic() + patience
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"Chromium did not answer in {patience:g} s")
            block = os.read(self._in, 1 << 20)
            if not block:
                raise OSError("Chromium ended")
            self._rest += block
        line, self._rest = self._rest.split(b"\0", 1)
        message = json.loads(line)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, event: str, params: dict) -> None:
        if event == "Page.loadEventFired":
            self._loaded += 1
        elif event == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif event == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(params["exceptionDetails"]))
        elif event == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(json.dumps(params["entry"]))
        elif event == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.problems.append(json.dumps(params["args"]))


def _high(descriptor: int) -> int:
    """Duplicate the end of a pipe to a descriptor other than 3 and 4."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved
