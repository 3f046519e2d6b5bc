"""The panel of an instrument: its sentence, charts and tables, and measurements by the trainer."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from components.charts.parts import Figure, site_word, title_of
from components.player.answer import Reply, answer
from components.player.view import View
from components.server.tickets import Playhead
from components.shell.hidden_parts import is_hidden
from components.shell.session import Key
from components.shell.static_chart import static_chart
from components.shell.visitor import address, visitor_id
from models.answers import Question, Value
from models.service.client import Requester, trainer
from models.spec import RunConfig, plan
from models.spec.plan import block_name

OTHER_SETTINGS = " of the previous settings"  # ends a caption whose measurement had other settings

INSTRUMENT: Key[str | None] = Key("instrument", None)  # the name of the open one


@dataclass(frozen=True)
class Measured(Generic[Value]):
    """A measurement, with its net, step and arguments."""

    value: Value
    cfg: RunConfig
    step: int
    args: dict[str, Any]


class MeasurementRequest(NamedTuple):
    """The net, step and arguments of a measurement that takes long."""

    cfg: RunConfig
    step: int
    args: dict[str, Any]


# By panel and question, as `InstrumentPanel.key` joins them.
MEASURED: Key[Measured[Any] | None] = Key("{}_measured", None)
MEASURING: Key[MeasurementRequest | None] = Key("{}_wanted", None)


class InstrumentPanel:
    """An open instrument over a view of a run. `waiting` is set while an answer is pending.

    Panels of one `screen` are measured together; a panel of another screen replaces them. `player` names the run's
    player, and `net` the net where there are several.
    """

    def __init__(
        self, name: str, view: View, playhead: Playhead, *, screen: str = "", player: str = "", net: str = ""
    ) -> None:
        self.name = name
        self.view = view
        self.playhead = playhead
        self.player = player
        self.screen = screen or name
        self.waiting = False
        self._net_suffix = f" ({net})" if net else ""

    @property
    def cfg(self) -> RunConfig:
        return self.view.cfg

    @property
    def step(self) -> int:
        """The step shown: the number of updates that the net has had."""
        return self.view.row

    def key(self, part: str) -> str:
        """Session key of a widget or chart of this panel."""
        return f"instrument_{self.name}_{part}".lower().replace(" ", "_")

    def write(self, text: str, *, bold: bool = True) -> None:
        """Writes a finding, unless a link hides the verdict; the panel's first sentence is bold."""
        if not is_hidden("verdict"):
            st.markdown(f"**{text}**" if bold else text)

    def chart(
        self, figure: Figure, title: str = "", height: int = 280, *, on_click: Callable[[Any, Any], None] | None = None
    ) -> None:
        """Draws a figure, under its own title by default; a click on a point calls `on_click` with x and y."""
        title = title or title_of(figure)
        static_chart(figure, title, self.key(title), height, on_click)

    def row(self, *figures: Figure, height: int = 280) -> None:
        for column, figure in zip(st.columns(len(figures)), figures, strict=True):
            with column:
                self.chart(figure, height=height)

    def table(self, title: str, caption: str = "", /, **columns: Sequence[Any] | np.ndarray) -> None:
        """Draws numbers that no chart shows, folded; sites are in words."""
        words = {
            name: [site_word(cell) if isinstance(cell, str) else cell for cell in column]
            for name, column in columns.items()
        }
        with st.expander(title, key=self.key(f"{title} table")):
            st.dataframe(pd.DataFrame(words), alt=f"{title}, table", height=220)
            if caption:
                st.caption(caption)

    def choose(self, label: str, blocks: Iterable[int], *, key: str = "block", index: int = 0) -> int:
        """Draws a choice of blocks, counted from 1. Returns the chosen block."""
        names = {f"block {block}": block for block in blocks}
        return names[st.selectbox(label, list(names), index=index, key=self.key(key))]

    def ask(self, question: Question[Value], *, captioned: bool = True, **args: Any) -> Measured[Value] | None:
        """The trainer's measurement at the step shown; until it arrives, the last measurement.

        While the run plays, the last measurement stays, so that an instrument never slows its run. `captioned` draws
        a caption with the measured step; without it, the caller names the step.
        """
        last = MEASURED.of(self.key(question.name)).get()
        is_same = last is not None and (last.cfg, last.args) == (self.cfg, args)
        if last is not None and is_same and (self.playhead.playing or last.step == self.step):
            if captioned:
                is_current = last.step == self.step
                self._draw_caption(last.step, "" if is_current else "; pause to measure the step shown")
            return last
        shown = ""
        if last is not None:
            shown = f" What is shown is step {last.step}{'' if is_same else OTHER_SETTINGS}."
        if self.playhead.playing and self.step:  # the trainer would train a second run up to this step
            st.caption(f"Pause to measure the step shown.{shown}")
            return last
        reply = self._request(question, self.step, args)
        if reply.is_waiting:
            st.caption(f"Measuring step {self.step}: {reply.share:.0%}.{shown}")
            return last
        return self._store(question, reply, self.step, args, captioned=captioned)

    def ask_by_button(self, question: Question[Value], label: str, **args: Any) -> Measured[Value] | None:
        """Like `ask`, for long work: a button starts it, its progress is shown, and it can be cancelled."""
        stored_request = MEASURING.of(self.key(question.name))
        last = MEASURED.of(self.key(question.name)).get()
        pending = stored_request.get()
        if pending is None or pending.cfg != self.cfg:
            request = MeasurementRequest(self.cfg, self.step, args)
            if last is not None:
                is_same = (last.cfg, last.args) == (self.cfg, args)
                self._draw_caption(last.step, "" if is_same else OTHER_SETTINGS)
            st.button(
                label,
                key=self.key(f"{question.name}_start"),
                icon=":material/labs:",
                on_click=stored_request.put,
                args=(request,),
                disabled=last is not None and (last.cfg, last.step, last.args) == request,
            )
            return last
        reply = self._request(question, pending.step, pending.args)
        if not reply.is_waiting:
            stored_request.pop()
            return self._store(question, reply, pending.step, pending.args) or last
        reply.show(f"Measuring step {pending.step}")

        def cancel() -> None:
            stored_request.pop()
            trainer().cancel(question, self.cfg, step=pending.step, **pending.args)

        st.button("Cancel", key=self.key(f"{question.name}_cancel"), icon=":material/close:", on_click=cancel)
        return last

    def owner(self, question: str) -> Requester:
        """The requester of a question: this visitor and screen, because the trainer serves one screen at a time."""
        return Requester(visitor_id(), self.screen, f"{self.name} {question}", address=address())

    def _request(self, question: Question[Value], step: int, args: dict[str, Any]) -> Reply[Value]:
        reply = answer(question, self.cfg, owner=self.owner(question.name), step=step, **args)
        self.waiting |= reply.is_waiting
        return reply

    def _store(
        self, question: Question[Value], reply: Reply[Value], step: int, args: dict[str, Any], *, captioned: bool = True
    ) -> Measured[Value] | None:
        """Stores a value for later runs of the page; draws a refusal and returns None."""
        if reply.value is None:
            reply.show("")
            return None
        measured = Measured(reply.value, self.cfg, step, args)
        MEASURED.of(self.key(question.name)).put(measured)
        if captioned:
            self._draw_caption(step)
        return measured

    def _draw_caption(self, step: int, remark: str = "") -> None:
        """Draws the step measured, and the net where there are several."""
        st.caption(f"Measured at step {step}{self._net_suffix}{remark}.")


def branch_weights(cfg: RunConfig) -> int:
    """Approximate number of weights in the branches of a net."""
    per_block = 2 * cfg.expansion + (4 if cfg.net == "transformer" else 0)
    return cfg.depth * per_block * cfg.width**2


def remaining_blocks(cfg: RunConfig) -> list[int]:
    """Blocks that were not taken out whole, counted from 1."""
    return sorted({sublayer.block for sublayer in plan(cfg).sublayers if not sublayer.identity})


def block_names(blocks: Iterable[int]) -> tuple[str, ...]:
    return tuple(block_name(block) for block in blocks)
