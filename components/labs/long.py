"""Long work of a lab: started by a button, with a progress bar."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from components.player.answer import answer
from components.shell.session import Key
from components.shell.visitor import owner
from components.shell.waiting import poll_while
from models.answers import Question, Value
from models.spec import RunConfig

# By part of a lab, the net and the arguments of the long work that a button started.
LONG_BEGUN: Key[tuple[RunConfig, dict[str, Any]] | None] = Key("{}_begun", None)


def run_on_button(
    key: str,
    question: Question[Value],
    cfg: RunConfig,
    draw_answer: Callable[[Value], None],
    *,
    label: str,
    doing: str,
    **args: Any,
) -> None:
    """Draws a button that asks the trainer, then a progress bar labelled `doing`, then the answer.

    If the question changes, the button is drawn again.
    """
    begun = LONG_BEGUN.of(key)
    request = (cfg, args)

    def body() -> bool:
        if begun.get() != request:
            icon = ":material/play_arrow:"
            st.button(label, key=f"{key}_start", icon=icon, on_click=begun.put, args=(request,))
            return False
        reply = answer(question, cfg, owner=owner(key), step=0, **args)
        reply.show(doing)
        if reply.value is not None:
            draw_answer(reply.value)
        return reply.is_waiting

    poll_while(key, body)
