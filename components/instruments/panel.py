"""What every instrument has: one sentence, a badge, charts with their tables, and answers that the trainer works on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np
import pandas as pd
import streamlit as st

from components.charts.parts import Figure, site_word
from components.charts.table import table_of
from components.shell import session
from components.shell.hide import hidden
from components.shell.visitor import visitor
from components.stage.still import still_chart
from components.stage.tickets import At
from components.stage.view import View, sentence
from models.answers import Question, Value
from models.service.client import Owner, trainer
from models.spec import RunConfig
from models.spec.query import literal

WAIT_SECONDS = 0.4  # how long a look waits for an answer before it draws without


@dataclass(frozen=True)
class Instrument:
    """How one instrument is drawn; the question it answers, its
    badge (a key of `style.BADGES`), its formulas and sources.

    `unfit` says of which runs there is nothing to measure, and why; empty where there is.
    """

    draw: Callable[["Panel"], None]
    question: str
    badge: str
    help: str
    unfit: Callable[[View], str] = lambda view: ""


@dataclass(frozen=True)
class Measured(Generic[Value]):
    """An answer, and what it is of."""

    value: Value
    cfg: RunConfig
    step: int
    args: dict[str, Any]


class Panel:
    """One opened instrument on one view. `waiting` turns true where an answer is still to come.

    `screen`: panels of one screen are measured together; one of another screen ends what these wait for.
    """

    def __init__(self, name: str, view: View, at: At, *, tables: bool = False, screen: str = "") -> None:
        self.name, self.view, self.at, self.tables = name, view, at, tables
        self.screen = screen or name
        self.waiting = False

    @property
    def cfg(self) -> RunConfig:
        """What is shown."""
        return self.view.cfg

    @property
    def step(self) -> int:
        """Updates that the net which is shown has had."""
        return self.view.row

    def key(self, part: str) -> str:
        """The session's key of a widget or a chart of this panel."""
        return f"instrument_{self.name}_{part}".lower().replace(" ", "_")

    def say(self, text: str, *, bold: bool = True) -> None:
        """What the numbers say; the sentence that the panel opens
        with is bold. Nothing where a link hides the verdict.
        """
        if not hidden("verdict"):
            st.markdown(f"**{text}**" if bold else text)

    def chart(self, figure: Figure, title: str, height: int = 280) -> None:
        """A figure, and its numbers below it where tables are switched on."""
        still_chart(figure, key=self.key(title), alt=f"{title}, chart", height=height)
        if self.tables:
            st.dataframe(table_of(figure), alt=f"{title}, table", height=220)

    def table(self, title: str, **columns: Sequence[Any] | np.ndarray) -> None:
        """Numbers that no chart shows; drawn where tables are switched on."""
        if self.tables:
            words = {
                name: [site_word(one) if isinstance(one, str) else one for one in column]
                for name, column in columns.items()
            }
            st.dataframe(pd.DataFrame(words), alt=f"{title}, table", height=220)

    def ask(self, question: Question[Value], **args: Any) -> Measured[Value] | None:
        """What the trainer measures at the step shown, or what it measured before while that is being worked on.

        While the run plays, what was measured stays: a panel never slows the run that it looks at.
        """
        shown = self.step
        kept = session.MEASURED.of(self.key(question.name)).get()
        ours = kept is not None and (kept.cfg, kept.args) == (self.cfg, args)
        if ours and kept is not None and (self.at.playing or kept.step == shown):
            later = "; pause to measure the step shown" if self.at.playing and kept.step != shown else ""
            self._status(f"Measured at step {kept.step}{later}.")
            return kept
        step = self._asked_step(question, shown, args)
        answer = trainer().ask(
            question, self.cfg, wait=WAIT_SECONDS, owner=self.owner(question.name), step=step, **args
        )
        if answer is None:
            self.waiting = True
            share = trainer().share(question, self.cfg, step=step, **args)
            before = (
                ""
                if kept is None
                else f" What is shown is step {kept.step}{'' if ours else ' of what was set before'}."
            )
            self._status(f"Measuring step {step}: {share:.0%}.{before}")
            return kept
        session.MEASURED_ASKED.of(self.key(question.name)).take()
        if answer.value is None:
            st.error(literal(sentence(answer.error)))  # it may quote what was typed
            return None
        kept = Measured(answer.value, self.cfg, step, args)
        session.MEASURED.of(self.key(question.name)).put(kept)
        self._status(f"Measured at step {step}.")
        return kept

    def ask_by_button(self, question: Question[Value], label: str, **args: Any) -> Measured[Value] | None:
        """As `ask`, for work that takes long: it starts at a button, shows how far it is, and can be cancelled."""
        under = session.MEASURED_WANTED.of(self.key(question.name))
        wanted = (self.cfg, self.step, args)
        kept = session.MEASURED.of(self.key(question.name)).get()
        fresh = kept is not None and (kept.cfg, kept.step, kept.args) == wanted
        under_way = under.get()
        if under_way is None or under_way[0] != self.cfg:
            if kept is not None:
                other = "" if kept.cfg == self.cfg else " of what was set before"
                self._status(f"Measured at step {kept.step}{other}.")

            def start() -> None:
                under.put(wanted)

            st.button(
                label, key=self.key(f"{question.name}_start"), icon=":material/labs:", on_click=start, disabled=fresh
            )
            return kept
        _, step, args = under_way
        answer = trainer().ask(
            question, self.cfg, wait=WAIT_SECONDS, owner=self.owner(question.name), step=step, **args
        )
        if answer is None:
            self.waiting = True
            share = trainer().share(question, self.cfg, step=step, **args)
            st.progress(min(1.0, share), text=f"Measuring step {step}: {share:.0%}")

            def cancel() -> None:
                under.take()
                trainer().cancel(question, self.cfg, step=step, **args)

            st.button("Cancel", key=self.key(f"{question.name}_cancel"), icon=":material/close:", on_click=cancel)
            return kept
        under.take()
        if answer.value is None:
            st.error(literal(sentence(answer.error)))  # it may quote what was typed
            return kept
        kept = Measured(answer.value, self.cfg, step, args)
        session.MEASURED.of(self.key(question.name)).put(kept)
        self._status(f"Measured at step {step}.")
        return kept

    def owner(self, question: str) -> Owner:
        """This visitor with this instrument: the trainer works
        for one at a time, and on one answer to each question.
        """
        return Owner(visitor(), self.screen, f"{self.name} {question}")

    def _asked_step(self, question: Question[Value], shown: int, args: dict[str, Any]) -> int:
        """The step that is asked about: while the run plays, the one that was asked about first."""
        pinned = session.MEASURED_ASKED.of(self.key(question.name)).get()
        if self.at.playing and pinned is not None and pinned[:2] == (self.cfg, args):
            return int(pinned[2])
        session.MEASURED_ASKED.of(self.key(question.name)).put((self.cfg, args, shown))
        return shown

    def _status(self, text: str) -> None:
        st.caption(text)
