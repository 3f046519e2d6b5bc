"""The projector view, `?view=projector`: large type, few things, and keys that move the playhead.

`shortcut=` of a button cannot do it: Streamlit keeps R to itself, and such keys work in fields too. So a component listens.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st

from components import player
from components.charts import Figure
from components.labs.shown import drawn
from components.live_chart import live_chart
from components.playhead import Playhead

KEY, VALUE = "view", "projector"
FACTOR = 1.45  # how many times as large the type of charts is
HEIGHT = 320  # of a chart, in pixels: with what stands above it, 720
HINT = "Space plays and pauses, → steps, R resets."

# `:root` outweighs the size that Streamlit sets for `html`, and everything in Streamlit is measured in it. The rest makes
# room: player, sentence and charts are to stand on 1280x720 without scrolling.
STYLE = """<style>
:root { font-size: 20px }
@media (max-width: 700px) { :root { font-size: 18px } }
.stMainBlockContainer { padding-top: 3.5rem; padding-left: 1.5rem; padding-right: 1.5rem }
.stMainBlockContainer h1 { padding: 0 0 0.5rem; font-size: 1.5rem }
.stMainBlockContainer .stVerticalBlock { gap: 0.5rem }
.stMainBlockContainer [class*="_speed "] { flex-basis: 8.5rem !important; width: 8.5rem !important }
</style>"""

JS = """
const NAMES = { " ": "space", ArrowRight: "right", r: "r", R: "r" }
const FIELD = "input, textarea, select, [contenteditable]:not([contenteditable=false]), "
  + "[role=slider], [role=combobox], [role=listbox], [role=menu], [role=dialog], [role=radiogroup], [role=tablist]"
const mounted = new WeakMap()
export default function ({ parentElement, data, setTriggerValue }) {
  const el = parentElement.querySelector(".keys")
  el.textContent = data.hint
  const kept = mounted.get(el)
  if (kept) { kept.send = setTriggerValue; return kept.leave }
  const now = { send: setTriggerValue }
  let clicked = false // the focus came from a pointer: then space belongs to the player, not to the button clicked last
  const pointed = () => { clicked = true }
  const pressed = (event) => {
    if (event.key === "Tab") clicked = false
    const name = NAMES[event.key], at = event.composedPath()[0]
    if (!name || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
    if (!(at instanceof Element) || at.closest(FIELD)) return
    const button = at.closest("button, a, summary, [role=button]")
    if (name === "space" && button && !clicked) return
    event.preventDefault()
    event.stopImmediatePropagation() // R alone would run the page again
    if (button && clicked) button.blur()
    if (!event.repeat) now.send("pressed", `${name} ${event.timeStamp}`)
  }
  window.addEventListener("keydown", pressed, true)
  window.addEventListener("pointerdown", pointed, true)
  now.leave = () => {
    mounted.delete(el)
    window.removeEventListener("keydown", pressed, true)
    window.removeEventListener("pointerdown", pointed, true)
  }
  mounted.set(el, now)
  return now.leave
}
"""
CSS = ".keys { font-size: 0.8rem; color: var(--st-text-color) }"

_component = st.components.v2.component("projector_keys", html='<div class="keys"></div>', css=CSS, js=JS)


def on() -> bool:
    """Whether the address asks for the projector view."""
    return st.query_params.get(KEY) == VALUE


def enlarge() -> None:
    """Large type on this page, until it is left."""
    st.html(STYLE)


def chart(figure: Figure, title: str, key: str, *, height: int) -> None:
    """A figure under its accessible name; its numbers in a popover, unless this is a projector."""
    if on():  # without room for a button per chart: the table of the chart itself is enough
        live_chart(figure, key=key, alt=f"{title}, chart", height=height)
    else:
        drawn(figure, title, key, height=height)


@contextmanager
def line(name: str, head: Playhead) -> Iterator[None]:
    """Where a player's status is drawn: in the projector view beside its keys."""
    if not on():
        yield
        return
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        yield
        keys(name, head)


def keys(name: str, head: Playhead) -> None:
    """Says which keys there are, and moves the playhead when one is pressed outside a field."""
    key = f"{name}_keys"
    moves: dict[str, Any] = {
        "space": lambda: head.pause() if head.playing else player.play(head),
        "right": head.step,
        "r": head.reset,
    }

    def pressed() -> None:
        # It comes from a browser: what is no key moves nothing, and what a poll brings once more is still one key.
        said = str(getattr(st.session_state.get(key), "pressed", ""))
        if said != st.session_state.get(f"{key}_heard"):
            st.session_state[f"{key}_heard"] = said
            moves.get(said.split(" ", maxsplit=1)[0], lambda: None)()

    _component(key=key, data={"hint": HINT}, on_pressed_change=pressed, width="content")
