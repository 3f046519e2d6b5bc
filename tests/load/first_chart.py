"""Time to controls and to the first chart in a real browser, beside a bare page of Streamlit's."""

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import Figure
from benchmarks.timing import spread
from tests.browser.chromium import MISSING, chromium
from tests.load.server import serving

EMPTY = "import streamlit as st\nst.button('Train')\n"
ONE_CHART = (
    "import plotly.graph_objects as go\nimport streamlit as st\nst.plotly_chart(go.Figure(go.Scatter(y=[1, 3, 2])))\n"
)
# Milliseconds, and bytes a second.
NETWORK = {"offline": False, "latency": 80, "downloadThroughput": 10e6 / 8, "uploadThroughput": 4e6 / 8}
ELSEWHERE = "playground.example"  # a name that the browser does not take for its own machine


@dataclass(frozen=True)
class Page:
    """A server's script, the path of a page on it, and the selector of a chart there."""

    script: str | Path
    path: str
    chart: str

    def wait(self, tab: Any) -> None:
        """Waits until a tab shows the chart."""
        tab.locator(self.chart).first.wait_for()


def browser(rounds: int = 5, remote: int = 2) -> list[Figure]:
    """From opening the address, with an empty cache, to a visible Train button; server and worker are warm.

    And to the first chart on a server that has just started, whose trainer still loads torch: on this machine, and
    `remote` times over a network of 10 Mbit/s and 80 ms.
    """
    named = f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1"
    with tempfile.TemporaryDirectory() as folder, chromium(named) as driven:
        if driven is None:
            return [Figure("address opened to controls", None, note=MISSING)]
        empty, one_chart = Path(folder) / "empty.py", Path(folder) / "one_chart.py"
        empty.write_text(EMPTY)
        one_chart.write_text(ONE_CHART)
        pages = {
            "ours": Page("app.py", "/playground", ".player-chart .main-svg"),
            "one": Page(one_chart, "/", ".main-svg"),
        }
        opened = _opened(driven, empty, rounds)
        charts = _first_charts(driven, pages, rounds + 1)  # the first round warms the browser itself
        afar = _first_charts(driven, pages, remote, NETWORK)
    empty_page = median(opened["an empty page"])
    first = {what: median(all_[1:]) - empty_page for what, all_ in charts.items()}
    note = (
        f"{first['ours']:.2f} s and {first['one']:.2f} s, both beyond an empty page's {empty_page:.2f} s; "
        f"ours {spread(charts['ours'][1:])}"
    )
    figures = [
        *(
            Figure(f"address opened to controls, {what}", median(all_), "s", note=spread(all_))
            for what, all_ in opened.items()
        ),
        Figure(
            "first chart on a fresh server / one st.plotly_chart", first["ours"] / first["one"], at_most=1.0, note=note
        ),
    ]
    if remote:
        times = median(afar["ours"]) / median(afar["one"])
        note = spread(afar["ours"])
        name = "first chart over 10 Mbit/s and 80 ms / one st.plotly_chart"
        figures.append(Figure(name, times, at_most=0.35, note=note))
    return figures


def _opened(driven: Any, empty: Path, rounds: int) -> dict[str, list[float]]:
    """Seconds to controls on warm servers, by turns."""
    with serving() as app, serving(empty) as other:
        app.wait_for(b'"ready"')
        other.wait_for(path="/_stcore/health")
        addresses = {"the playground": f"{app.url}/playground", "an empty page": other.url}
        taken: dict[str, list[float]] = {what: [] for what in addresses}
        for _ in range(rounds + 1):  # the first round warms the browser itself
            for what, address in addresses.items():
                taken[what].append(
                    _seen(driven, address, lambda page: page.get_by_role("button", name="Train").wait_for())
                )
    return {what: all_[1:] for what, all_ in taken.items()}


def _first_charts(
    driven: Any, pages: Mapping[str, Page], rounds: int, network: Mapping[str, Any] | None = None
) -> dict[str, list[float]]:
    """Seconds from opening an address to a chart, by turns, each time on a new server; `network`: emulated."""
    taken: dict[str, list[float]] = {what: [] for what in pages}
    for _ in range(rounds):
        for what, page in pages.items():
            with serving(page.script, PLAYGROUND_PROXIES="1" if network else "0") as fresh:
                fresh.wait_for(path="/_stcore/health")
                address = (fresh.url.replace("127.0.0.1", ELSEWHERE) if network else fresh.url) + page.path
                taken[what].append(_seen(driven, address, page.wait, network))
    return taken


def _seen(driven: Any, address: str, wait: Callable[[Any], None], network: Mapping[str, Any] | None = None) -> float:
    """Seconds until `wait` is over in a tab with an empty cache."""
    page = driven.new_context().new_page()
    if network:
        page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", dict(network))
    began = time.perf_counter()
    page.goto(address)
    wait(page)
    taken = time.perf_counter() - began
    page.context.close()
    return taken
