"""How one worker is shared out: who has the next turn, which runs are trained, whose question is next. No torch.

Everything is counted by session first: a session with four runs has no more turns than one with a single run, and as
few places as the others need. An address counts as many sessions as a class has, and no more.
"""

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from models.service.wire import Message
from models.spec.bounds import FULL_SHARES_PER_ADDRESS

MAX_ACCOUNTS = 1000


class Client(NamedTuple):
    """The account on which places or turns of a kind are counted."""

    session: str
    address: str
    kind: str = "run"


class Turns:
    """Counts turns by client. The next goes to the client with the fewest; a newcomer begins at that number.

    Turns are counted and not their seconds, which on a busy machine say more about its other work.
    """

    def __init__(self) -> None:
        self._had: OrderedDict[Client, float] = OrderedDict()
        self._least = 0.0

    def next(self, wanting: Mapping[str, Client]) -> str:
        """The key whose turn it is, of those that want one, by who pays for it; among a client's own, the first."""
        for client in dict.fromkeys(wanting.values()):
            self._had[client] = max(self._least, self._had.get(client, 0.0))  # nobody saves up turns for later
            self._had.move_to_end(client)
        key = min(wanting, key=lambda key: self._had[wanting[key]])
        self._least = self._had[wanting[key]]
        while len(self._had) > MAX_ACCOUNTS:
            self._had.popitem(last=False)
        return key

    def charge(self, client: Client, among: Iterable[Client]) -> None:
        """Notes a turn, among all who want one: a session of a crowded address pays more for it."""
        crowd = sum(other.address == client.address for other in set(among))
        self._had[client] = self._had.get(client, self._least) + max(1.0, crowd / FULL_SHARES_PER_ADDRESS)


def clients_of_runs(requesters: Mapping[str, Sequence[Client]]) -> dict[str, Client]:
    """Who pays for each run: of all clients that want it, the one that wants the fewest runs."""
    wanted = Counter(client for who in requesters.values() for client in who)
    return {key: min(who, key=wanted.__getitem__) for key, who in requesters.items()}


def admission_order(client_of: Mapping[str, Client], trained: Iterable[str], places: int) -> list[str]:
    """The runs in the order in which they get a place: everybody's first run, then everybody's second, and so on.

    Among equals, those that have a place keep it, and the others come in their own order. No address takes more than
    half of the places while others wait.
    """
    inside = set(trained)
    order = sorted(client_of, key=lambda key: key not in inside)
    of_session: defaultdict[Client, int] = defaultdict(int)
    rounds: dict[str, int] = {}
    for key in order:
        rounds[key] = of_session[client_of[key]]
        of_session[client_of[key]] += 1
    order.sort(key=rounds.__getitem__)
    of_address: defaultdict[str, int] = defaultdict(int)
    beyond: dict[str, bool] = {}
    for key in order:
        of_address[client_of[key].address] += 1
        beyond[key] = of_address[client_of[key].address] > max(1, places // 2)
    return sorted(order, key=beyond.__getitem__)


class Questions:
    """Questions that wait, by session: each session's newest first, for what a control asks now matters most."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._waiting: OrderedDict[str, list[Message]] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def put(self, question: Message) -> Message | None:
        """Adds a question. Returns the one that it displaces, if any: the oldest of the session with the most."""
        self._waiting.setdefault(question.get("session", ""), []).append(question)
        if len(self) <= self.most:
            return None
        return self._take(max(self._waiting, key=lambda session: len(self._waiting[session])), 0)

    def pop(self) -> Message:
        """The next question: the sessions take turns."""
        session = next(iter(self._waiting))
        self._waiting.move_to_end(session)
        return self._take(session, -1)

    def cancel(self, key: str) -> None:
        """Forgets a question."""
        for session, waiting in list(self._waiting.items()):
            self._waiting[session] = [question for question in waiting if question["key"] != key]
            if not self._waiting[session]:
                del self._waiting[session]

    def _take(self, session: str, at: int) -> Message:
        waiting = self._waiting[session]
        question = waiting.pop(at)
        if not waiting:
            del self._waiting[session]
        return question
