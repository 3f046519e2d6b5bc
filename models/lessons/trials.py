"""Rate limit on wrong class codes by member, against guessing codes."""

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from models.spec.bounds import MAX_WRONG_CODES, WRONG_CODE_SECONDS

MAX_MEMBERS = 1000  # beyond it, the oldest entry is dropped


class Attempts(NamedTuple):
    """Time of a member's first wrong code, in seconds, and its distinct wrong codes since."""

    since: float
    codes: set[str]


class WrongCodes:
    """Wrong codes of each member within WRONG_CODE_SECONDS of its first. `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._attempts: OrderedDict[str, Attempts] = OrderedDict()  # by member, oldest first

    def note(self, member: str, code: str) -> None:
        """Records a wrong code of a member; repetitions count once."""
        if self.too_many(member):
            return
        attempts = self._attempts.setdefault(member, Attempts(self._clock(), set()))
        attempts.codes.add(code)
        while len(self._attempts) > MAX_MEMBERS:
            self._attempts.popitem(last=False)

    def too_many(self, member: str) -> bool:
        """Whether a member has used up its wrong codes for now."""
        self._drop_expired()
        attempts = self._attempts.get(member)
        return attempts is not None and len(attempts.codes) >= MAX_WRONG_CODES

    def _drop_expired(self) -> None:
        while self._attempts:
            oldest = next(iter(self._attempts.values()))
            if self._clock() - oldest.since < WRONG_CODE_SECONDS:
                break
            self._attempts.popitem(last=False)
