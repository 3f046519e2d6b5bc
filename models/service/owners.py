"""One thing at a time per session: which tapes or answers are wanted for what a session has on its screen now."""

from collections import OrderedDict
from collections.abc import Container

from models.service.wishes import Owner

MOST_SESSIONS = 1000


class Owners:
    """What each session wants. One that wants something for another screen gives up what it wanted for the one before."""

    def __init__(self) -> None:
        self._wanted: OrderedDict[str, tuple[str, set[str]]] = OrderedDict()

    def want(self, owner: Owner, key: str, known: Container[str]) -> set[str]:
        """Notes that an owner wants a key. Returns those keys, among the known ones, that its session wants no longer."""
        screen, keys = self._wanted.pop(owner.session, (owner.screen, set()))
        keys = {other for other in keys if other in known}
        same = screen == owner.screen
        self._wanted[owner.session] = owner.screen, {key} | (keys if same else set())
        while len(self._wanted) > MOST_SESSIONS:
            self._wanted.popitem(last=False)
        return set() if same else keys - {key}

    def anybody(self, key: str) -> bool:
        """Whether a session wants a key."""
        return any(key in keys for _, keys in self._wanted.values())
