"""Two engines besides Chromium's, which Playwright does not drive as
Debian builds them: Firefox over WebDriver BiDi, and WebKitGTK over
WebDriver below an X server of its own. Each is skipped where it is
not installed.
"""

import json
import os
import re
import subprocess
import time
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from tests.load.server import end, free_port
from tests.waiting import PATIENCE

SIZE = (1280, 900)
# Errors of a page's scripts, from the moment that its document is there.
NOTES = "window.errors ??= (addEventListener('error', (event) => errors.push(event.message)), "
NOTES += "addEventListener('unhandledrejection', (event) => errors.push(String(event.reason))), [])"


class Engine(ABC):
    """A browser with one window."""

    name = ""

    @abstractmethod
    def goes(self, address: str) -> None:
        """To an address, which is not waited for."""

    @abstractmethod
    def says(self, expression: str) -> Any:
        """The value of an expression of JavaScript in the page."""

    @abstractmethod
    def _acts(self, actions: list[dict[str, Any]]) -> None:
        """Performs actions of the mouse, in the form that both protocols share."""

    def until(self, expression: str, what: str) -> Any:
        """Waits until an expression is true; its value."""
        deadline = time.monotonic() + PATIENCE
        while not (value := self.says(f"({NOTES}, {expression})")):
            assert time.monotonic() < deadline, f"{self.name} waited in vain: {what}"
            time.sleep(0.1)
        return value

    def presses(self, *points: tuple[float, float]) -> None:
        """Presses the mouse at the first point and lets go at the last."""
        moves = [{"type": "pointerMove", "x": round(x), "y": round(y), "duration": 50} for x, y in points]
        down, up = ({"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp"))
        self._acts([moves[0], down, *moves[1:], up])

    def place(self, element: str) -> tuple[float, float, float, float]:
        """Left, top, width and height of what a selector finds, in the window."""
        box = f"document.querySelector({element!r}).getBoundingClientRect()"
        x, y, width, height = self.says(f"(({{ x, y, width, height }}) => [x, y, width, height])({box})")
        return x, y, width, height

    def presses_on(self, element: str) -> None:
        """Presses the middle of what a selector finds."""
        x, y, width, height = self.place(element)
        self.presses((x + width / 2, y + height / 2))


class Firefox(Engine):
    """Firefox without a window, over WebDriver BiDi."""

    name = "Firefox"

    def __init__(self, socket: ClientConnection) -> None:
        self.socket, self.turn = socket, 0
        self._asks("session.new", capabilities={})
        (top,) = self._asks("browsingContext.getTree")["contexts"]
        self.tab = top["context"]
        self._asks(
            "browsingContext.setViewport", context=self.tab, viewport=dict(zip(("width", "height"), SIZE, strict=True))
        )

    def _asks(self, method: str, **params: Any) -> Any:
        self.turn += 1
        self.socket.send(json.dumps({"id": self.turn, "method": method, "params": params}))
        while True:
            said = json.loads(self.socket.recv(timeout=PATIENCE))
            if said.get("id") == self.turn:
                assert said["type"] == "success", said
                return said["result"]

    def goes(self, address: str) -> None:
        self._asks("browsingContext.navigate", context=self.tab, url=address, wait="interactive")

    def says(self, expression: str) -> Any:
        how = {"target": {"context": self.tab}, "awaitPromise": False}
        said = self._asks("script.evaluate", expression=f"JSON.stringify({expression}) ?? 'null'", **how)
        assert said["type"] == "success", said
        return json.loads(said["result"]["value"])

    def _acts(self, actions: list[dict[str, Any]]) -> None:
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}
        self._asks("input.performActions", context=self.tab, actions=[mouse])


class WebKit(Engine):
    """WebKitGTK's small browser, over its WebDriver."""

    name = "WebKitGTK"

    def __init__(self, driver: str, binary: str) -> None:
        self.driver, self.at = driver, ""
        options = {"binary": binary, "args": ["--automation"]}
        wanted = {"pageLoadStrategy": "none", "webkitgtk:browserOptions": options}
        made = self._asks("session", {"capabilities": {"alwaysMatch": wanted}})
        self.at = f"session/{made['sessionId']}/"
        self._asks("window/rect", dict(zip(("x", "y", "width", "height"), (0, 0, *SIZE), strict=True)))

    def _asks(self, what: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.driver}/{self.at}{what}", data, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)["value"]

    def goes(self, address: str) -> None:
        self._asks("url", {"url": address})

    def says(self, expression: str) -> Any:
        said = self._asks("execute/sync", {"script": f"return JSON.stringify({expression}) ?? 'null'", "args": []})
        return json.loads(said)

    def _acts(self, actions: list[dict[str, Any]]) -> None:
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}
        self._asks("actions", {"actions": [mouse]})


@contextmanager
def _running(*command: str, **environment: str) -> Iterator["subprocess.Popen[str]"]:
    """A program, ended at the end of the block; what it writes to stderr can be read."""
    started = subprocess.Popen(
        command, env=os.environ | environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        yield started
    finally:
        end(started)


@contextmanager
def firefox() -> Iterator[Engine]:
    """Debian's Firefox with a profile of its own."""
    binary = which("firefox-esr") or which("firefox")
    if binary is None:
        pytest.skip("no Firefox")
    with (
        TemporaryDirectory() as home,
        _running(binary, "--headless", "--remote-debugging-port", "0", "--profile", home, HOME=home) as program,
    ):
        assert program.stderr is not None
        listens = next(
            (found for line in program.stderr if (found := re.search(r"BiDi listening on (ws://\S+)", line))), None
        )
        assert listens is not None, "Firefox ended before it listened"
        with connect(f"{listens[1]}/session", max_size=None, open_timeout=PATIENCE) as socket:
            yield Firefox(socket)


@contextmanager
def webkit() -> Iterator[Engine]:
    """Debian's WebKitGTK below an X server that nobody sees."""
    driver, screen = which("WebKitWebDriver"), which("Xvfb")
    browsers = sorted(Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser"))
    if driver is None or screen is None or not browsers:
        pytest.skip("no WebKitGTK with its WebDriver, or no Xvfb")
    port, read, write = free_port(), *os.pipe()
    with TemporaryDirectory() as home:
        size = f"{SIZE[0]}x{SIZE[1]}x24"
        display = subprocess.Popen(
            [screen, "-displayfd", str(write), "-screen", "0", size, "-nolisten", "tcp"],
            pass_fds=[write],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(write)
        try:
            with os.fdopen(read) as said:
                number = said.readline().strip()
            with _running(driver, f"--port={port}", DISPLAY=f":{number}", HOME=home, NO_AT_BRIDGE="1"):
                address = f"http://127.0.0.1:{port}"
                _until_listening(f"{address}/status")
                yield WebKit(address, str(browsers[-1]))
        finally:
            display.terminate()
            display.wait()


def _until_listening(address: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            assert time.monotonic() < deadline, f"{address} never answered"
            time.sleep(0.05)


ENGINES: dict[str, Callable[[], Any]] = {"Firefox": firefox, "WebKitGTK": webkit}
