"""Demand: who requests a log or an answer, and until when. Part of the web process; the worker only gets requests."""

import time
from typing import NamedTuple


class Requester(NamedTuple):
    """A session, its current screen, and the part of that screen that shows a log or an answer.

    `runs`: the keys of all logs that this part shows. `address`: the client's; empty if unknown.
    `connection`: distinguishes connections that show the same part.
    """

    session: str
    screen: str
    part: str = ""
    runs: frozenset[str] = frozenset()
    address: str = ""
    connection: int = 0


NOBODY = Requester("", "")


class RowRequest(NamedTuple):
    """A request for the first `until` rows of a log; session and address are empty if nobody in particular asks."""

    until: int
    session: str = ""
    address: str = ""


class Demand:
    """The requests for one log or answer, with a deadline for each requester, so that nobody prolongs another's.

    One thread changes it at a time; any may read it.
    """

    def __init__(self) -> None:
        self._requests: dict[Requester, tuple[RowRequest, float]] = {}

    def add(self, requester: Requester, until: int, seconds: float) -> None:
        """Sets what a requester wants for the next `seconds`, in place of its earlier request."""
        request = RowRequest(until, requester.session, requester.address)
        self._requests = self._requests | {_identity(requester): (request, time.monotonic() + seconds)}

    def end(self, requester: Requester) -> None:
        identity = _identity(requester)
        self._requests = {other: entry for other, entry in self._requests.items() if other != identity}

    def end_hidden(self, requester: Requester, *, is_shown: bool) -> None:
        """Ends what this session no longer shows: the requests of its other screens.

        Unless `is_shown`, the requests of the same part of this screen end too.
        """

        def is_visible(other: Requester) -> bool:
            return other.screen == requester.screen and (is_shown or other.part != requester.part)

        self._requests = {
            other: entry
            for other, entry in self._requests.items()
            if other.session != requester.session or is_visible(other)
        }

    def end_of_pages(self, session: str) -> None:
        """Ends the requests of a session's pages, but not those of its connections."""
        self._requests = {
            other: entry for other, entry in self._requests.items() if other.session != session or other.connection
        }

    def expire(self) -> None:
        """Ends requests past their deadline."""
        now = time.monotonic()
        expired = [requester for requester, (_, deadline) in self._requests.items() if deadline <= now]
        self._requests = {key: entry for key, entry in self._requests.items() if key not in expired}

    def clear(self) -> None:
        self._requests = {}

    @property
    def requests(self) -> tuple[RowRequest, ...]:
        """The open requests, one a requester."""
        return tuple(request for request, _ in self._requests.values())


def _identity(requester: Requester) -> Requester:
    return requester._replace(runs=frozenset(), address="")
