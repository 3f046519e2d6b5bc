"""Time to controls in a real browser, beside that of an empty Streamlit page: what the app adds to Streamlit."""

import shutil
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import Figure
from benchmarks.timing import spread
from tests.load.server import serving

EMPTY = "import streamlit as st\nst.button('Train')\n"


CHART = ".live-chart .main-svg"


def browser(rounds: int = 5) -> list[Figure]:
    """From opening the address, with an empty cache, to a Train button that can be seen; server and worker are warm.

    And to the first chart on a server that has just started, whose trainer still loads torch.
    """
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None or find_spec("playwright") is None:
        return [Figure("address opened to controls", None, note="no chromium or no playwright here")]
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "empty.py"
        script.write_text(EMPTY)
        with serving() as app, serving(script) as empty:
            app.wait_for(b'"ready"')
            empty.wait_for(path="/_stcore/health")
            addresses = {"the playground": f"{app.url}/playground", "an empty page": empty.url}
            taken = _opened(chromium, addresses, rounds)
            empty_page = taken["an empty page"]
            charts = _first_charts(chromium, rounds)
    figures = [
        Figure(f"address opened to controls, {what}", median(all_), "s", note=spread(all_)) for what, all_ in taken.items()
    ]
    beyond = median(charts) - median(empty_page)
    note = f"{spread(charts)}; an empty page {median(empty_page):.2f} s"
    return [*figures, Figure("first chart on a fresh server, beyond an empty page", beyond, "s", at_most=1.5, note=note)]


def _opened(chromium: str, addresses: dict[str, str], rounds: int) -> dict[str, list[float]]:
    from playwright.sync_api import sync_playwright

    taken: dict[str, list[float]] = {what: [] for what in addresses}
    with sync_playwright() as playwright:
        driven = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(rounds + 1):  # the first round warms the browser itself
            for what, address in addresses.items():
                taken[what].append(_seen(driven, address, lambda page: page.get_by_role("button", name="Train").wait_for()))
        driven.close()
    return {what: all_[1:] for what, all_ in taken.items()}


def _first_charts(chromium: str, rounds: int) -> list[float]:
    """Seconds from opening the playground to a chart, on a server of its own each time."""
    from playwright.sync_api import sync_playwright

    taken = []
    with sync_playwright() as playwright:
        driven = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(rounds + 1):
            with serving() as fresh:
                fresh.wait_for(path="/_stcore/health")
                taken.append(_seen(driven, f"{fresh.url}/playground", lambda page: page.locator(CHART).first.wait_for()))
        driven.close()
    return taken[1:]


def _seen(driven: Any, address: str, wait: Callable[[Any], None]) -> float:
    """Seconds until a tab with an empty cache shows what is waited for."""
    page = driven.new_context().new_page()
    began = time.perf_counter()
    page.goto(address)
    wait(page)
    taken = time.perf_counter() - began
    page.context.close()
    return taken
