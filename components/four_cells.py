"""The first minute: residual x norm, four nets that differ in nothing else, trained side by side under one player."""

from dataclasses import dataclass

import streamlit as st

from components import player
from components.charts import loss_chart
from components.link import PLAYGROUND
from components.live_chart import live_chart
from components.picture import chance, say
from components.playhead import Playhead
from components.viewers import owner
from components.watch import all_diverged, crowded, going, tape_of, tick
from models.insight.verdict import loss_sentence
from models.service.client import Tape, trainer
from models.spec import RunConfig

NAME = "four"


@dataclass(frozen=True)
class Cell:
    """One of the four: what it has, and the fields that differ from the default network."""

    title: str
    fields: dict[str, object]

    @property
    def cfg(self) -> RunConfig:
        """The default network with this cell's fields."""
        return RunConfig(**self.fields)  # type: ignore[arg-type]


CELLS = (
    Cell("Residual and norm", {}),
    Cell("Residual, no norm", {"norm": "none"}),
    Cell("Norm, no residual", {"residual": False}),
    Cell("Neither", {"residual": False, "norm": "none"}),
)


def watch() -> None:
    """The player and the four charts, polling while they move."""
    head = player.playhead(NAME, RunConfig())

    def body() -> tuple[bool, bool]:
        who = owner(NAME, *(cell.cfg for cell in CELLS))
        tapes = [tape_of(cell.cfg, head, who) for cell in CELLS]
        tick(head, tapes, player.now())
        player.controls(NAME, head, shared=" all four")
        _status(tapes, head)
        for column, cell, tape in zip(st.columns(4), CELLS, tapes, strict=True):
            with column:
                _cell(cell, tape, head)
        awaited = [tape for tape in going(tapes) if tape.length <= head.shown]
        return head.shown > 0 and bool(awaited), head.playing

    player.polled(NAME, body)


def _status(tapes: list[Tape], head: Playhead) -> None:
    status = trainer().status()
    if status.state != "ready":
        st.caption(f"{status.sentence}")
        return
    rate = sum(tape.rate for tape in tapes if not tape.done)
    device = next((tape.device for tape in tapes if tape.device), "cpu")
    speed = [f"{rate:.3g} steps/s together"] if rate else []
    ends = all_diverged(head, {cell.title.lower(): tape for cell, tape in zip(CELLS, tapes, strict=True)})
    measured = [":blue-badge[measured]"] if head.seen else []
    facts = ["four nets of 32 blocks", f"step {head.shown} of {head.steps}", device, *speed, *ends, *crowded(*tapes), *measured]
    st.caption(" · ".join(facts))


def _cell(cell: Cell, tape: Tape, head: Playhead) -> None:
    trace = tape.trace() if head.seen else None
    row = min(head.shown, len(trace) - 1) if trace is not None else 0
    divergence = trace.divergence if trace is not None else None
    st.subheader(cell.title, anchor=False)
    if tape.error:
        sentence = f":red[{tape.error}]"
    elif divergence is not None and row >= divergence.step:
        sentence = f":red[:material/error: {divergence.sentence()}]"
    else:
        sentence = loss_sentence(trace, row, chance(cell.cfg))
    say(sentence)
    figure = loss_chart(
        step=trace.step[: head.seen] if trace is not None else (),
        loss=trace.loss[: head.seen] if trace is not None else (),
        chance=chance(cell.cfg),
        total_steps=cell.cfg.steps,
        divergence=divergence,
        shown_step=head.shown,
    )
    live_chart(figure, key=f"cell_{CELLS.index(cell)}", alt=f"Loss, {cell.title.lower()}", height=220)
    st.page_link(PLAYGROUND, label="Open in the playground", icon=":material/tune:", query_params=cell.cfg.to_query())
