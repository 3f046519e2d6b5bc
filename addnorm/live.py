"""A growing recording in a notebook cell: a small picture, redrawn in place, and the player at the end."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

from addnorm.picture import picture
from addnorm.recording import Reader, Recording

REDRAW_SECONDS = 0.5  # between two pictures
NO_NOTEBOOK = "`show` draws in a notebook, and this is not one; `addnorm show` prints a recording in a terminal"


class Live:
    """The output of a notebook cell. Raises LookupError, with a sentence, outside a notebook."""

    def __init__(self, path: Path) -> None:
        try:
            from IPython import get_ipython
            from IPython.display import HTML, display
        except ImportError:
            raise LookupError(NO_NOTEBOOK) from None
        if getattr(get_ipython(), "kernel", None) is None:
            raise LookupError(NO_NOTEBOOK)
        self._path = path
        self._reader = Reader()
        self._bytes_read = 0
        self._html = HTML
        self._handle: Any = display(HTML("No row yet."), display_id=True)  # None once the output is done or has failed
        self._next_redraw = 0.0  # on the monotonic clock

    def refresh(self) -> None:
        """Draws new rows, at most every REDRAW_SECONDS. An output that fails is given up with a warning."""
        if self._handle is not None and time.monotonic() >= self._next_redraw:
            self._update(is_final=False)
            self._next_redraw = time.monotonic() + REDRAW_SECONDS

    def finish(self) -> None:
        """Replaces the picture by the player."""
        if self._handle is not None:
            self._update(is_final=True)
        self._handle = None

    def _update(self, *, is_final: bool) -> None:
        try:
            recording = self._read_new_lines()
            if len(recording):
                self._handle.update(recording if is_final else self._html(picture(recording)))
        except Exception as error:
            self._handle = None
            warnings.warn(f"addnorm: the picture in the notebook stops here: {error}", stacklevel=2)

    def _read_new_lines(self) -> Recording:
        with self._path.open("rb") as file:
            file.seek(self._bytes_read)
            data = file.read()
        self._bytes_read += len(data)
        return self._reader.feed(data)
