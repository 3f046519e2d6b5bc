"""Questions of a page to the trainer, and the progress or refusal that a page draws instead of an answer."""

from dataclasses import dataclass
from typing import Any, Generic

import streamlit as st

from components.player.view import as_sentence
from models.answers import Question, Value
from models.service.client import Answer, Requester, trainer
from models.spec import RunConfig
from models.spec.query import escape_markdown
from models.trace import Trace

WAIT_SECONDS = 0.4  # how long a page waits for an answer before it draws without


@dataclass(frozen=True)
class Reply(Generic[Value]):
    """A value, or a sentence that says why there is none, or, while the trainer works, the finished share (0 to 1)."""

    value: Value | None = None
    refusal: str = ""
    share: float = 0.0

    @property
    def is_waiting(self) -> bool:
        """Whether a value or refusal is still to come."""
        return self.value is None and not self.refusal

    def show(self, activity: str) -> None:
        """Draws the progress of an activity, or the refusal; nothing if there is a value."""
        if self.is_waiting:
            status = trainer().status()
            delay = "" if status.state == "ready" else f". {status.sentence}"
            st.progress(min(1.0, self.share), text=f"{activity}: {self.share:.0%}{delay}")
        elif self.refusal:
            st.error(escape_markdown(self.refusal))  # it may quote what was typed


def answer(
    question: Question[Value],
    cfg: RunConfig,
    *,
    owner: Requester | None = None,
    wait: float = WAIT_SECONDS,
    **args: Any,
) -> Reply[Value]:
    """The trainer's answer to a question, asked on behalf of `owner`; waits for it at most `wait` seconds."""
    result = trainer().ask(question, cfg, wait=wait, owner=owner, **args)
    if result is None:
        return Reply(share=trainer().answer_progress(question, cfg, **args))
    return _reply(result)


def initial_traces(cfg: RunConfig, seeds: int, *, owner: Requester, wait: float) -> Reply[list[Trace]]:
    """Row 0 of each seed, asked for on behalf of `owner`; waits for it at most `wait` seconds."""
    log = trainer().open_log(cfg, seeds, wait, owner)
    if log is None:
        return Reply()
    if log.value is None:
        return Reply(refusal=as_sentence(log.error))
    return Reply([trace.first(1) for trace in log.value.traces()])


def _reply(result: Answer[Value]) -> Reply[Value]:
    return Reply(refusal=as_sentence(result.error)) if result.value is None else Reply(result.value)
