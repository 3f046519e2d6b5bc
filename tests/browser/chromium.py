"""The system's Chromium: how it is started, and what is heard of its tabs."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from shutil import which
from typing import Any
from urllib.parse import urlsplit

CHROMIUM = which("chromium") or which("chromium-browser") or which("google-chrome")
# The same engine without a window, a sixth cheaper per page: what tests drive, where it is installed.
HEADLESS = which("chromium-headless-shell") or CHROMIUM
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
ARGS += ["--disable-component-update", "--disable-sync"]
# All tabs share a process, and scripts are fetched in a way that finds them compiled: that was a third of a page's cost.
SHARING = ["--process-per-site", "--disable-features=BackgroundResourceFetch,PaintHolding"]
# Streamlit looks for its server below the page's own path first, once per deep link.
MISSING = "no Chromium or no Playwright here"
STREAMLITS_OWN = re.compile(r"/_stcore/(health|host-config)$")


def listen(tab: Any, complaints: list[str]) -> None:
    """Notes errors of the page's scripts, errors in its console, and requests that leave this machine."""

    def heard(message: Any) -> None:
        address = message.location.get("url", "")
        if message.type == "error" and not STREAMLITS_OWN.search(address):
            complaints.append(f"console: {message.text} ({address})")

    def asked(request: Any) -> None:
        address = urlsplit(request.url)
        if address.scheme not in ("data", "blob") and address.hostname != "127.0.0.1":
            complaints.append(f"a request left this machine: {request.url}")

    tab.on("console", heard)
    tab.on("pageerror", lambda error: complaints.append(f"page error: {error}"))
    tab.on("request", asked)
    tab.on("websocket", asked)


@contextmanager
def chromium(*arguments: str) -> Iterator[Any]:
    """A browser driven by Playwright, for a `with` block; None where there is none."""
    if CHROMIUM is None or find_spec("playwright") is None:
        yield None
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGS, *arguments])
        yield browser
        browser.close()
