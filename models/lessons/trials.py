"""Rate limit on wrong class codes by address, against guessing codes."""

from collections import OrderedDict
from collections.abc import Callable

from models.spec.bounds import MAX_WRONG_CODES, WRONG_CODE_SECONDS

MAX_ADDRESSES = 1000  # beyond it, the oldest entry is dropped


class WrongCodes:
    """Wrong codes of each address within WRONG_CODE_SECONDS of its first. `clock`: seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._codes: OrderedDict[str, tuple[float, set[str]]] = OrderedDict()

    def note(self, address: str, code: str) -> None:
        """Records a wrong code of an address; repetitions count once."""
        if not self.too_many(address):
            self._codes.setdefault(address, (self._clock(), set()))[1].add(code)
            while len(self._codes) > MAX_ADDRESSES:
                self._codes.popitem(last=False)

    def too_many(self, address: str) -> bool:
        """Whether an address has used up its wrong codes for now."""
        while self._codes and self._clock() - next(iter(self._codes.values()))[0] >= WRONG_CODE_SECONDS:
            self._codes.popitem(last=False)
        return address in self._codes and len(self._codes[address][1]) >= MAX_WRONG_CODES
