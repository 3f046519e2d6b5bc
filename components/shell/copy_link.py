"""A button at the top of every page that copies its address, and shows the line that embeds it in another page."""

from collections.abc import Callable
from typing import NamedTuple

from components.shell import session
from components.shell.component import component

NAME = "copy_link"
HTML = """<button type="button" class="copy-link"></button>
<button type="button" class="copy-link page-button" hidden disabled></button>
<div class="copy-box" hidden>
  <label><span></span><input type="text" readonly></label>
  <label><span></span><input type="text" readonly></label>
</div>"""
# The button's label, its tooltip, its label after copying, and the names of its two lines.
WORDS = ("Copy link", "Copy a link to what is shown", "Copied", "Copy this link:", "Embed it:")
_component = component(__file__, HTML)


class PageButton(NamedTuple):
    """A second button: its label, its label after a press, and what it does with the page's address."""

    label: str
    confirmation: str
    press: Callable[[str], None]


def copy_link(button: PageButton | None = None) -> None:
    """Draws the button in Streamlit's header, where it takes no room on the page, and another one beside it."""

    def press() -> None:
        address = getattr(session.widget_value(NAME), "pressed", None)
        if button is not None and isinstance(address, str):
            button.press(address)

    _component(
        key=NAME,
        data={
            "words": WORDS,
            "button": [button.label, button.confirmation] if button else [],
        },
        on_pressed_change=press,
    )
