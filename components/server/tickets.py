"""Tickets: a page gives one to its connection, by which the server knows whose runs these are.

A ticket is valid for the logs of its page only: whoever finds one cannot train anything else with it.
"""

import secrets
import sys
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from models.service.client import Requester
from models.spec import bounds


@dataclass(frozen=True)
class At:
    """Where a viewer's playhead is: the step shown, and whether it plays."""

    step: int = 0
    playing: bool = False


@dataclass
class _Ticket:
    name: str
    owner: Requester
    until: float
    noted: tuple[frozenset[str], At] | None = None


@dataclass
class Tickets:
    """The tickets, one for each part of a session's screen; the longest unused is dropped first. Thread-safe."""

    seconds: float = bounds.TICKET_SECONDS
    most: int = bounds.MAX_TICKETS
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _by_part: OrderedDict[tuple[str, str, str], _Ticket] = field(default_factory=OrderedDict, repr=False)
    _by_name: dict[str, _Ticket] = field(default_factory=dict, repr=False)

    def hand(self, owner: Requester) -> str:
        """The ticket of an owner's part, the same as long as it is used, and valid for the part's current logs."""
        part = owner.session, owner.screen, owner.part
        with self._lock:
            self._drop_old()
            ticket = self._by_part.pop(part, None)
            while len(self._by_part) >= self.most:
                self._drop_oldest()
            if ticket is None:
                ticket = _Ticket(secrets.token_urlsafe(24), owner, 0.0)
                self._by_name[ticket.name] = ticket
            ticket.owner, ticket.until = owner, time.monotonic() + self.seconds
            self._by_part[part] = ticket
            return ticket.name

    def owner(self, name: str) -> Requester | None:
        """The owner of a ticket; None if there is no such ticket any more. Counts as a use."""
        with self._lock:
            self._drop_old()
            ticket = self._by_name.get(name)
            if ticket is None:
                return None
            ticket.until = time.monotonic() + self.seconds
            self._by_part.move_to_end((ticket.owner.session, ticket.owner.screen, ticket.owner.part))
            return ticket.owner

    def note(self, name: str, logs: frozenset[str], at: At | None) -> None:
        """Notes where a connection's playhead is in some logs; None: the connection has ended."""
        with self._lock:
            ticket = self._by_name.get(name)
            if ticket is not None:
                ticket.noted = None if at is None else (logs, at)

    def place(self, owner: Requester) -> At | None:
        """Where an owner's playhead was last noted; None if no connection is in these logs."""
        with self._lock:
            ticket = self._by_part.get((owner.session, owner.screen, owner.part))
            return ticket.noted[1] if ticket and ticket.noted and ticket.noted[0] == owner.runs else None

    def _drop_old(self) -> None:
        now = time.monotonic()
        while self._by_part and next(iter(self._by_part.values())).until <= now:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        _, oldest = self._by_part.popitem(last=False)
        del self._by_name[oldest.name]


# Kept in `sys`: Streamlit reloads this module for the pages when a file is saved, but not for the route.
TICKETS: Tickets = sys.__dict__.setdefault("_add_norm_tickets", Tickets())
