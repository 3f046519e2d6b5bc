"""Play, pause, step, reset, speed and scrubber: they move this viewer's playhead and nothing else."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from components import address
from components.playhead import SPEEDS, Playhead
from components.viewers import drew, pace, visitor
from models.service.client import trainer
from models.spec import RunConfig

STARTING_SECONDS = 1.5  # between two polls of a page that waits for the trainer to start: its first picture is drawn undisturbed
BUTTON_WIDTH, LETTER_WIDTH = 92, 6  # pixels of Train and Pause, and of a letter more
ECHOES = 20  # how many of its own last places the scrubber recognises: 10 s and more


def now() -> float:
    """The clock that playheads move by, in seconds."""
    return time.monotonic()


def playhead(name: str, *runs: RunConfig) -> Playhead:
    """This viewer's playhead on the tapes of some configurations; other ones start at their beginning, at rest."""
    heads = st.session_state.setdefault("playheads", {})
    kept = heads.get(name)
    if kept is None or kept[0] != runs:
        head = Playhead(max(cfg.steps for cfg in runs))
        if kept:
            head.speed, head.stop_loss = kept[1].speed, kept[1].stop_loss
        heads[name] = (runs, head)
    found: Playhead = heads[name][1]
    return found


def play(head: Playhead) -> None:
    """Starts a playhead and stops this visitor's others: the trainer works for one at a time."""
    for _, other in st.session_state.get("playheads", {}).values():
        other.pause()
    head.play(now())


def controls(name: str, head: Playhead, *, shared: str = "") -> None:
    """The bar. `shared` says of several runs at once that one bar moves them all."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        # Of one width, so that what stands beside it stays where it is.
        same: dict[str, Any] = {"type": "primary", "width": BUTTON_WIDTH + LETTER_WIDTH * len(shared)}
        if head.playing:
            st.button("Pause", key=f"{name}_pause", icon=":material/pause:", on_click=head.pause, **same)
        else:
            st.button(f"Train{shared}", key=f"{name}_train", icon=":material/play_arrow:", on_click=lambda: play(head), **same)
        _button("Step", name, ":material/skip_next:", head.step, "One training step, then pause.")
        _button("Reset", name, ":material/replay:", head.reset, "Back to the net before training.")
        _speed(name, head)
        _scrubber(name, head)


def polled(name: str, body: Callable[[], tuple[bool, bool]], *, asks: bool = False) -> None:
    """Runs `body` as a fragment that polls while something moves or is awaited; `body` returns (waiting, playing).

    A fragment's interval changes only when its parent reruns, so the page reruns once whenever one of the two changes.
    `asks`: its first picture comes from the trainer, so that it is known to wait while that one starts.
    """
    seconds = _seconds(asks)
    state = f"{name}_polled"
    drawn = st.session_state.setdefault(state, (asks and _starting(), False))

    @st.fragment(run_every=seconds if any(drawn) else None)
    def moving() -> None:
        began = time.thread_time()
        address.resume()
        moves = body()
        address.settle()
        drew(time.thread_time() - began)
        other_pace = any(moves) and _seconds(asks) != seconds
        if moves != drawn or other_pace:
            st.session_state[state] = moves
            st.rerun()

    moving()


def _starting() -> bool:
    return trainer().status().state == "starting"


def _seconds(asks: bool) -> float:
    """Between two polls of this visitor's page."""
    return max(pace(visitor()), STARTING_SECONDS if asks and _starting() else 0.0)


def _button(label: str, name: str, icon: str, press: Callable[[], None], tip: str) -> None:
    st.button(label, key=f"{name}_{label.lower()}", icon=icon, on_click=press, help=tip)


def _speed(name: str, head: Playhead) -> None:
    key = f"{name}_speed"
    st.session_state[key] = head.speed

    def change() -> None:
        head.speed, head.ticked = st.session_state[key], now()

    st.selectbox("Speed", list(SPEEDS), key=key, on_change=change, width=130)


@dataclass
class Scrubber:
    """The slider over the steps as it is drawn now: the `count`-th, made at a step, moved by the playhead or by the viewer.

    `told`: the places that the playhead has lately put it at.
    """

    count: int = 0
    start: int = 0
    moving: bool = False
    told: deque[int] = field(default_factory=lambda: deque(maxlen=ECHOES))

    def key(self, name: str, head: Playhead) -> str:
        """The widget's key."""
        return f"{name}_step_shown_{head.steps}_{self.count}"


def _scrubber(name: str, head: Playhead) -> None:
    """The slider over the steps, moved by the playhead while it plays, else by the viewer.

    A browser that is slow to draw sends back places it was told seconds ago, and of two drawings that come close together it
    sees the last alone. So whatever but a drag puts the slider elsewhere makes a new one, which starts there, and no drag are
    places told lately while playing, nor anything that a slider of before says.
    """
    kept: Scrubber = st.session_state.setdefault(f"{name}_scrubber", Scrubber())
    key = kept.key(name, head)
    start: int | None = kept.start
    stands = st.session_state.get(key, start)
    if kept.moving != head.playing or (stands != head.shown and not (head.playing and key in st.session_state)):
        kept = st.session_state[f"{name}_scrubber"] = Scrubber(kept.count + 1, head.shown, head.playing)
        key, start = kept.key(name, head), head.shown
    elif stands != head.shown:
        st.session_state[key], start = head.shown, None  # Streamlit wants one or the other
    kept.told.append(head.shown)

    def change() -> None:
        row = int(st.session_state[key])
        current = st.session_state[f"{name}_scrubber"] is kept
        if row not in (kept.start, *kept.told) if kept.moving else current and not head.playing:
            head.pause()
            head.seek(row)

    st.slider(
        "Step shown", 0, head.last, start, key=key, on_change=change, help="So many updates the net has had. At step 0 it is new."
    )
