"""One browser for all browser tests; each test has visitors of its own, whose console must stay clean."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import TimeoutError as NothingYet

from tests.browser.chromium import ARGS, HEADLESS, SHARING, listen
from tests.browser.page import PATIENCE
from tests.load.server import Server

pytest.register_assert_rewrite("tests.browser.person")  # so that what a person notices is told in full

MOMENT = 5_000  # milliseconds


@pytest.fixture(scope="package")
def playwright() -> Iterator[Any]:
    """There can be one at a time in a process."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="package")
def browser(playwright: Any) -> Iterator[Any]:
    if HEADLESS is None:
        pytest.skip("no Chromium")
    browser = playwright.chromium.launch(executable_path=HEADLESS, args=ARGS + SHARING)
    yield browser
    browser.close()


@pytest.fixture(scope="module", params=["chromium", "firefox", "webkit"])
def engine(request: pytest.FixtureRequest, playwright: Any) -> Iterator[Any]:
    """A browser of each kind that is installed."""
    if request.param == "chromium":
        yield request.getfixturevalue("browser")
        return
    kind = getattr(playwright, request.param)
    if not Path(kind.executable_path).exists():
        pytest.skip(f"no {request.param}: `playwright install {request.param}` brings it")
    launched = kind.launch()
    yield launched
    launched.close()


@dataclass
class Visitors:
    """Opens tabs on a server and notes what went wrong in them.
    Tabs of a context share a cache and, as their first stays open, a process: only one loads and compiles it all.
    """

    browser: Any
    server: Server
    complaints: list[str] = field(default_factory=list)
    tabs: list[Any] = field(default_factory=list)
    _contexts: dict[str, Any] = field(default_factory=dict)

    def __call__(self, path: str, *, server: str = "", **how: Any) -> Any:
        """A tab at a path, not waited for. `server`: another one's address. `how`: viewport, color_scheme, ..."""
        tab = self.tab(**how)
        tab.goto((server or self.server.url) + path)
        return tab

    def tab(self, **how: Any) -> Any:
        """A tab that has not gone anywhere yet; `how` makes a browser context that differs from the usual one."""
        how = {"viewport": {"width": 1280, "height": 720}, "color_scheme": "light"} | how
        context = self._contexts.get(str(how))
        if context is None:
            context = self._contexts[str(how)] = self.browser.new_context(**how)
            context.set_default_timeout(PATIENCE)
            context.new_page().goto(self.server.url + "/healthz")
        tab = context.new_page()
        listen(tab, self.complaints)
        self.tabs.append(tab)
        return tab

    def leave(self) -> list[str]:
        """Pauses what plays, which would be trained on while the next test waits, and closes all tabs, whose browser
        then remembers nothing; the complaints.
        """
        for tab in self.tabs:
            if tab.url.startswith("http") and not tab.is_closed():
                tab.evaluate("localStorage.clear()")
            pause = tab.get_by_role("button", name="Pause", exact=True)
            if not tab.is_closed() and pause.count():
                with suppress(NothingYet):  # the run may end, and its server may have ended, before the click
                    pause.first.click(timeout=MOMENT)
                    pause.first.wait_for(state="hidden", timeout=MOMENT)
            tab.close()
        for context in self._contexts.values():  # a tab may have remembered something while another was cleared
            context.pages[0].evaluate("localStorage.clear()")
            context.clear_cookies()
        complaints = list(self.complaints)
        self.tabs.clear()
        self.complaints.clear()
        return complaints


@pytest.fixture(scope="package")
def crowd(browser: Any, server: Server) -> Visitors:
    return Visitors(browser, server)


@pytest.fixture
def visitors(crowd: Visitors) -> Iterator[Visitors]:
    """Visitors of the shared server. Afterwards none of them may have seen an error or asked another host."""
    yield crowd
    assert crowd.leave() == []
