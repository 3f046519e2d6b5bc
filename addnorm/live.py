"""A recording in a notebook while it grows: a small picture, drawn again in place, and at the end the player."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

from addnorm.picture import picture
from addnorm.recording import Reader, Recording

PAUSE = 0.5  # seconds between two pictures
NOWHERE = "`show` draws in a notebook, and this is none; `addnorm show` prints a recording in a terminal"


class Live:
    """The output of a cell. Raises LookupError, with a sentence, outside of a notebook."""

    def __init__(self, path: Path) -> None:
        try:
            from IPython import get_ipython
            from IPython.display import HTML, display
        except ImportError:
            raise LookupError(NOWHERE) from None
        if getattr(get_ipython(), "kernel", None) is None:
            raise LookupError(NOWHERE)
        self._path, self._reader, self._read = path, Reader(), 0
        self._html = HTML
        self._handle: Any = display(HTML("No row yet."), display_id=True)
        self._next = 0.0

    def refresh(self) -> None:
        """Draws new rows, at most every PAUSE seconds. An output that fails is given up with a warning."""
        if self._handle is None or time.monotonic() < self._next:
            return
        self._update(last=False)
        self._next = time.monotonic() + PAUSE

    def finish(self) -> None:
        """Replaces the picture by the whole recording."""
        if self._handle is not None:
            self._update(last=True)
        self._handle = None

    def _update(self, *, last: bool) -> None:
        try:
            recording = self._follow()
            if len(recording):
                self._handle.update(recording if last else self._html(picture(recording)))
        except Exception as error:
            self._handle = None
            warnings.warn(f"addnorm: the picture in the notebook stops here: {error}", stacklevel=2)

    def _follow(self) -> Recording:
        """What the file holds by now; only what is new is read."""
        with self._path.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        self._read += len(data)
        return self._reader.feed(data)
