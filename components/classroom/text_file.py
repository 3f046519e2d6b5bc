"""A text file of the visitor's; its text comes over the page's own connection, as this server takes no uploads."""

from collections.abc import Callable

from components.shell import session
from components.shell.component import component

HTML = '<label class="text-file"><span></span> <input type="file" accept=".txt,.md,text/plain"></label>'
_component = component(__file__, HTML)


def open_text_file(label: str, key: str, max_chars: int, put: Callable[[str], None], *, several: bool = False) -> None:
    """Draws a field that opens a file, or `several` at once; `put` gets their text, cut after `max_chars`."""

    def take() -> None:
        text = getattr(session.widget_value(key), "opened", None)
        if isinstance(text, str):
            put(text[:max_chars].encode(errors="replace").decode())  # a browser may cut a character in two

    _component(key=key, data={"label": label, "maxChars": max_chars, "several": several}, on_opened_change=take)
