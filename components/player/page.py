"""`player(name, runs, panels)`: a page declares what it shows, and the browser plays it.

The page is not run again while a run plays: rows come over the player's own connection, and the server hears of the
playhead when it rests.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import streamlit as st

from addnorm.player import json_messages
from addnorm.player.declare import Link, Panel, Playing, Scene
from addnorm.player.declare import declaration as told
from components.player.asked import AskedRun
from components.player.feed import RunFeed
from components.player.view import PROFILE_SECONDS
from components.server.tickets import TICKETS, At
from components.shell import projector, session
from components.shell.player_files import CSS, HTML, LOADER, PLOTLY_ADDRESS, VERSION
from components.shell.visitor import owner
from models.content import phrases
from models.service.client import key_of, trainer
from models.spec import RunConfig


@dataclass(frozen=True)
class RecordingRef:
    """A recording of the folder by its name; None: a file of the visitor's, which only the browser reads."""

    name: str | None


_component = st.components.v2.component(
    "player",
    html=HTML,
    css=CSS,
    js=LOADER,
    isolate_styles=False,
)


def player(
    name: str,
    runs: Sequence[RunConfig | RecordingRef],
    panels: Sequence[Panel],
    *,
    seeds: int = 1,
    scenes: Sequence[Scene] = (),
    on_toggle: Callable[[int, int], None] | None = None,
    on_open: Callable[[int], None] | None = None,
    on_scene: Callable[[int], None] | None = None,
    on_choice: Callable[[dict[str, Any]], None] | None = None,
    **how: Unpack[Playing],
) -> At:
    """Draws a player and panels over the logs of some runs and recordings; returns where the playhead rests.

    `seeds`: of each run. `scenes`: panels by scene, instead of `panels`. `on_toggle` is called with run and block of a
    click in a stack, `on_scene` with the number of a scene that was clicked, `on_choice` with what a reader chose, all
    as callbacks; `on_open` with the run of a link that was followed, while the page runs, so that it may switch pages.
    ValueError if a panel is bound to what is not among the runs.
    """
    trained = [run for run in runs if isinstance(run, RunConfig)]
    at = place(name, runs, seeds)
    links = [panel.target or 0 for panel in panels if isinstance(panel, Link)]
    how.setdefault("reports", "rest")
    data = declaration(runs, panels, seeds=seeds, first=_first_rows(runs, seeds), at=at, scenes=scenes, **how)
    ticket = TICKETS.hand(owner(name, *trained, seeds=seeds))
    data |= {"version": VERSION, "plotly": PLOTLY_ADDRESS, "ticket": ticket}
    data |= {"speed": projector.SPEED} if projector.on() else {}
    _mounted(
        name, data, max([len(runs) - 1, *links]) + 1, on_toggle, on_open=on_open, on_scene=on_scene, on_choice=on_choice
    )
    return at


def below(
    name: str,
    part: str,
    panels: Sequence[Panel],
    *,
    runs: int = 1,
    on_toggle: Callable[[int, int], None] | None = None,
) -> None:
    """Draws more panels of a player further down its page, below something else; `part` names them."""
    data = {"version": VERSION, "below": f"player_{name}", "panels": [panel.to_json(runs, 1) for panel in panels]}
    _mounted(f"{name}_{part}", data, runs, on_toggle)


def _mounted(
    name: str,
    data: dict[str, Any],
    runs: int,
    on_toggle: Callable[[int, int], None] | None,
    *,
    on_open: Callable[[int], None] | None = None,
    on_scene: Callable[[int], None] | None = None,
    on_choice: Callable[[dict[str, Any]], None] | None = None,
) -> None:
    """Mounts the component and passes on what the browser says, which is checked like any input."""
    key = f"player_{name}"
    data |= {"words": phrases()}
    component = _component(
        key=key,
        data={**data, "name": key},
        height="content",
        on_at_change=lambda: None,
        on_opened_change=lambda: None,
        on_toggled_change=lambda: _toggled(key, runs, on_toggle),
        on_scene_change=lambda: _said(key, "scene", int, on_scene),
        on_choice_change=lambda: _said(key, "choice", dict, on_choice),
    )
    run: Any = component.opened
    if on_open is not None and type(run) is int and 0 <= run < runs:
        on_open(run)


def declaration(
    runs: Sequence[RunConfig | RecordingRef],
    panels: Sequence[Panel],
    *,
    seeds: int = 1,
    first: Sequence[str | bytes] = (),
    at: At = At(),  # noqa: B008 - frozen
    scenes: Sequence[Scene] = (),
    **how: Unpack[Playing],
) -> dict[str, Any]:
    """What the player reads. `first`: messages that come before any of its connection."""
    return told(
        [
            {"link": _link(run), "recording": run.name}
            if isinstance(run, RecordingRef)
            else {"link": _link(run), "seeds": seeds, "last": run.steps}
            for run in runs
        ],
        panels,
        seeds=seeds,
        messages=json_messages(first),
        at=(at.step, at.playing),
        scenes=scenes,
        **how,
    )


def _link(run: RunConfig | RecordingRef) -> str:
    return key_of(run) if isinstance(run, RunConfig) else f"recording={run.name or ''}"


def place(name: str, runs: Sequence[RunConfig | RecordingRef], seeds: int = 1) -> At:
    """Where the playhead of a player is: as its connection or else the page last heard; at 0 for other runs."""
    trained = [run for run in runs if isinstance(run, RunConfig)]
    at = TICKETS.place(owner(name, *trained, seeds=seeds)) or _heard(name, runs)
    return At(min(max(at.step, 0), max((cfg.steps for cfg in trained), default=0)), at.playing)


def _heard(name: str, runs: Sequence[RunConfig | RecordingRef]) -> At:
    """Where the page last heard of it, on these runs, or on them and others: it stays for those that are left."""
    said: Any = getattr(session.widget_value(f"player_{name}"), "at", None)
    heard = said.get("runs") if isinstance(said, dict) else None
    links = {_link(run) for run in runs}
    if not isinstance(heard, list) or not (links <= {*map(str, heard)} or {*map(str, heard)} <= links):
        return At()
    step = said.get("step")
    return At(step if type(step) is int else 0, said.get("playing") is True)


def seen_scene(name: str) -> int:
    """The scene, from 1, in which the playhead of a player came to rest last; 0 where there was none."""
    said: Any = getattr(session.widget_value(f"player_{name}"), "at", None)
    scene = said.get("scene") if isinstance(said, dict) else None
    return scene if type(scene) is int else 0


def _first_rows(runs: Sequence[RunConfig | RecordingRef], seeds: int) -> list[str | bytes]:
    """Row 0 of every run, which is sent with the page so that it is drawn at once; not where it takes too long."""
    service, feeds = (
        trainer(),
        [
            RunFeed(at, AskedRun(run, seeds, have=0, want=0), owner=None)
            for at, run in enumerate(runs)
            if isinstance(run, RunConfig)
        ],
    )
    state = service.status().state
    until = time.monotonic() + (PROFILE_SECONDS if state == "ready" else 0.0)
    for feed in feeds if state != "starting" else []:
        service.open_log(feed.cfg, seeds)  # asks for all before it waits for the first
    for feed in feeds if state == "ready" else []:
        service.open_log(feed.cfg, seeds, max(0.0, until - time.monotonic()))
    return [message for feed in feeds for message in feed.messages(service, until=1)]


def _said(key: str, what: str, kind: type, heard: Callable[[Any], None] | None) -> None:
    """Passes on what the browser has said, if it is of the expected type."""
    said: Any = getattr(session.widget_value(key), what, None)
    if heard is not None and type(said) is kind:
        heard(said)


def _toggled(key: str, runs: int, on_toggle: Callable[[int, int], None] | None) -> None:
    """Passes on run and block of a click in a stack, if there are such."""

    def heard(pair: list[Any]) -> None:
        if on_toggle is not None and [type(number) for number in pair] == [int, int]:
            run, block = pair
            if 0 <= run < runs and block > 0:
                on_toggle(run, block)

    _said(key, "toggled", list, heard)
