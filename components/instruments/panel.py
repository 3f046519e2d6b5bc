"""What all instruments share: a sentence, charts with their tables, and measurements that the trainer makes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np
import pandas as pd
import streamlit as st

from components.charts.parts import Figure, site_word, title_of
from components.player.answer import Reply, answer
from components.player.view import View
from components.server.tickets import Playhead
from components.shell.hide import hidden
from components.shell.session import Key
from components.shell.static_chart import static_chart
from components.shell.visitor import address, visitor
from models.answers import Question, Value
from models.content import Texts
from models.service.client import Requester, trainer
from models.spec import RunConfig, plan
from models.spec.plan import block_name

OTHER_SETTINGS = " of the previous settings"

INSTRUMENT: Key[str | None] = Key("instrument", None)  # the open one


@dataclass(frozen=True)
class Instrument:
    """How an instrument is drawn, its texts (the title is its question) and its badge, a key of `style.BADGES`.

    `unfit`: why it has nothing to measure of a run; empty where it has.
    """

    draw: Callable[["InstrumentPanel"], None]
    texts: Texts
    badge: str
    unfit: Callable[[View], str] = lambda view: ""

    @property
    def question(self) -> str:
        """The question that it answers."""
        return self.texts.title

    @property
    def help(self) -> str:
        """What it measures, with formulas and sources."""
        return self.texts("explanation")


@dataclass(frozen=True)
class Measured(Generic[Value]):
    """An answer, and the net, step and arguments that it is of."""

    value: Value
    cfg: RunConfig
    step: int
    args: dict[str, Any]


# By panel and question, as `InstrumentPanel.key` joins them.
MEASURED: Key[Measured[Any] | None] = Key("{}_measured", None)
MEASURED_WANTED: Key[tuple[RunConfig, int, dict[str, Any]] | None] = Key("{}_wanted", None)


class InstrumentPanel:
    """An open instrument over a view of a run. `waiting` is set while an answer is still to come.

    `screen`: panels of one screen are measured together; a panel of another screen takes their place. `player`: the
    name of the player of the run. `net`: what the net is called among several.
    """

    def __init__(
        self, name: str, view: View, at: Playhead, *, screen: str = "", player: str = "", net: str = ""
    ) -> None:
        self.name, self.view, self.at, self.player = name, view, at, player
        self.of = f" ({net})" if net else ""
        self.screen = screen or name
        self.waiting = False

    @property
    def cfg(self) -> RunConfig:
        """The configuration shown."""
        return self.view.cfg

    @property
    def step(self) -> int:
        """The step shown: how many updates the net has had."""
        return self.view.row

    def key(self, part: str) -> str:
        """The session's key of a widget or a chart of this panel."""
        return f"instrument_{self.name}_{part}".lower().replace(" ", "_")

    def say(self, text: str, *, bold: bool = True) -> None:
        """Writes what the numbers say, unless a link hides the verdict; the panel's first sentence is bold."""
        if not hidden("verdict"):
            st.markdown(f"**{text}**" if bold else text)

    def chart(
        self,
        figure: Figure,
        title: str = "",
        height: int = 280,
        *,
        on_click: Callable[[Any, Any], None] | None = None,
    ) -> None:
        """Draws a figure; `title`: its name, if not its own.

        `on_click` is called with x and y of a clicked point.
        """
        title = title or title_of(figure)
        static_chart(figure, title, self.key(title), height, on_click)

    def row(self, *figures: Figure, height: int = 280) -> None:
        """Draws figures side by side."""
        for column, figure in zip(st.columns(len(figures)), figures, strict=True):
            with column:
                self.chart(figure, height=height)

    def table(self, title: str, said: str = "", /, **columns: Sequence[Any] | np.ndarray) -> None:
        """Draws numbers that no chart shows, and what is `said` of them, folded."""
        words = {
            name: [site_word(one) if isinstance(one, str) else one for one in column]
            for name, column in columns.items()
        }
        with st.expander(title, key=self.key(f"{title} table")):
            st.dataframe(pd.DataFrame(words), alt=f"{title}, table", height=220)
            if said:
                st.caption(said)

    def choose(self, label: str, blocks: Iterable[int], *, key: str = "block", index: int = 0) -> int:
        """Which of some blocks, counted from 1, the visitor chooses."""
        names = {f"block {block}": block for block in blocks}
        return names[st.selectbox(label, list(names), index=index, key=self.key(key))]

    def ask(self, question: Question[Value], *, tells: bool = True, **args: Any) -> Measured[Value] | None:
        """What the trainer measures at the step shown; while it works on that, what it measured before.

        While the run plays, the last measurement stays: an instrument never slows the run that it looks at. `tells`: a
        caption names the step measured; without, what the caller draws names it.
        """
        stored = MEASURED.of(self.key(question.name)).get()
        same = stored is not None and (stored.cfg, stored.args) == (self.cfg, args)
        if stored is not None and same and (self.at.playing or stored.step == self.step):
            if tells:
                self._caption(stored.step, "; pause to measure the step shown" if stored.step != self.step else "")
            return stored
        before = "" if stored is None else f" What is shown is step {stored.step}{'' if same else OTHER_SETTINGS}."
        if self.at.playing and self.step:  # the trainer would train a second run up to that step, beside the first
            st.caption(f"Pause to measure the step shown.{before}")
            return stored
        reply = self._answer(question, self.step, args)
        if reply.is_waiting:
            st.caption(f"Measuring step {self.step}: {reply.share:.0%}.{before}")
            return stored
        return self._measured(question, reply, self.step, args, tells=tells)

    def ask_by_button(self, question: Question[Value], label: str, **args: Any) -> Measured[Value] | None:
        """As `ask`, for work that takes long: it starts at a button, shows its progress, and can be cancelled."""
        begun = MEASURED_WANTED.of(self.key(question.name))
        stored = MEASURED.of(self.key(question.name)).get()
        under_way = begun.get()
        if under_way is None or under_way[0] != self.cfg:
            wanted = (self.cfg, self.step, args)
            if stored is not None:
                self._caption(stored.step, "" if (stored.cfg, stored.args) == (self.cfg, args) else OTHER_SETTINGS)
            fresh = stored is not None and (stored.cfg, stored.step, stored.args) == wanted
            start = self.key(f"{question.name}_start")
            st.button(label, key=start, icon=":material/labs:", on_click=begun.put, args=(wanted,), disabled=fresh)
            return stored
        _, step, args = under_way
        reply = self._answer(question, step, args)
        if not reply.is_waiting:
            begun.pop()
            return self._measured(question, reply, step, args) or stored
        reply.show(f"Measuring step {step}")

        def cancel() -> None:
            begun.pop()
            trainer().cancel(question, self.cfg, step=step, **args)

        st.button("Cancel", key=self.key(f"{question.name}_cancel"), icon=":material/close:", on_click=cancel)
        return stored

    def owner(self, question: str) -> Requester:
        """This visitor with this instrument; the trainer works for one screen at a time."""
        return Requester(visitor(), self.screen, f"{self.name} {question}", address=address())

    def _answer(self, question: Question[Value], step: int, args: dict[str, Any]) -> Reply[Value]:
        reply = answer(question, self.cfg, owner=self.owner(question.name), step=step, **args)
        self.waiting |= reply.is_waiting
        return reply

    def _measured(
        self, question: Question[Value], reply: Reply[Value], step: int, args: dict[str, Any], *, tells: bool = True
    ) -> Measured[Value] | None:
        """Keeps a value for later runs of the page; None if it was refused, which is said."""
        if reply.value is None:
            reply.show("")
            return None
        measured = Measured(reply.value, self.cfg, step, args)
        MEASURED.of(self.key(question.name)).put(measured)
        if tells:
            self._caption(step)
        return measured

    def _caption(self, step: int, more: str = "") -> None:
        """Names what stands below it: the step measured, and the net, where it is one of several."""
        st.caption(f"Measured at step {step}{self.of}{more}.")


def branch_weights(cfg: RunConfig) -> int:
    """About how many weights the branches of a net have."""
    per_block = 2 * cfg.expansion + (4 if cfg.net == "transformer" else 0)
    return cfg.depth * per_block * cfg.width**2


def whole_blocks(cfg: RunConfig) -> list[int]:
    """The blocks that were not taken out, counted from 1."""
    return sorted({one.block for one in plan(cfg).sublayers if not one.identity})


def block_names(blocks: Iterable[int]) -> tuple[str, ...]:
    """The names of blocks for the ticks of a chart."""
    return tuple(block_name(block) for block in blocks)
