"""How sessions share one worker: the order of turns, of places for training, and of questions. No torch.

Turns and places are counted by session: four runs of one session get no more turns than a single run of another, and
no places that other sessions need. An address with more sessions than a class is charged more per turn.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from models.service.wire import Message
from models.spec.bounds import FULL_SHARES_PER_ADDRESS

MAX_COUNTED_CLIENTS = 1000


class Client(NamedTuple):
    """A session, and the kind of its work: places and turns are counted for each."""

    session: str
    address: str
    kind: str = "run"


class Turns:
    """Counts turns by client. The next turn goes to the client with the fewest; a newcomer starts at that number.

    It counts turns and not seconds, because on a busy machine seconds depend on other processes.
    """

    def __init__(self) -> None:
        self._counts: OrderedDict[Client, float] = OrderedDict()
        self._minimum = 0.0

    def next(self, client_of: Mapping[str, Client]) -> str:
        """The key with the next turn, given the client of each key; a client's first key goes first."""
        for client in dict.fromkeys(client_of.values()):
            self._counts[client] = max(self._minimum, self._counts.get(client, 0.0))  # nobody saves up turns for later
            self._counts.move_to_end(client)
        key = min(client_of, key=lambda candidate: self._counts[client_of[candidate]])
        self._minimum = self._counts[client_of[key]]
        while len(self._counts) > MAX_COUNTED_CLIENTS:
            self._counts.popitem(last=False)
        return key

    def charge(self, client: Client, active: Iterable[Client]) -> None:
        """Counts a turn of one of the active clients; it costs more at a crowded address."""
        crowd = sum(other.address == client.address for other in set(active))
        self._counts[client] = self._counts.get(client, self._minimum) + max(1.0, crowd / FULL_SHARES_PER_ADDRESS)


def clients_of_runs(requesters: Mapping[str, Sequence[Client]]) -> dict[str, Client]:
    """The client charged for each run: of all that request it, the one with the fewest requests."""
    request_counts = Counter(client for clients in requesters.values() for client in clients)
    return {key: min(clients, key=request_counts.__getitem__) for key, clients in requesters.items()}


def admission_order(client_of: Mapping[str, Client], trained: Iterable[str], places: int) -> list[str]:
    """The runs in the order in which they get a place: each client's first run, then each client's second, and so on.

    Within a round, trained runs come first, then the others in their given order. An address gets more than half of
    the places only after all others.
    """
    trained_keys = set(trained)
    order = sorted(client_of, key=lambda key: key not in trained_keys)
    runs_of_client: Counter[Client] = Counter()
    rounds: dict[str, int] = {}
    for key in order:
        rounds[key] = runs_of_client[client_of[key]]
        runs_of_client[client_of[key]] += 1
    order.sort(key=rounds.__getitem__)
    runs_of_address: Counter[str] = Counter()
    exceeds_half: dict[str, bool] = {}
    for key in order:
        address = client_of[key].address
        runs_of_address[address] += 1
        exceeds_half[key] = runs_of_address[address] > max(1, places // 2)
    return sorted(order, key=exceeds_half.__getitem__)


class QuestionQueue:
    """Waiting questions by session. A session's newest comes first, because it is what a control shows now."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._waiting: OrderedDict[str, list[Message]] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def put(self, question: Message) -> Message | None:
        """Adds a question. Returns the one that it displaces, if any: the oldest of the session with the most."""
        self._waiting.setdefault(question.get("session", ""), []).append(question)
        if len(self) <= self.capacity:
            return None
        fullest = max(self._waiting, key=lambda session: len(self._waiting[session]))
        return self._take(fullest, 0)

    def pop(self) -> Message:
        """Removes and returns the next question; the sessions take turns."""
        session = next(iter(self._waiting))
        self._waiting.move_to_end(session)
        return self._take(session, -1)

    def cancel(self, key: str) -> None:
        """Forgets a question."""
        for session, waiting in list(self._waiting.items()):
            self._waiting[session] = [question for question in waiting if question["key"] != key]
            if not self._waiting[session]:
                del self._waiting[session]

    def _take(self, session: str, index: int) -> Message:
        waiting = self._waiting[session]
        question = waiting.pop(index)
        if not waiting:
            del self._waiting[session]
        return question
