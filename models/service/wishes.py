"""Who wants how much of a tape, and until when: wishes that expire by themselves."""

import time
from typing import NamedTuple


class Owner(NamedTuple):
    """On whose behalf something is wanted: a session, its screen, of which it has one at a time, and a part of that.

    `runs`: the keys of all tapes that this part is about.
    """

    session: str
    screen: str
    part: str = ""
    runs: frozenset[str] = frozenset()


class Wish(NamedTuple):
    """So many rows, for so many seconds more, on somebody's behalf (a session's name; empty where it is nobody's)."""

    until: int
    seconds: float
    session: str


class Wishes:
    """Rows wanted, each with its own deadline, so that a viewer who left never trains on behind one who stayed."""

    def __init__(self) -> None:
        self._deadlines: dict[tuple[int, str], float] = {}

    def add(self, until: int, seconds: float, session: str = "") -> None:
        """Wishes for `until` rows, for so many seconds from now."""
        wish = until, session
        self._deadlines[wish] = max(time.monotonic() + seconds, self._deadlines.get(wish, 0.0))

    def furthest(self, rows: int) -> int:
        """The most rows that a live wish asks for, or 0 where nobody wants more than the `rows` there are."""
        return max((wish.until for wish in self.alive(rows)), default=0)

    def alive(self, rows: int) -> list[Wish]:
        """Live wishes for more than `rows`. The others are forgotten."""
        now = time.monotonic()
        self._deadlines = {wish: end for wish, end in self._deadlines.items() if wish[0] > rows and end > now}
        return [Wish(until, end - now, session) for (until, session), end in self._deadlines.items()]

    def release(self, session: str) -> None:
        """Forgets the wishes of a session."""
        self._deadlines = {wish: end for wish, end in self._deadlines.items() if wish[1] != session}

    def clear(self) -> None:
        """Forgets all of them."""
        self._deadlines = {}
