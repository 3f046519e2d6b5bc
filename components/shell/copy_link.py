"""A button at the top of every page that copies its address, and shows the line that embeds it in another page."""

from collections.abc import Callable
from typing import NamedTuple

from components.shell.component import component
from models.content import phrase

HTML = """<button type="button" class="copy-link"></button>
<button type="button" class="copy-link page-button" hidden></button>
<div class="copy-box" hidden>
  <label><span></span><input type="text" readonly></label>
  <label><span></span><input type="text" readonly></label>
</div>"""
# The button's label, its tooltip, its label after copying, and the names of its two lines.
WORDS = ("Copy link", "Copy a link to what is shown", "Copied", "Copy this link:", "Embed it:")
_component = component(__file__, HTML)


class PageButton(NamedTuple):
    """A second button, which does something with the page: its label, its label after a press, and what it does."""

    label: str
    confirmation: str
    press: Callable[[], None]


def copy_link(button: PageButton | None = None) -> None:
    """Draws the button in Streamlit's header, where it takes no room on the page, and another one beside it."""
    _component(
        key="copy_link",
        data={
            "words": [phrase(english) for english in WORDS],
            "button": [phrase(button.label), phrase(button.confirmation)] if button else [],
        },
        on_pressed_change=button.press if button else lambda: None,
    )
