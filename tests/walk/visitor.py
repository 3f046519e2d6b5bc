"""A visitor who presses anything: goes through the running app at random and notes what a person would call broken."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from playwright.sync_api import Error

from tests.browser.chromium import listen
from tests.walk.checks import CHECKS, Done
from tests.walk.deeds import DEEDS, MOMENT, Hand, OutOfReachError, by_keys
from tests.walk.seen import Seen, read

REST = 20.0  # seconds after which what still runs, is still empty or is still wrong is broken; over a slow network thrice
CALM = 3  # looks in a row, a glance apart, in which no script runs
GLANCE = 120  # milliseconds
PLAYING = 1.0  # seconds after which a page is looked at that a run keeps busy
TRAIL = 8  # deeds that lead to a finding, as far as they are told
TRIES = 10  # kinds of deeds that are drawn before a page is left that has none of them
QUIET = '[data-testid="stApp"][data-test-script-state="notRunning"]'
SLOW = {"offline": False, "latency": 300, "downloadThroughput": 2e6 / 8, "uploadThroughput": 1e6 / 8}  # ms and bytes a second
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
DESK = {"viewport": {"width": 1280, "height": 800}}

NAME = """(e) => {
  const words = e.querySelector("[data-testid=stMarkdownContainer]") ?? e
  const group = e.closest("[role=radiogroup]")?.ariaLabel ?? ""
  return `${group} ${e.ariaLabel ?? e.closest(".live-chart")?.ariaLabel ?? words.innerText ?? ""}`
}"""


@dataclass(frozen=True)
class Manner:
    """How a visitor comes: on what, over what, in which theme, with what; and whether the trainer is killed meanwhile."""

    phone: bool = False
    keyboard: bool = False
    dark: bool = False
    slow: bool = False
    tabs: bool = False

    def context(self, browser: Any) -> Any:
        """A browser's context of one's own."""
        shape = PHONE if self.phone else DESK
        return browser.new_context(**shape, color_scheme="dark" if self.dark else "light")


@dataclass(frozen=True)
class Finding:
    """What is broken, of which kind, where, and the deeds that led there."""

    kind: str
    what: str
    address: str
    trail: tuple[str, ...]

    def __str__(self) -> str:
        """Enough for a person to do it again."""
        steps = "".join(f"\n    {at}. {deed}" for at, deed in enumerate(self.trail, 1))
        return f"{self.kind}: {self.what}\n  at {self.address} after{steps}"

    @property
    def same(self) -> tuple[str, str]:
        """Findings that differ in numbers only are one."""
        return self.kind, re.sub(r"\d+", "0", self.what)[:80]


@dataclass
class Visitor:
    """Somebody on the app at `base`, in a browser's context, who decides by dice.

    `kill` ends the trainer, where given. `patience`: seconds after which what still runs, or is still wrong, is broken.
    """

    context: Any
    base: str
    dice: Random
    manner: Manner = Manner()
    kill: Callable[[], object] | None = None
    shots: Path | None = None
    patience: float = REST
    deeds: int = 0
    missed: int = 0
    findings: list[Finding] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    _tabs: list[Any] = field(default_factory=list)
    _trail: list[str] = field(default_factory=list)
    _caused: set[str] = field(default_factory=set)

    def walk(self, go_on: Callable[[int], bool], begin: str = "/") -> None:
        """Opens a page and does one thing after another, while `go_on` says so of how many were done."""
        self.context.on("page", self._opened)
        self.context.new_page()
        self._trail.append(f"open {begin}")
        self._tab.goto(self.base + begin)
        now = self._look(self._rested(), Done(f"open {begin}", moves=True, refusable=False))
        while go_on(self.deeds):
            try:
                done = self._act(now)
            except Error:  # it was taken away or disabled between choosing and pressing: a person would try something else
                self.missed += 1
                self._tab.keyboard.press("Escape")
                now = self._rested()
                continue
            self.deeds += 1
            now = self._look(now, done)

    @property
    def _tab(self) -> Any:
        return self._tabs[-1]

    def _opened(self, tab: Any) -> None:
        """A tab, whoever opened it."""
        tab.set_default_timeout(1000 * self.patience)
        listen(tab, self.complaints)
        if self.manner.slow:
            tab.context.new_cdp_session(tab).send("Network.emulateNetworkConditions", SLOW)
        self._tabs.append(tab)

    def _act(self, now: Seen) -> Done:
        """One deed, and what may come of it."""
        at = self.dice.random()
        for share, deed in self._journeys():
            if at < share:
                return self._note(deed())
            at -= share
        return self._note(self._keys(now) if self.manner.keyboard or at < 0.03 else self._handle(now))

    def _journeys(self) -> Iterator[tuple[float, Callable[[], Done]]]:
        """What is done to a page as a whole, and how often."""
        yield 0.04, self._back
        yield 0.01, self._forward
        yield 0.06, self._reload
        if self.manner.tabs or len(self._tabs) > 1:
            yield 0.05, self._other_tab
        if self.kill is not None:
            yield 0.02, self._killed

    def _back(self) -> Done:
        self._tab.go_back(timeout=MOMENT)
        if not self._tab.url.startswith(self.base):
            self._tab.goto(self.base)
        return Done("Back", moves=True, refusable=False)

    def _forward(self) -> Done:
        self._tab.go_forward(timeout=MOMENT)
        return Done("Forward", moves=True, refusable=False)

    def _reload(self) -> Done:
        self._tab.reload()
        return Done("reload", refusable=False, same=True)

    def _other_tab(self) -> Done:
        """The same address in a second tab, or back to the first."""
        if len(self._tabs) > 1:
            tab = self._tabs.pop(self.dice.randrange(len(self._tabs)))
            tab.close()
            return Done("close a tab", moves=True, refusable=False)
        address = self._tab.evaluate("location.href")
        self.context.new_page()
        self._tab.goto(address)
        return Done("open the address in another tab", refusable=False, same=True)

    def _killed(self) -> Done:
        assert self.kill is not None
        self.kill()
        return Done("the trainer is killed", refusable=False)

    def _keys(self, now: Seen) -> Done:
        return by_keys(Hand(self._tab, self.dice, self.manner.phone), now.path)

    def _handle(self, now: Seen) -> Done:
        """One of the things that are there."""
        hand = Hand(self._tab, self.dice, self.manner.phone)
        for _ in range(TRIES):
            (deed,) = self.dice.choices(DEEDS, [deed.weight for deed in DEEDS])
            if there := self._tab.locator(deed.where).all():
                one = self.dice.choice(there)
                name = _name(one)
                try:
                    detail = deed.do(hand, one)
                except OutOfReachError:
                    self.missed += 1
                    continue
                except Error:
                    self._trail.append(f"{now.path}: {deed.name} {name!r}, in vain")
                    raise
                return deed.done(name, detail, now.path)
        self._tab.goto(self.base)
        return Done("leave for the first page", moves=True, refusable=False)

    def _note(self, done: Done) -> Done:
        self._trail.append(done.what)
        return done

    def _rested(self) -> Seen:
        """What is there once no script runs; a run that plays keeps a page busy, and is looked at while it plays."""
        began, calm, after = time.monotonic(), 0, read(self._tab)
        self._tab.wait_for_timeout(2 * GLANCE)
        while calm < CALM:
            calm = calm + 1 if self._tab.locator(QUIET).count() else 0
            passed = time.monotonic() - began
            if passed > self.patience:
                self._find("restless", f"still running after {passed:.0f} s")
                break
            self._tab.wait_for_timeout(GLANCE)
            if passed > PLAYING and (after := read(self._tab)).plays:
                break
        return read(self._tab) if calm else after

    def _look(self, before: Seen, done: Done) -> Seen:
        """What is there after a deed. What is wrong is broken if it stays so."""
        end = time.monotonic() + self.patience
        while True:
            after = self._rested()
            wrong = list(self._wrong(before, done, after))
            if all(found.same in self._known() for found in wrong) or time.monotonic() > end:
                break
        for found in wrong:
            self._find(found.kind, found.what)
        for complaint in self.complaints:
            self._find("script", complaint)
        self.complaints.clear()
        if done.refusable:
            self._caused |= set(after.refusals)
        return after

    def _wrong(self, before: Seen, done: Done, after: Seen) -> Iterator[Finding]:
        for check in CHECKS:
            for what in check(before, done, after):
                if what not in self._caused:
                    yield Finding(check.__name__, what, after.address, tuple(self._trail[-TRAIL:]))

    def _known(self) -> set[tuple[str, str]]:
        return {finding.same for finding in self.findings}

    def _find(self, kind: str, what: str) -> None:
        """Keeps a finding that is new, and its picture where one is asked for."""
        found = Finding(kind, what, self._tab.evaluate("location.href"), tuple(self._trail[-TRAIL:]))
        if found.same in self._known():
            return
        self.findings.append(found)
        if self.shots is not None:
            self._tab.screenshot(path=self.shots / f"{len(self.findings):02}-{kind}.png")


def _name(one: Any) -> str:
    """What a person would call a thing: its name, or its words without their icon; a choice with what it is a choice of."""
    return " ".join(one.evaluate(NAME, timeout=MOMENT).split())[:60]
