"""A button at the top of every page that copies its address, or shows it to be copied by hand."""

from components.shell.component import component

HTML = """<button type="button" class="copy-link" title="Copy a link to what is shown"></button>
<label class="copy-by-hand" hidden>Copy this link:<input type="text" readonly></label>"""
_component = component(__file__, HTML)


def copy_link() -> None:
    """Draws the button into Streamlit's header; it takes no room on the page."""
    _component(key="copy_link", data={"words": "Copy link"})
