"""Owners: which tapes or answers each session wants for the screen that it shows now."""

from collections import OrderedDict
from collections.abc import Container, Iterable

from models.service.wishes import Requester

MOST_SESSIONS = 1000


class Owners:
    """What each session wants, by part of its screen.

    When a part wants something else, its earlier wants end; when the screen changes, all of them do.
    """

    def __init__(self) -> None:
        self._wanted: OrderedDict[str, tuple[str, dict[str, frozenset[str]]]] = OrderedDict()

    def want(self, owner: Requester, keys: Iterable[str], known: Container[str]) -> set[str]:
        """Notes what an owner wants; returns the known keys that its session no longer wants."""
        screen, parts = self._wanted.pop(owner.session, (owner.screen, {}))
        before = frozenset().union(*parts.values())
        if screen != owner.screen:
            parts = {}
        parts[owner.part] = frozenset(keys)
        self._wanted[owner.session] = owner.screen, parts
        while len(self._wanted) > MOST_SESSIONS:
            self._wanted.popitem(last=False)
        return {key for key in before.difference(*parts.values()) if key in known}

    def anybody(self, key: str) -> bool:
        """Whether any session wants a key."""
        return any(key in keys for _, parts in self._wanted.values() for keys in parts.values())
