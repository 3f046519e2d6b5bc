"""The projector view, `?view=projector`: large type and few elements. Keys move the playhead."""

from pathlib import Path

import streamlit as st

KEY, VALUE = "view", "projector"
CHART_SCALE = 1.45  # enlarges type, lines and markers of charts
# Heights in pixels on a screen of 1280x720.
FULL_CHART_HEIGHT = 320  # a chart that fills the rest of the screen
STACK_HEIGHT = 116  # the picture of the blocks
LOSS_HEIGHT = 145  # a loss: a fifth of the screen
CHART_HEIGHT_BELOW_STACK = 174  # charts below stack and loss

SPEED = "25 steps/s"  # of the player, unless the visitor chooses another
PLAYER_KEYS_HINT = "Space plays and pauses, → steps, R resets."
STORY_KEYS_HINT = "→, N or Page Down goes on, ←, B or Page Up goes back, Space plays."

# `:root` overrides the font size that Streamlit sets for `html`, the unit of all its sizes. The other rules fit player,
# sentence and charts on 1280x720 without scrolling, and let them fill a larger screen; `.stApp` makes these rules more
# specific than the page's own.
STYLE = f"<style>\n{Path(__file__).with_suffix('.css').read_text(encoding='utf-8')}</style>"


def is_on() -> bool:
    """Whether the address asks for the projector view."""
    return st.query_params.get(KEY) == VALUE


def enlarge() -> None:
    """Adds the projector's style to the page."""
    st.html(STYLE)
