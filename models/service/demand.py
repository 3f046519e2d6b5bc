"""Demand: who wants a log or an answer, and until when. It lives in the web process; the worker only gets requests."""

import time
from typing import NamedTuple


class Requester(NamedTuple):
    """On whose behalf something is wanted: a session, its current screen, and a part of that screen.

    `runs`: the keys of all logs that this part shows. `address`: the client's, empty where it is not known.
    `connection`: tells apart the connections that show the same part.
    """

    session: str
    screen: str
    part: str = ""
    runs: frozenset[str] = frozenset()
    address: str = ""
    connection: int = 0


NOBODY = Requester("", "")


class RowRequest(NamedTuple):
    """`until` rows of a log, on behalf of a session and its address (or of none, if empty)."""

    until: int
    session: str = ""
    address: str = ""


class Demand:
    """What is wanted of one log or answer, with a deadline for each requester, so that nobody prolongs another's.

    One thread changes it at a time; any may read it.
    """

    def __init__(self) -> None:
        self._wants: dict[Requester, tuple[RowRequest, float]] = {}

    def want(self, who: Requester, until: int, seconds: float) -> None:
        """Sets what a requester wants for the next `seconds`, in place of what it wanted before."""
        request = RowRequest(until, who.session, who.address)
        self._wants = self._wants | {_identity(who): (request, time.monotonic() + seconds)}

    def end(self, who: Requester) -> None:
        """Ends what a requester wants."""
        self._wants = {one: want for one, want in self._wants.items() if one != _identity(who)}

    def turn_away(self, who: Requester, *, shown: bool) -> None:
        """Ends what the session of `who` wanted for another screen, and for this part unless it is `shown` there."""
        self._wants = {
            one: want
            for one, want in self._wants.items()
            if one.session != who.session or (one.screen == who.screen and (shown or one.part != who.part))
        }

    def expire(self) -> None:
        """Ends what is past its deadline."""
        now = time.monotonic()
        self._wants = {one: want for one, want in self._wants.items() if want[1] > now}

    def clear(self) -> None:
        """Ends everything."""
        self._wants = {}

    @property
    def requests(self) -> tuple[RowRequest, ...]:
        """What is wanted, by requester."""
        return tuple(goal for goal, _ in self._wants.values())


def _identity(who: Requester) -> Requester:
    return who._replace(runs=frozenset(), address="")
