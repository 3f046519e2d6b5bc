"""Tickets: a page gives its ticket to its connection, so that the server knows whose runs these are.

A ticket is valid only for the logs of its page: nobody can train anything else with a stolen one.
"""

import secrets
import sys
import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from models.service.client import Requester
from models.spec import bounds


@dataclass(frozen=True)
class Playhead:
    """The step that a viewer sees, whether its player plays, and whether the browser trains the runs."""

    step: int = 0
    playing: bool = False
    here: bool = False


@dataclass
class _Ticket:
    name: str
    owner: Requester
    playhead: Playhead | None = None
    playhead_logs: frozenset[str] = frozenset()  # the logs under that playhead


@dataclass
class Tickets:
    """The tickets, one for each part of a session's screen; the least recently used is dropped first. Thread-safe."""

    max_tickets: int = bounds.MAX_TICKETS
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _by_part: OrderedDict[tuple[str, str, str], _Ticket] = field(default_factory=OrderedDict, repr=False)
    _by_name: dict[str, _Ticket] = field(default_factory=dict, repr=False)

    def issue(self, owner: Requester) -> str:
        """The ticket of an owner's part. It stays the same while it is used, and is valid for the part's new logs."""
        part = owner.session, owner.screen, owner.part
        with self._lock:
            ticket = self._by_part.pop(part, None)
            while len(self._by_part) >= self.max_tickets:
                _, oldest = self._by_part.popitem(last=False)
                del self._by_name[oldest.name]
            if ticket is None:
                ticket = _Ticket(secrets.token_urlsafe(24), owner)
                self._by_name[ticket.name] = ticket
            ticket.owner = owner
            self._by_part[part] = ticket
            return ticket.name

    def owner(self, name: str) -> Requester | None:
        """The owner of a ticket; None if it is unknown. Counts as a use."""
        with self._lock:
            ticket = self._by_name.get(name)
            if ticket is None:
                return None
            self._by_part.move_to_end((ticket.owner.session, ticket.owner.screen, ticket.owner.part))
            return ticket.owner

    def record_playhead(self, name: str, logs: frozenset[str], playhead: Playhead | None) -> None:
        """Records where a connection's playhead is in some logs; None: the connection has ended."""
        with self._lock:
            ticket = self._by_name.get(name)
            if ticket is not None:
                ticket.playhead, ticket.playhead_logs = playhead, logs

    def playhead(self, owner: Requester) -> Playhead | None:
        """The playhead last recorded for an owner; None if no connection shows these logs."""
        with self._lock:
            ticket = self._by_part.get((owner.session, owner.screen, owner.part))
            return ticket.playhead if ticket and ticket.playhead_logs == owner.runs else None


# Stored in `sys`: when a file is saved, Streamlit reloads this module for the pages but not for the route.
TICKETS: Tickets = sys.__dict__.setdefault("_add_norm_tickets", Tickets())
