"""Who wants how much of a tape, and until when: wishes that expire by themselves."""

import time


class Wishes:
    """Rows wanted, each with its own deadline, so that a viewer who left never trains on behind one who stayed."""

    def __init__(self) -> None:
        self._deadlines: dict[int, float] = {}

    def add(self, until: int, seconds: float) -> None:
        """Wishes for `until` rows, for so many seconds from now."""
        self._deadlines[until] = max(time.monotonic() + seconds, self._deadlines.get(until, 0.0))

    def furthest(self, rows: int) -> int:
        """The most rows that a live wish asks for, or 0 where nobody wants more than the `rows` there are."""
        return max((until for until, _ in self.alive(rows)), default=0)

    def alive(self, rows: int) -> list[tuple[int, float]]:
        """Live wishes for more than `rows`, as (rows wanted, seconds left). The others are forgotten."""
        now = time.monotonic()
        self._deadlines = {until: end for until, end in self._deadlines.items() if until > rows and end > now}
        return [(until, end - now) for until, end in self._deadlines.items()]

    def clear(self) -> None:
        """Forgets all of them."""
        self._deadlines = {}
