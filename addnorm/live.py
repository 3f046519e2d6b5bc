"""A growing recording in a notebook's cell: the player follows it, and a page that plays takes its place at the end."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from addnorm.display import MAX_PAGE_BYTES
from addnorm.extras import optional
from addnorm.recording import read

PAUSE_SECONDS = 0.1  # between two pieces of the recording
STATE_GROWTH = 1.5  # the widget's state gets the whole recording whenever that has grown by this factor
NO_NOTEBOOK = "`show` draws in a notebook, and this is not one; `addnorm show` prints a recording in a terminal"
LATER = "The player appears here when the recording ends."
TOO_LONG = f"The recording is longer than {MAX_PAGE_BYTES // 10**6} MB, and no longer shown while it grows. {LATER}"


class Live:
    """The output of a notebook cell. Raises LookupError, with a sentence, outside a notebook."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._bytes_sent = 0
        self._bytes_in_state = 0
        self._next_piece = 0.0  # on the monotonic clock
        self._show: Callable[[Any], Any] | None = _output()  # None once the output has failed
        self._widget: Any = None  # while it follows the recording
        try:
            shown = self._widget = _widget()
        except ImportError as error:
            shown = _Note(f"{error} {LATER}")
        self._guarded(lambda show: show(shown))

    def refresh(self) -> None:
        """Sends what the file has gained, at most every PAUSE_SECONDS. Warns, and stops, if the output fails."""
        if self._widget is not None and time.monotonic() >= self._next_piece:
            self._guarded(self._send)
            self._next_piece = time.monotonic() + PAUSE_SECONDS

    def finish(self) -> None:
        """Replaces the widget by the player as a page, which stays in a notebook that is saved."""
        self._guarded(self._play)
        self._widget = self._show = None

    def _play(self, show: Callable[[Any], Any]) -> None:
        recording = read(self._path)
        if len(recording):
            show(recording)

    def _send(self, show: Callable[[Any], Any]) -> None:
        with self._path.open("rb") as file:
            file.seek(self._bytes_sent)
            piece = file.read(MAX_PAGE_BYTES + 1)  # a longer one is not sent
        start, self._bytes_sent = self._bytes_sent, self._bytes_sent + len(piece)
        if self._bytes_sent > MAX_PAGE_BYTES:
            self._widget = None
            show(_Note(TOO_LONG))
        elif self._bytes_sent > STATE_GROWTH * self._bytes_in_state:
            self._bytes_in_state = self._bytes_sent
            self._widget.recording = self._path.read_bytes()[: self._bytes_sent]
        elif piece:
            self._widget.send({"start": start}, [piece])

    def _guarded(self, use: Callable[[Callable[[Any], Any]], None]) -> None:
        if self._show is None:
            return
        try:
            use(self._show)
        except Exception as error:
            self._widget = self._show = None
            warnings.warn(f"addnorm: the player in the notebook stops here: {error}", stacklevel=2)


class _Note:
    """A sentence as an output."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _widget() -> Any:
    """A widget with the page of a growing recording. Raises ImportError, with a sentence, without anywidget."""
    AnyWidget: Any = optional("anywidget", "notebook", "The live player").AnyWidget
    import traitlets

    from addnorm.player import FOLDER, growing_html

    class LivePlayer(AnyWidget):
        _esm = (FOLDER / "widget.js").read_text(encoding="utf-8")
        page = traitlets.Unicode().tag(sync=True)
        recording = traitlets.Bytes().tag(sync=True)

    return LivePlayer(page=growing_html())


def _output() -> Callable[[Any], Any]:
    """A function that puts something in place of the cell's output. Raises LookupError outside a notebook."""
    marimo = sys.modules.get("marimo")
    if marimo is not None and marimo.running_in_notebook():
        replace: Callable[[Any], Any] = marimo.output.replace
        return replace
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        raise LookupError(NO_NOTEBOOK) from None
    if getattr(get_ipython(), "kernel", None) is None:
        raise LookupError(NO_NOTEBOOK)
    handles: list[Any] = []

    def show(what: Any) -> None:
        if handles:
            handles[0].update(what)
        else:
            handles.append(display(what, display_id=True))

    return show
