"""A question to the trainer as every page asks it, and what stands there until, or instead of, its answer."""

from dataclasses import dataclass
from typing import Any, Generic

import streamlit as st

from components.player.view import sentence
from models.answers import Question, Value
from models.service.client import Answer, Requester, trainer
from models.spec import RunConfig
from models.spec.query import literal
from models.trace import Trace

WAIT_SECONDS = 0.4  # how long a run of the page waits for an answer before it draws without


@dataclass(frozen=True)
class Reply(Generic[Value]):
    """The value, or why it is refused, in a sentence; while neither is there, the share of the work that is done."""

    value: Value | None = None
    refusal: str = ""
    share: float = 0.0

    @property
    def waiting(self) -> bool:
        """Whether it is still to come."""
        return self.value is None and not self.refusal

    def show(self, doing: str) -> None:
        """Draws what there is instead of a value: the progress of what is being done, or the refusal."""
        if self.waiting:
            status = trainer().status()
            late = "" if status.state == "ready" else f". {status.sentence}"
            st.progress(min(1.0, self.share), text=f"{doing}: {self.share:.0%}{late}")
        elif self.refusal:
            st.error(literal(self.refusal))  # it may quote what was typed


def answer(
    question: Question[Value],
    cfg: RunConfig,
    *,
    owner: Requester | None = None,
    wait: float = WAIT_SECONDS,
    **args: Any,
) -> Reply[Value]:
    """Asks the trainer on behalf of `owner`, and waits for so many seconds."""
    found = trainer().ask(question, cfg, wait=wait, owner=owner, **args)
    return _reply(found) if found is not None else Reply(share=trainer().answer_progress(question, cfg, **args))


def before_training(cfg: RunConfig, seeds: int, *, owner: Requester, wait: float) -> Reply[list[Trace]]:
    """Asks for row 0 of each seed on behalf of `owner`, and waits for so many seconds."""
    found = trainer().open_log(cfg, seeds, wait, owner)
    if found is None or found.value is None:
        return Reply() if found is None else Reply(refusal=sentence(found.error))
    return Reply([trace.first(1) for trace in found.value.traces()])


def _reply(found: Answer[Value]) -> Reply[Value]:
    return Reply(found.value) if found.value is not None else Reply(refusal=sentence(found.error))
