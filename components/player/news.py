"""Wakes connections, on the server's event loop, when one of their logs changes."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress

from models.service.client import Trainer


class News:
    """Sets the events that follow a log or an answer when the trainer changes it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._followers: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._source: Trainer | None = None

    def subscribe_to(self, source: Trainer) -> None:
        """Subscribes to a trainer once; it may have replaced an earlier one."""
        if self._source is not source:
            self._source = source
            source.subscribe(self.announce)

    def follow(self, event: asyncio.Event, keys: Iterable[str]) -> None:
        """Makes an event follow these keys and no others."""
        for key in [key for key, events in self._followers.items() if event in events]:
            self._followers[key].discard(event)
            if not self._followers[key]:
                del self._followers[key]
        for key in keys:
            self._followers[key].add(event)

    def announce(self, key: str) -> None:
        """Wakes the followers of a key, from any thread; an empty key stands for all."""
        with suppress(RuntimeError):  # the loop is closed: there are no followers
            self.loop.call_soon_threadsafe(self._wake, key)

    def _wake(self, changed_key: str) -> None:
        for key in [changed_key] if changed_key else list(self._followers):
            for event in self._followers.get(key, ()):
                event.set()
