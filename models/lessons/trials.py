"""Rate limit on wrong class codes by address, against guessing codes."""

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from models.spec.bounds import MAX_WRONG_CODES, WRONG_CODE_SECONDS

MAX_ADDRESSES = 1000  # beyond it, the oldest entry is dropped


class Attempts(NamedTuple):
    """Time of an address's first wrong code, in seconds, and its distinct wrong codes since."""

    since: float
    codes: set[str]


class WrongCodes:
    """Wrong codes of each address within WRONG_CODE_SECONDS of its first. `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._attempts: OrderedDict[str, Attempts] = OrderedDict()  # by address, oldest first

    def note(self, address: str, code: str) -> None:
        """Records a wrong code of an address; repetitions count once."""
        if self.too_many(address):
            return
        attempts = self._attempts.setdefault(address, Attempts(self._clock(), set()))
        attempts.codes.add(code)
        while len(self._attempts) > MAX_ADDRESSES:
            self._attempts.popitem(last=False)

    def too_many(self, address: str) -> bool:
        """Whether an address has used up its wrong codes for now."""
        self._drop_expired()
        attempts = self._attempts.get(address)
        return attempts is not None and len(attempts.codes) >= MAX_WRONG_CODES

    def _drop_expired(self) -> None:
        while self._attempts:
            oldest = next(iter(self._attempts.values()))
            if self._clock() - oldest.since < WRONG_CODE_SECONDS:
                break
            self._attempts.popitem(last=False)
