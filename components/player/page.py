"""`player(name, runs, panels)`: a page declares what it shows, and the browser plays it.

The page does not run again while a run plays: rows come over the player's own connection, and the server learns where
the playhead is when it rests.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, Unpack

import streamlit as st

from addnorm.player import json_messages
from addnorm.player.declare import Link, Panel, Playing, Scene
from addnorm.player.declare import declaration as player_declaration
from components.player.browser_messages import ShownRun
from components.player.feed import RunFeed
from components.player.view import open_logs
from components.server.tickets import TICKETS, Playhead
from components.shell import projector, session
from components.shell.player_files import CSS, HTML, LOADER, PLOTLY_ADDRESS, VERSION
from components.shell.visitor import owner
from models.service.client import key_of, trainer
from models.spec import RunConfig


@dataclass(frozen=True)
class RecordingRef:
    """A recording of the folder by its name; None stands for a visitor's file, which only the browser reads."""

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
    beside: Sequence[RunConfig] = (),
    scenes: Sequence[Scene] = (),
    on_open: Callable[[int], None] | None = None,
    on_scene: Callable[[int], None] | None = None,
    on_choice: Callable[[dict[str, Any]], None] | None = None,
    **options: Unpack[Playing],
) -> Playhead:
    """Draws a player and panels over the logs of runs and recordings; returns where the playhead rests.

    `seeds`: of each run. `beside`: runs to which panels are bound after these; they are drawn at the same step as far
    as their logs go, and never trained. `scenes`: panels by scene, instead of `panels`. Callbacks: `on_scene` gets the
    number of a clicked scene, `on_choice` a reader's choice. `on_open` gets the run of a followed link, and is called
    while the page runs, so that it may switch pages. ValueError if a panel is bound to none of the runs.
    """
    trained = [run for run in runs if isinstance(run, RunConfig)]
    position = playhead(name, runs, seeds, options.get("here"))
    linked_runs = [panel.target or 0 for panel in panels if isinstance(panel, Link)]
    options.setdefault("reports", "rest")
    first = _first_rows(runs, beside, seeds)
    data = declaration(
        runs, panels, seeds=seeds, beside=beside, first=first, playhead=position, scenes=scenes, **options
    )
    ticket = TICKETS.issue(owner(name, *trained, seeds=seeds))
    data |= {"version": VERSION, "plotly": PLOTLY_ADDRESS, "ticket": ticket}
    if projector.is_on():
        data["speed"] = projector.SPEED
    run_count = max([len(runs) - 1, *linked_runs]) + 1
    _mount(name, data, run_count, on_open=on_open, on_scene=on_scene, on_choice=on_choice)
    return position


def panels_below(
    name: str,
    part: str,
    panels: Sequence[Panel],
    *,
    runs: int = 1,
    on_choice: Callable[[dict[str, Any]], None] | None = None,
    on_advance: Callable[[str], None] | None = None,
) -> None:
    """Draws more panels of a player further up or down its page; `part` names them, `runs` counts the player's runs.

    `on_advance` gets the label of a verdict's next step, once its button is pressed.
    """
    data = {"version": VERSION, "below": f"player_{name}", "panels": [panel.to_json(runs, 1) for panel in panels]}
    _mount(f"{name}_{part}", data, runs, on_choice=on_choice, on_advance=on_advance)


def _mount(
    name: str,
    data: dict[str, Any],
    runs: int,
    *,
    on_open: Callable[[int], None] | None = None,
    on_scene: Callable[[int], None] | None = None,
    on_choice: Callable[[dict[str, Any]], None] | None = None,
    on_advance: Callable[[str], None] | None = None,
) -> None:
    """Mounts the component and passes on its events after a check."""
    key = f"player_{name}"
    component = _component(
        key=key,
        data={**data, "name": key},
        height="content",
        on_at_change=lambda: None,  # a callback must exist for Streamlit to keep the value
        on_opened_change=lambda: None,
        on_scene_change=lambda: _pass_on(key, "scene", int, on_scene),
        on_choice_change=lambda: _pass_on(key, "choice", dict, on_choice),
        on_advanced_change=lambda: _pass_on(key, "advanced", str, on_advance),
    )
    run: Any = component.opened
    if on_open is not None and _is_int(run) and 0 <= run < runs:
        on_open(run)


def declaration(
    runs: Sequence[RunConfig | RecordingRef],
    panels: Sequence[Panel],
    *,
    seeds: int = 1,
    beside: Sequence[RunConfig] = (),
    first: Sequence[str | bytes] = (),
    playhead: Playhead = Playhead(),  # noqa: B008 - frozen
    scenes: Sequence[Scene] = (),
    **options: Unpack[Playing],
) -> dict[str, Any]:
    """The data of the browser's player. `first`: messages that it gets before any of its connection's."""

    def declared(run: RunConfig | RecordingRef) -> dict[str, Any]:
        if isinstance(run, RecordingRef):
            return {"link": _link(run), "recording": run.name}
        return {"link": _link(run), "seeds": seeds, "last": run.steps}

    return player_declaration(
        [declared(run) for run in runs],
        panels,
        seeds=seeds,
        beside=[declared(run) for run in beside],
        messages=json_messages(first),
        at=(playhead.step, playhead.playing, True) if playhead.here else (playhead.step, playhead.playing),
        scenes=scenes,
        **options,
    )


def _link(run: RunConfig | RecordingRef) -> str:
    return key_of(run) if isinstance(run, RunConfig) else f"recording={run.name or ''}"


def playhead(
    name: str, runs: Sequence[RunConfig | RecordingRef], seeds: int = 1, here: Mapping[str, Any] | None = None
) -> Playhead:
    """The playhead of a player as its connection, or else the page, last reported it.

    It is at step 0 if the last report was about other runs. The connection knows nothing of what the browser trains.
    `here`: what the player is told of that.
    """
    trained = [run for run in runs if isinstance(run, RunConfig)]
    reported = _reported_playhead(name, runs)
    if not reported.here:
        reported = TICKETS.playhead(owner(name, *trained, seeds=seeds)) or reported
    last_step = max((cfg.steps for cfg in trained), default=0)
    is_here = here is not None and not here["refusal"] and (here["always"] or reported.here)
    return Playhead(min(max(reported.step, 0), last_step), reported.playing, is_here)


def _reported_playhead(name: str, runs: Sequence[RunConfig | RecordingRef]) -> Playhead:
    """The playhead that the page last reported, if it was on a subset or superset of these runs."""
    report: Any = getattr(session.widget_value(f"player_{name}"), "at", None)
    if not isinstance(report, dict) or not isinstance(report.get("runs"), list):
        return Playhead()
    links, reported_links = {_link(run) for run in runs}, set(map(str, report["runs"]))
    if not (links <= reported_links or reported_links <= links):
        return Playhead()
    step = report.get("step")
    return Playhead(step if _is_int(step) else 0, report.get("playing") is True, report.get("here") is True)


def last_scene(name: str) -> int:
    """The scene, from 1, in which the playhead of a player last came to rest; 0 if there was none."""
    report: Any = getattr(session.widget_value(f"player_{name}"), "at", None)
    scene = report.get("scene") if isinstance(report, dict) else None
    return scene if _is_int(scene) else 0


def _first_rows(runs: Sequence[RunConfig | RecordingRef], beside: Sequence[RunConfig], seeds: int) -> list[str | bytes]:
    """Row 0 of every run, sent with the page so that charts appear at once; asks for that of those beside, too.

    Rows not ready within the timeout are left out.
    """
    service = trainer()
    feeds = [
        RunFeed(number, ShownRun(run, seeds, sent_rows=0, target_row=0), owner=None)
        for number, run in enumerate(runs)
        if isinstance(run, RunConfig)
    ]
    if service.status().state != "starting":
        open_logs([*(feed.cfg for feed in feeds), *beside], seeds)
    return [message for feed in feeds for message in feed.messages(service, until=1)]


def _is_int(value: object) -> TypeGuard[int]:
    return type(value) is int  # bool is not accepted


def _pass_on(key: str, event: str, kind: type, callback: Callable[[Any], None] | None) -> None:
    """Calls back with the value of a browser's event, if it has the expected type."""
    value: Any = getattr(session.widget_value(key), event, None)
    if callback is not None and type(value) is kind:
        callback(value)
