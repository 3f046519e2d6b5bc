"""The projector view, `?view=projector`: large type and few things. The player has the keys that move the playhead."""

import streamlit as st

KEY, VALUE = "view", "projector"
FACTOR = 1.45  # by which the type of charts is larger
HEIGHT = 320  # pixels of a chart, which with all above it fills 720
STACK, LOSS, BELOW_STACK = 116, 196, 174  # pixels of the stack, the loss in the player and the charts below them
CURVE = 145  # pixels of a small loss: a fifth of a screen of 720

SPEED = "25 steps/s"  # of the player, until somebody chooses another
HINT = "Space plays and pauses, → steps, R resets."
SCENES = "→, N or Page Down goes on, ←, B or Page Up goes back, Space plays."

# `:root` overrides the size that Streamlit sets for `html`, in which all of Streamlit is measured. The other rules make
# room, so that player, sentence and charts fit on 1280x720 without scrolling, and fill a larger screen; `.stApp` makes
# them stronger than the page's own.
STYLE = """<style>
:root { font-size: 20px }
@media (max-width: 700px) { :root { font-size: 18px } }
.stApp .stMainBlockContainer { padding: 3.5rem 1.5rem 0.5rem }
.stApp .stMainBlockContainer h1 { padding: 0 0 0.5rem; font-size: 1.5rem }
.stApp .stMainBlockContainer .stVerticalBlock { gap: 0.5rem }
.stApp .stMainBlockContainer [class*="_speed "] { flex-basis: 8.5rem !important; width: 8.5rem !important }
.stApp .stMain:focus-visible::before { box-shadow: none } /* a frame around the page, once a key follows a click */
.stApp .player { scroll-margin-top: 3.5rem } /* below the navigation, when a key brings it into sight */
.stApp .st-key-player_playground_over .player-headline { min-height: 0 }
.player.story .player-stack { height: calc(0.85 * var(--height)) }
.player.story .player-block.large svg { max-height: 20vh }
.player.story .sample-paths-nets { --most: 190 }
.player.story .sample-paths-bar :is(label, .sample-paths-switch) { display: none }
.player.story [data-kind="paths"] { grid-row: span 2 }
.stMain:has(.class-bars) .sample-paths-nets { --most: 160 }
.stApp .diagram-nets .block-diagram {
    width: min(100%, calc(var(--wide) * 0.12rem), calc(28vh * var(--wide) / var(--high)));
}
@media (min-width: 1600px) and (min-height: 900px) {
    :root { font-size: 30px }
    .player :is(.player-stack, .player-curve), .player.story .player-stack { height: calc(1.5 * var(--height)) }
    .player .player-stack.opens:not(:has(.single)) { height: auto; min-height: calc(1.5 * var(--height)) }
    .player.story .sample-paths-nets { --most: 300 }
    .stMain:has(.class-bars) .sample-paths-nets { --most: 240 }
    .player:not(.pinned) .player-chart { height: calc(1.33 * var(--height)) }
    .player.pinned :is(.player-scrub, .player-chart) { --height: 275px !important }
}
</style>"""


def on() -> bool:
    """Whether the address asks for the projector view."""
    return st.query_params.get(KEY) == VALUE


def enlarge() -> None:
    """Sets large type on this page, until it is left."""
    st.html(STYLE)
