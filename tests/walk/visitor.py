"""A visitor who presses anything: goes through the running app at random and notes what a person would call broken."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from playwright.sync_api import Error

from tests.walk.checks import CHECKS, Done
from tests.walk.deeds import DEEDS, Hand, OutOfReachError, by_keys, name_of
from tests.walk.finding import Finding
from tests.walk.seen import Seen, read
from tests.walk.tabs import Manner, RestlessError, Tabs

REST = (
    20.0  # seconds after which what still runs, is still empty or is still wrong is broken; over a slow network thrice
)
TRIES = 10  # kinds of deeds that are drawn before a page is left that has none of them


@dataclass
class Visitor:
    """Somebody with a browser on the app at `base` who decides by dice.

    `kill` ends the trainer, where given. `shots`: a folder for pictures of findings. `patience`: seconds after which
    what still runs, or is still wrong, is broken.
    """

    browser: Any
    base: str
    dice: Random
    manner: Manner = field(default_factory=Manner)
    kill: Callable[[], object] | None = None
    shots: Path | None = None
    patience: float = REST
    deeds: int = 0
    missed: int = 0
    findings: list[Finding] = field(default_factory=list)
    _trail: list[str] = field(default_factory=list)
    _caused: set[str] = field(default_factory=set)

    def walk(self, go_on: Callable[[int], bool], begin: str = "/") -> None:
        """Opens a page and does one thing after another, while `go_on` says so of how many were done."""
        self._tabs = Tabs(self.browser, self.base, self.manner, self.patience)
        try:
            done = self._tabs.begin(begin)
            self._trail.append(done.what)
            now = self._look(self._rested(), done)
            while go_on(self.deeds):
                now = self._go_on(now)
        finally:
            self._tabs.context.close()

    def __str__(self) -> str:
        """What was found, and how much was done."""
        counts = f"{self.deeds} deeds, {self.missed} that could not be done, {len(self.findings)} findings"
        return "\n".join([*map(str, self.findings), counts])

    def _go_on(self, now: Seen) -> Seen:
        """One deed, and what is there after it."""
        try:
            done = self._act(now)
        except Error:  # it was taken away or disabled between choosing and pressing: a person would try something else
            self.missed += 1
            self._tabs.now.keyboard.press("Escape")
            return self._rested()
        self.deeds += 1
        self._trail.append(done.what)
        return self._look(now, done)

    def _act(self, now: Seen) -> Done:
        """Does one thing; what may come of it."""
        at = self.dice.random()
        for share, deed in self._journeys():
            if at < share:
                return deed()
            at -= share
        hand = Hand(self._tabs.now, self.dice, self.manner.phone)
        return by_keys(hand, now.path) if self.manner.keyboard or at < 0.03 else self._handle(hand, now.path)

    def _journeys(self) -> Iterator[tuple[float, Callable[[], Done]]]:
        """What is done to a page as a whole, and the share of all deeds that it is."""
        yield 0.04, self._tabs.back
        yield 0.01, self._tabs.forward
        yield 0.06, self._tabs.reload
        if self.manner.tabs or self._tabs.several:
            yield 0.05, self._tabs.other
        if self.kill is not None:
            yield 0.02, self._kill

    def _kill(self) -> Done:
        """Ends the trainer, about which no visitor should be told more than that it goes on."""
        assert self.kill is not None
        self.kill()
        return Done("the trainer is killed", refusable=False)

    def _handle(self, hand: Hand, path: str) -> Done:
        """Does something to one of the things that are there."""
        for _ in range(TRIES):
            (deed,) = self.dice.choices(DEEDS, [deed.weight for deed in DEEDS])
            if not (there := hand.tab.locator(deed.where).all()):
                continue
            one = self.dice.choice(there)
            name = name_of(one)
            try:
                return deed.done(name, deed.do(hand, one), path)
            except OutOfReachError:
                self.missed += 1
            except Error:
                self._trail.append(f"{path}: {deed.name} {name!r}, in vain")
                raise
        return self._tabs.goto("/")

    def _rested(self) -> Seen:
        """What is there once nothing runs, or after all patience."""
        try:
            return self._tabs.rested()
        except RestlessError as error:
            self._keep("restless", str(error))
            return read(self._tabs.now)

    def _look(self, before: Seen, done: Done) -> Seen:
        """What is there after a deed. What is wrong is broken if it stays so."""
        end = time.monotonic() + self.patience
        while True:
            after = self._rested()
            found = [(check.__name__, what) for check in CHECKS for what in check(before, done, after)]
            wrong = [(kind, what) for kind, what in found if what not in self._caused]
            if not any(self._new(*one) for one in wrong) or time.monotonic() > end:
                break
        for kind, what in [*wrong, *(("script", complaint) for complaint in self._tabs.complaints)]:
            self._keep(kind, what)
        self._tabs.complaints.clear()
        if done.refusable:
            self._caused |= set(after.refusals)
        return after

    def _new(self, kind: str, what: str) -> Finding | None:
        """A finding that there was none like before."""
        found = Finding(kind, what, self._tabs.address, tuple(self._trail))
        return None if found.same in {other.same for other in self.findings} else found

    def _keep(self, kind: str, what: str) -> None:
        """Keeps a finding that is new, and its picture where one is asked for."""
        if found := self._new(kind, what):
            self.findings.append(found)
            if self.shots is not None:
                self._tabs.now.screenshot(path=self.shots / f"{len(self.findings):02}-{kind}.png")
