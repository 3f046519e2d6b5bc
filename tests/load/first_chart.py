"""Time to controls and to the first chart in a real browser, beside a bare page of Streamlit's."""

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import Figure
from benchmarks.timing import spread
from tests.browser.chromium import ARGS, CHROMIUM, MISSING, chromium
from tests.load.server import Server, serving

EMPTY = "import streamlit as st\nst.button('Train')\n"
ONE_CHART = (
    "import plotly.graph_objects as go\nimport streamlit as st\nst.plotly_chart(go.Figure(go.Scatter(y=[1, 3, 2])))\n"
)
# Milliseconds, and bytes a second.
NETWORK = {"offline": False, "latency": 80, "downloadThroughput": 10e6 / 8, "uploadThroughput": 4e6 / 8}
ELSEWHERE = "playground.example"  # a name that the browser does not take for its own machine
NAMED = f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1"


@dataclass(frozen=True)
class Page:
    """A server's script, the path of a page on it, and the selector of what is waited for there."""

    script: str | Path
    path: str
    awaited: str


def browser(rounds: int = 5, remote: int = 2) -> Iterator[Figure]:
    """From opening the address, with an empty cache, to the Train button and to the first chart.

    The chart's time is that beyond an empty page, beside one `st.plotly_chart`'s: on servers and a browser that are
    warm; on a server that has just started, whose trainer still loads torch, and shares the processor; and in a browser
    that has just started. And `remote` times over a network of 10 Mbit/s and 80 ms.
    """
    with tempfile.TemporaryDirectory() as folder, chromium(NAMED) as driven:
        if driven is None:
            yield Figure("address opened to controls", None, note=MISSING)
            return
        empty, one_chart = Path(folder) / "empty.py", Path(folder) / "one_chart.py"
        empty.write_text(EMPTY)
        one_chart.write_text(ONE_CHART)
        chart = {
            "ours": Page("app.py", "/playground", ".player-chart .main-svg"),
            "one": Page(one_chart, "/", ".main-svg"),
        }
        button = "[data-testid=stMain] button:has-text('Train')"
        pages = chart | {"empty": Page(empty, "/", button), "controls": Page("app.py", "/playground", ".player-main")}
        for way, how in {"warm": {}, "fresh server": {"fresh": True}, "new browser": {"cold": True}}.items():
            taken = _times(driven, pages, rounds + 1, **how)  # the first round warms the browser itself
            walls = {what: [wall for wall, _ in all_[1:]] for what, all_ in taken.items()}
            controls = walls.pop("controls")
            yield Figure(f"address opened to controls, {way}", median(controls), "s", note=spread(controls))
            yield _beyond_empty(f"first chart / one st.plotly_chart, {way}", walls)
            spent = {what: [processor for _, processor in taken[what][1:]] for what in walls}
            yield _beyond_empty(f"the same in processor time of the page, {way}", spent)
        if remote:
            afar = _times(driven, chart, remote, fresh=True, network=NETWORK)
            ours, one = ([wall for wall, _ in afar[what]] for what in chart)
            name = "first chart over 10 Mbit/s and 80 ms / one st.plotly_chart"
            yield Figure(name, median(ours) / median(one), at_most=0.35, note=spread(ours))


def _beyond_empty(name: str, seconds: Mapping[str, list[float]]) -> Figure:
    """The ratio of our time to that of one chart, both beyond that of an empty page."""
    empty = median(seconds["empty"])
    ours, one = (median(seconds[what]) - empty for what in ("ours", "one"))
    note = f"{ours:.2f} s and {one:.2f} s beyond an empty page's {empty:.2f} s; ours {spread(seconds['ours'])}"
    return Figure(name, ours / one, at_most=1.05, note=note)


def _times(
    driven: Any,
    pages: Mapping[str, Page],
    rounds: int,
    *,
    fresh: bool = False,
    cold: bool = False,
    network: Mapping[str, Any] | None = None,
) -> dict[str, list[tuple[float, float]]]:
    """Wall and processor seconds from opening each page to what is awaited there, by turns.

    `fresh`: each time on a new server. `cold`: in a new browser. `network`: emulated.
    """
    taken: dict[str, list[tuple[float, float]]] = {what: [] for what in pages}
    with ExitStack() as stack:
        warm: dict[str | Path, Server] = {}
        for page in pages.values():
            if not fresh and page.script not in warm:
                warm[page.script] = stack.enter_context(serving(page.script))
                warm[page.script].wait_for(*((b'"ready"',) if page.script == "app.py" else (b"", "/_stcore/health")))
        for _ in range(rounds):
            for what, page in pages.items():
                with ExitStack() as turn:
                    server = warm.get(page.script)
                    if server is None:
                        server = turn.enter_context(serving(page.script, PLAYGROUND_PROXIES="1" if network else "0"))
                        server.wait_for(path="/_stcore/health")
                    address = (server.url.replace("127.0.0.1", ELSEWHERE) if network else server.url) + page.path
                    used = driven.browser_type.launch(executable_path=CHROMIUM, args=[*ARGS, NAMED]) if cold else driven
                    taken[what].append(_seen(used, address, page.awaited, network))
                    if cold:
                        used.close()
    return taken


def _seen(driven: Any, address: str, awaited: str, network: Mapping[str, Any] | None) -> tuple[float, float]:
    """Seconds until a tab with an empty cache shows the awaited, and those that its process has computed by then."""
    page = driven.new_context().new_page()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    if network:
        session.send("Network.emulateNetworkConditions", dict(network))
    began = time.perf_counter()
    page.goto(address)
    page.locator(awaited).first.wait_for()
    wall = time.perf_counter() - began
    metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    page.context.close()
    return wall, metrics["ProcessTime"]
