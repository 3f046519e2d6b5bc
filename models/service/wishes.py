"""Wishes: who wants how much of a tape. They expire by themselves."""

import time
from typing import NamedTuple


class Requester(NamedTuple):
    """On whose behalf something is wanted: a session, its current screen, and a part of that screen.

    `runs`: the keys of all tapes that this part shows. `address`: the client's, empty where it is not known.
    """

    session: str
    screen: str
    part: str = ""
    runs: frozenset[str] = frozenset()
    address: str = ""


NOBODY = Requester("", "")


class RowRequest(NamedTuple):
    """A wish for `until` rows that lives for `seconds` more, on behalf of a session (or of none, if empty)."""

    until: int
    seconds: float
    session: str = ""
    address: str = ""


class Wishes:
    """Wishes with a deadline each, so that a viewer who stays never prolongs the wish of one who left."""

    def __init__(self) -> None:
        self._deadlines: dict[tuple[int, str, str], float] = {}

    def add(self, wish: RowRequest) -> None:
        """Adds a wish."""
        what = wish.until, wish.session, wish.address
        self._deadlines[what] = max(time.monotonic() + wish.seconds, self._deadlines.get(what, 0.0))

    def furthest(self, rows: int) -> int:
        """The most rows that a live wish asks for, or 0 if none asks for more than `rows`."""
        return max((wish.until for wish in self.alive(rows)), default=0)

    def alive(self, rows: int) -> list[RowRequest]:
        """The live wishes for more than `rows`; all others are forgotten."""
        now = time.monotonic()
        self._deadlines = {wish: end for wish, end in self._deadlines.items() if wish[0] > rows and end > now}
        return [RowRequest(until, end - now, *who) for (until, *who), end in self._deadlines.items()]

    def release(self, session: str) -> None:
        """Forgets the wishes of a session."""
        self._deadlines = {wish: end for wish, end in self._deadlines.items() if wish[1] != session}

    def clear(self) -> None:
        """Forgets all wishes."""
        self._deadlines = {}
