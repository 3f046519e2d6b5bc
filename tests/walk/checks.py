"""What a person would call broken: each check compares what was seen before a deed with what is seen after it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.browser.page import PAGES
from tests.walk.seen import Seen

ROOMS = {page.partition("?")[0] for page in PAGES} | {"/join"}  # which leads on to what a class is shown
# What Python and JavaScript write where a value or a sentence is missing.
LEAK = re.compile(
    r"\bNone\b(?! of)|\bnan\b|\bundefined\b|\bNaN\b|\[object \w+\]|<[\w.]+ object at 0x|<class '|<function |<bound "
    r"method "
    r"|\(\([^()]*'[^()]*\),?|\bdict_keys\(|\bfrozenset\(|\barray\(|\bnp\.\w+\(|\{'\w+':|\bTraceback\b|\{\w+(\.\w+)*(:[^}]*)?\}(?=\s)"
)


@dataclass(frozen=True)
class Done:
    """What was done, in words, and what may come of it.

    `moves`: it is a way to another page, part, lesson or example. `refusable`: it may ask for what the app refuses.
    `same`: the page was opened again by its address, so that it must show the same.
    """

    what: str
    moves: bool = False
    refusable: bool = True
    same: bool = False


Check = Callable[[Seen, Done, Seen], Iterator[str]]


def traceback(before: Seen, done: Done, after: Seen) -> Iterator[str]:
    """No script of the server fails."""
    yield from after.exceptions


def leak(before: Seen, done: Done, after: Seen) -> Iterator[str]:
    """No text shows a missing value or a value's innards."""
    for text in dict.fromkeys(after.texts):
        if found := LEAK.search(text):
            at = found.start()
            yield " ".join(text[max(0, at - 60) : at + 60].split())


def refusal(before: Seen, done: Done, after: Seen) -> Iterator[str]:
    """Nobody is refused what was not asked for: no link, no Back and no reload leads to a red box."""
    if not done.refusable:
        yield from sorted(set(after.refusals) - set(before.refusals))


def reload(before: Seen, done: Done, after: Seen) -> Iterator[str]:
    """The same address shows the same page, part and setting.

    What it may lose is what belongs to the visit: where a playhead stands, what was typed into a lab, and what is
    folded out or lies in the main area at all but for the words of `PLACES`.
    """
    if done.same:
        yield from _differences(before.place, after.place)
        yield from _differences(*_common(before.side, after.side))


def address(before: Seen, done: Done, after: Seen) -> Iterator[str]:
    """The address changes with the page, part, lesson or example that is shown."""
    if not done.same and before.address == after.address:
        yield from _differences(*_common(before.place, after.place))


def thrown(before: Seen, done: Done, after: Seen) -> Iterator[str]:
    """A press that is no way leaves one where one is; a net that cannot be trained shows fewer sections."""
    if not (done.moves or done.same):
        was, now = _common(before.place, after.place)
        if before.troubles != after.troubles:
            for place in (was, now):
                place.pop("heading 2", None)
        yield from _differences(was, now)


def chart(before: Seen, done: Done, after: Seen) -> Iterator[str]:
    """A chart has a line, or says why not."""
    for one in after.charts:
        if not one.traces and not one.reason:
            yield f"nothing is drawn in {one.name!r}"


def link(before: Seen, done: Done, after: Seen) -> Iterator[str]:
    """Every link within the app leads to a page, and its fragment to a place on it."""
    here = urlsplit(after.address)
    for one in after.links:
        goal = urlsplit(one.whole)
        within = (goal.scheme, goal.netloc) == (here.scheme, here.netloc)
        if not one.href or not one.lands or (within and goal.path not in ROOMS):
            yield f"{one.name!r} leads to {one.href!r}"
    for text in after.dialogs:
        if "Page not found" in text:
            yield f"{done.what} led to no page"


def narrow(before: Seen, done: Done, after: Seen) -> Iterator[str]:
    """No page is wider than its window."""
    if after.wide > 1:
        yield f"{after.wide} pixels wider than the window"


CHECKS: tuple[Check, ...] = (traceback, leak, refusal, reload, address, thrown, chart, link, narrow)


def _differences(before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    """What is not as it was, by its name, in one sentence."""
    pairs = {name: (before.get(name, "nothing"), after.get(name, "nothing")) for name in before | after}
    if changed := [f"{name}: {was!r} became {now!r}" for name, (was, now) in pairs.items() if was != now]:
        yield "; ".join(changed)


def _common(before: dict[str, str], after: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Without what is there on one side only: it was folded, or has come or gone with something else."""
    return {n: v for n, v in before.items() if n in after}, {n: v for n, v in after.items() if n in before}
