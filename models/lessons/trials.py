"""Wrong codes by address, so that no class's code is found by trial."""

from collections import OrderedDict
from collections.abc import Callable

from models.spec.bounds import MAX_WRONG_CODES, WRONG_CODE_SECONDS

MAX_ADDRESSES = 1000  # remembered; beyond that, the one whose while began first is forgotten


class Trials:
    """The wrong codes that each address has tried since its while began. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[float, set[str]]] = OrderedDict()

    def note(self, address: str, code: str) -> None:
        """Notes that an address has tried a code that is no class's; the same one again counts once."""
        if not self.too_many(address):
            self._wrong.setdefault(address, (self._clock(), set()))[1].add(code)
            while len(self._wrong) > MAX_ADDRESSES:
                self._wrong.popitem(last=False)

    def too_many(self, address: str) -> bool:
        """Whether an address has tried as many as it may for now."""
        while self._wrong and self._clock() - next(iter(self._wrong.values()))[0] >= WRONG_CODE_SECONDS:
            self._wrong.popitem(last=False)
        return address in self._wrong and len(self._wrong[address][1]) >= MAX_WRONG_CODES
