"""The projector view, `?view=projector`: large type and few elements. Keys move the playhead."""

from pathlib import Path

import streamlit as st

KEY, VALUE = "view", "projector"
FACTOR = 1.45  # by which the type of charts is enlarged
HEIGHT = 320  # pixels of a chart, which with all above it fills 720
STACK, LOSS, BELOW_STACK = 116, 196, 174  # pixels of the stack, the loss in the player and the charts below them
CURVE = 145  # pixels of a small loss: a fifth of a screen of 720

SPEED = "25 steps/s"  # of the player, until the visitor chooses another
HINT = "Space plays and pauses, → steps, R resets."
SCENES = "→, N or Page Down goes on, ←, B or Page Up goes back, Space plays."

# `:root` overrides the font size that Streamlit sets for `html`, the unit of all its sizes. The other rules fit player,
# sentence and charts on 1280x720 without scrolling, and let them fill a larger screen; `.stApp` makes these rules more
# specific than the page's own.
STYLE = f"<style>\n{Path(__file__).with_suffix('.css').read_text(encoding='utf-8')}</style>"


def is_on() -> bool:
    """Whether the address asks for the projector view."""
    return st.query_params.get(KEY) == VALUE


def enlarge() -> None:
    st.html(STYLE)
