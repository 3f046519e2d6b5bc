"""Long work of a lab: started by a button, with a progress bar."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from components.player.answer import answer
from components.shell.session import Key
from components.shell.visitor import owner
from models.answers import Question, Value
from models.spec import RunConfig

# By part of a lab, the net and the arguments of the long work that a button started.
LONG_BEGUN: Key[tuple[RunConfig, dict[str, Any]] | None] = Key("{}_begun", None)


def by_button(
    key: str,
    question: Question[Value],
    cfg: RunConfig,
    show: Callable[[Value], None],
    *,
    label: str,
    doing: str,
    **args: Any,
) -> bool:
    """A button that asks the trainer, then `show` of its answer. Returns whether the answer is still to come.

    `doing` labels the progress bar. If the question changes, the button is shown again.
    """
    begun = LONG_BEGUN.of(key)
    if begun.get() != (cfg, args):
        start, icon = (cfg, args), ":material/play_arrow:"
        st.button(label, key=f"{key}_start", icon=icon, on_click=begun.put, args=(start,))
        return False
    reply = answer(question, cfg, owner=owner(key), step=0, **args)
    reply.show(doing)
    if reply.value is not None:
        show(reply.value)
    return reply.waiting
