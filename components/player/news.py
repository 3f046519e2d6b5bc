"""Wakes a connection, on the server's event loop, when there is news of its logs."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress

from models.service.client import Trainer


class News:
    """Hears which logs and answers of the trainer have changed, and sets the events that follow them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._followers: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._source: Trainer | None = None

    def of(self, source: Trainer) -> None:
        """Listens to a trainer, unless it does already; a new trainer may have replaced the last."""
        if self._source is not source:
            self._source = source
            source.subscribe(self.hear)

    def follow(self, event: asyncio.Event, keys: Iterable[str]) -> None:
        """Sets an event for these keys from now on, and for no others."""
        for key in [key for key, events in self._followers.items() if event in events]:
            self._followers[key].discard(event)
            if not self._followers[key]:
                del self._followers[key]
        for key in keys:
            self._followers[key].add(event)

    def hear(self, key: str) -> None:
        """Notes news of a key, from any thread; an empty key stands for all."""
        with suppress(RuntimeError):  # the loop is closed: there are no followers
            self.loop.call_soon_threadsafe(self._tell, key)

    def _tell(self, heard: str) -> None:
        for key in [heard] if heard else list(self._followers):
            for event in self._followers.get(key, ()):
                event.set()
