"""The first minute: residual x norm, four nets that differ in nothing else, trained side by side under one player."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from components import player
from components.charts import loss_chart
from components.link import PLAYGROUND
from components.live_chart import live_chart
from components.picture import chance, say
from components.playhead import Playhead
from components.viewers import owner
from components.watch import crowded, tape_of
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
        # The four move together: the slowest tape that is not over sets the pace.
        open_tapes = [tape for tape in tapes if not tape.divergence]
        head.tick(player.now(), min((tape.length for tape in open_tapes), default=0), all(tape.done for tape in open_tapes))
        player.controls(NAME, head, shared=" all four")
        _status(tapes)
        for column, cell, tape in zip(st.columns(4), CELLS, tapes, strict=True):
            with column:
                _cell(cell, tape, head)
        awaited = [tape for tape in open_tapes if tape.length <= head.shown and not tape.error]
        return head.shown > 0 and bool(awaited), head.playing

    player.polled(NAME, body)


def _status(tapes: list[Tape]) -> None:
    status = trainer().status()
    if status.state != "ready":
        st.caption(f"{status.sentence}")
        return
    rate = sum(tape.rate for tape in tapes if not tape.done)
    device = next((tape.device for tape in tapes if tape.device), "cpu")
    speed = [f"{rate:.3g} steps/s together"] if rate else []
    st.caption(" · ".join(["four nets of 32 blocks", device, *speed, *crowded(*tapes), ":blue-badge[measured]"]))


def _cell(cell: Cell, tape: Tape, head: Playhead) -> None:
    trace = tape.trace()
    seen = min(head.furthest + 1, len(trace)) if trace is not None and head.furthest + head.shown > 0 else 0
    loss = trace.loss[:seen] if trace is not None else np.empty(0)
    steps = trace.step[:seen] if trace is not None else np.empty(0, int)
    divergence = trace.divergence if trace is not None and trace.divergence and seen > trace.divergence.step else None
    st.subheader(cell.title, anchor=False)
    if tape.error:
        sentence = f":red[{tape.error}]"
    elif divergence is not None:
        sentence = f":red[:material/error: {divergence.sentence()}]"
    else:
        frames = [f for f in tape.frames if f.step < seen]
        accuracy = frames[-1].held_out_accuracy if frames and seen > 1 else float("nan")
        sentence = loss_sentence(loss, accuracy, chance(cell.cfg))
    say(sentence)
    figure = loss_chart(
        step=steps, loss=loss, chance=chance(cell.cfg), total_steps=cell.cfg.steps, divergence=divergence, shown_step=head.shown
    )
    live_chart(figure, key=f"cell_{CELLS.index(cell)}", alt=f"Loss, {cell.title.lower()}", height=220)
    st.page_link(PLAYGROUND, label="Open in the playground", icon=":material/tune:", query_params=cell.cfg.to_query())
