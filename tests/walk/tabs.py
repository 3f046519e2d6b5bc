"""The tabs of one visitor: how they come, how one goes through them, and when a page is at rest."""

import re
import time
from dataclasses import dataclass, field
from typing import Any

from tests.browser.chromium import listen
from tests.browser.page import PATIENCE
from tests.walk.checks import Done
from tests.walk.deeds import MOMENT
from tests.walk.seen import Seen, read

CALM = 3  # looks in a row, a glance apart, in which no script runs
GLANCE = 120  # milliseconds
PLAYING = 1.0  # seconds after which a page is looked at that a run keeps busy
FAR = re.compile(r"\w+ing\b[^.:]*: \d+%|step \d+ of \d+")  # how far what a page waits for is
QUIET = '[data-testid="stApp"][data-test-script-state="notRunning"]'
SLOW = {
    "offline": False,
    "latency": 300,
    "downloadThroughput": 2e6 / 8,
    "uploadThroughput": 1e6 / 8,
}  # ms and bytes a second
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
DESK = {"viewport": {"width": 1280, "height": 800}}


@dataclass(frozen=True)
class Manner:
    """How a visitor comes: on what, with what, in which theme, over what network, and whether with a second tab."""

    phone: bool = False
    keyboard: bool = False
    dark: bool = False
    slow: bool = False
    tabs: bool = False


class RestlessError(Exception):
    """A page on which nothing plays goes on running."""


@dataclass
class Tabs:
    """What one visitor has open of the app at `base`, in a context of its own. `complaints`: what was heard of them."""

    browser: Any
    base: str
    manner: Manner
    patience: float
    complaints: list[str] = field(default_factory=list)
    _open: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        shape = PHONE if self.manner.phone else DESK
        self.context = self.browser.new_context(**shape, color_scheme="dark" if self.manner.dark else "light")
        self.context.on("page", self._opened)

    @property
    def now(self) -> Any:
        """The tab that is looked at."""
        return self._open[-1]

    @property
    def several(self) -> bool:
        """Whether there is another, opened by hand or by a link."""
        return len(self._open) > 1

    @property
    def address(self) -> str:
        """Its address, which playwright's own `url` is late to know."""
        return str(self.now.evaluate("location.href"))

    def begin(self, path: str) -> Done:
        """Opens a page in a first tab."""
        self._new()
        return self.goto(path)

    def goto(self, path: str) -> Done:
        """Opens a page by its address."""
        self.now.goto(self.base + path)
        return Done(f"open {path}", moves=True, refusable=False)

    def back(self) -> Done:
        """Where one was before; never out of the app."""
        self.now.go_back(timeout=MOMENT)
        return Done("Back", moves=True, refusable=False) if self.address.startswith(self.base) else self.goto("/")

    def forward(self) -> Done:
        """Where one has come back from."""
        self.now.go_forward(timeout=MOMENT)
        return Done("Forward", moves=True, refusable=False)

    def reload(self) -> Done:
        """The same address again."""
        self.now.reload()
        return Done("reload", refusable=False, same=True)

    def other(self) -> Done:
        """The same address in a second tab; where there are two, one of them is closed."""
        if self.several:
            self._open.pop(self._open.index(self.now) - 1).close()
            return Done("close the other tab", refusable=False)
        address = self.address
        self._new()
        self.now.goto(address)
        return Done("open the address in another tab", refusable=False, same=True)

    def rested(self) -> Seen:
        """What is there once no script runs; a run that plays keeps a page busy, and is looked at while it plays.

        A page that waits for the trainer has time for as long as it says of new numbers how far the work is.
        """
        began, calm, said = time.monotonic(), 0, set[str]()
        self.now.wait_for_timeout(2 * GLANCE)
        while calm < CALM:
            calm = calm + 1 if self.now.locator(QUIET).count() else 0
            self.now.wait_for_timeout(GLANCE)
            if (passed := time.monotonic() - began) < PLAYING:
                continue
            seen = read(self.now)
            if seen.plays:
                return seen
            if fresh := set(FAR.findall(" ".join(seen.texts))) - said:
                began, said = time.monotonic() - PLAYING, said | fresh
            elif passed > self.patience:
                raise RestlessError(f"still running after {passed:.0f} s")
        return read(self.now)

    def _opened(self, tab: Any) -> None:
        """A tab, whoever opened it."""
        tab.set_default_timeout(PATIENCE)
        listen(tab, self.complaints)
        self._open.append(tab)

    def _new(self) -> None:
        """A tab of the visitor's own, slow where the network is; it cannot be slowed while playwright tells of it."""
        tab = self.context.new_page()
        if self.manner.slow:
            self.context.new_cdp_session(tab).send("Network.emulateNetworkConditions", SLOW)
