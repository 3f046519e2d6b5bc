"""Who is connected: how many connections there may be, and which one ends when there are too many.

A guest has shown a valid ticket, a stranger has not. Strangers end first, and however many they are, guests hear of
news as often as without them.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

MOST = 500
MOST_OF_ADDRESS = 400  # a class of sixty behind one address has two or three tabs each
MOST_OF_TICKET = 4  # a page has one connection, and on its return another beside the one that was cut


class Member(Protocol):
    """A connection. `ticket`: the valid one that it has shown, empty for a stranger."""

    address: str
    ticket: str

    def end(self) -> None:
        """Ends the connection, because others need its place."""


@dataclass
class Crowd:
    """The open connections, in the order in which they came."""

    most: int = MOST
    most_of_address: int = MOST_OF_ADDRESS
    most_of_ticket: int = MOST_OF_TICKET
    _came: dict[Member, int] = field(default_factory=dict)
    _number: "count[int]" = field(default_factory=count)

    def __len__(self) -> int:
        return len(self._came)

    @property
    def guests(self) -> int:
        """How many have shown a valid ticket."""
        return sum(bool(one.ticket) for one in self._came)

    def admit(self, newcomer: Member) -> bool:
        """Takes a connection in; where there is no place, another one ends, or there is none for it: False."""
        neighbours = [one for one in self._came if one.address == newcomer.address]
        if len(neighbours) >= self.most_of_address:
            ended = self._first_to_go([one for one in neighbours if not one.ticket])
        elif len(self._came) >= self.most:
            ended = self._first_to_go(self._came)
            if ended is not None and ended.ticket and ended.address == newcomer.address:
                return False  # nobody of a class is sent away for one more of it
        else:
            ended = newcomer
        if ended is None:
            return False
        if ended is not newcomer:
            self._end(ended)
        self._came[newcomer] = next(self._number)
        return True

    def shown(self, member: Member) -> None:
        """Notes that a connection has shown a ticket: of too many with the same one, the oldest end."""
        same = [one for one in self._came if one.ticket and one.ticket == member.ticket and one is not member]
        for one in same[: max(0, len(same) + 1 - self.most_of_ticket)]:
            self._end(one)

    def leave(self, member: Member) -> None:
        """Notes that a connection has ended."""
        self._came.pop(member, None)

    def _first_to_go(self, among: Iterable[Member]) -> Member | None:
        """The first to end: strangers before guests, then connections of the most crowded address, then the oldest."""
        of_address = Counter(one.address for one in self._came)
        return min(among, key=lambda one: (bool(one.ticket), -of_address[one.address], self._came[one]), default=None)

    def _end(self, member: Member) -> None:
        self.leave(member)
        member.end()
