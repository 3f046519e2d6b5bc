"""A button at the top of every page that copies its address, and shows the line that embeds it in another page."""

from components.shell.component import component
from models.content import phrase

HTML = """<button type="button" class="copy-link"></button>
<div class="copy-box" hidden>
  <label><span></span><input type="text" readonly></label>
  <label><span></span><input type="text" readonly></label>
</div>"""
# The button's label, its tooltip, its label after copying, and the names of its two lines.
WORDS = ("Copy link", "Copy a link to what is shown", "Copied", "Copy this link:", "Embed it:")
_component = component(__file__, HTML)


def copy_link() -> None:
    """Draws the button in Streamlit's header, where it takes no room on the page."""
    _component(key="copy_link", data={"words": [phrase(english) for english in WORDS]})
