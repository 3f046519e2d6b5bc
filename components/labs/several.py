"""Several nets of one lab under one player, shown at one step."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from components import player
from components.playhead import Playhead
from components.view import View, sentence, trouble
from components.viewers import owner
from components.watch import all_diverged, going, look, tape_of, tick
from models.spec import RunConfig


def watch(name: str, cfgs: Sequence[RunConfig], shared: str, show: Callable[[list[View], Playhead], bool]) -> tuple[bool, bool]:
    """The player, and what `show` draws of the last step that all have reached; (waiting, playing).

    `shared` ends the label of Train; `show` returns whether it waits for something.
    """
    head = player.playhead(name, *cfgs)
    kept: dict[RunConfig, View] = st.session_state.setdefault(f"{name}_views", {})
    who = owner(name, *cfgs)
    tapes = [tape_of(cfg, head, who) for cfg in cfgs]
    tick(head, tapes, player.now())
    looks = [look(cfg, head, kept.get(cfg), who) for cfg in cfgs]
    player.controls(name, head, shared=shared)
    problems = [trouble(cfg) if late else "" for (_, late), cfg in zip(looks, cfgs, strict=True)]
    for problem in {*problems} - {""}:
        st.error(problem)
    views = [view for view, _ in looks if view is not None]
    if len(views) < len(cfgs):
        if any(problems):
            head.pause()
            return False, False
        st.caption("torch is loading in the trainer")
        return True, head.playing
    st.session_state[f"{name}_views"] = dict(zip(cfgs, views, strict=True))
    for fact in all_diverged(head, {f"net {at}": tape for at, tape in enumerate(tapes, start=1)}):
        st.caption(sentence(fact))
    waiting = any(late and not problem for (_, late), problem in zip(looks, problems, strict=True))
    # One that is ahead is shown at the step of the others; one that has ended before it, at its end.
    step = min((view.row for view, tape in zip(views, tapes, strict=True) if tape in going(tapes)), default=head.shown)
    return show([replace(view, row=min(view.row, step)) for view in views], head) or waiting, head.playing
