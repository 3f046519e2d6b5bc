"""Several nets of one lab under one player, shown at one step."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from components import player
from components.playhead import Playhead
from components.viewers import owner
from components.watch import View, look, tick, trouble
from models.spec import RunConfig


def watch(name: str, cfgs: Sequence[RunConfig], shared: str, show: Callable[[list[View], Playhead], bool]) -> tuple[bool, bool]:
    """The player, and what `show` draws of the last step that all have reached; (waiting, playing).

    `shared` ends the label of Train; `show` returns whether it waits for something.
    """
    head = player.playhead(name, *cfgs)
    kept: dict[RunConfig, View] = st.session_state.setdefault(f"{name}_views", {})
    tick(head, cfgs, player.now())
    who = owner(name, *cfgs)
    looks = [look(cfg, head, kept.get(cfg), who) for cfg in cfgs]
    player.controls(name, head, shared=shared)
    for problem in {trouble(cfg) for (_, waiting), cfg in zip(looks, cfgs, strict=True) if waiting} - {""}:
        st.error(problem)
        return False, False
    views = [view for view, _ in looks if view is not None]
    waiting = any(late for _, late in looks)
    if len(views) < len(cfgs):
        st.caption("torch is loading in the trainer")
        return True, head.playing
    st.session_state[f"{name}_views"] = dict(zip(cfgs, views, strict=True))
    step = min(view.row for view in views)  # one of them may be ahead
    return show([replace(view, row=step) for view in views], head) or waiting, head.playing
