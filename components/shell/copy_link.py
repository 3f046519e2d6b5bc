"""A button at the top of every page that copies its address, and shows the line that embeds it in another page."""

from components.shell.component import component
from components.shell.phrases import phrase

HTML = """<button type="button" class="copy-link" title="Copy a link to what is shown"></button>
<div class="copy-box" hidden>
  <label>Copy this link:<input type="text" readonly></label>
  <label>Embed it:<input type="text" readonly></label>
</div>"""
_component = component(__file__, HTML)


def copy_link() -> None:
    """Draws the button into Streamlit's header; it takes no room on the page."""
    _component(key="copy_link", data={"words": phrase("Copy link")})
