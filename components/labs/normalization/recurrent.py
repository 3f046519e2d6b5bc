"""Why a recurrent net takes layer norm: sequences differ in length, and batch norm's statistics from step to step."""

from dataclasses import astuple, dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import SIGNAL
from components.charts.depth import by_name, linear_profile
from components.controls import form
from components.shell.static_chart import static_chart
from components.shell.text import badge, named_table, number
from models.labs.recurrent import FEATURES, RecurrentStatistics, read
from models.spec.knob import Knob
from models.spec.settings import Settings

KEY = "normalization"


@dataclass(frozen=True)
class ReadSequences(Settings):
    """The batch that the cell reads."""

    columns = (2,)

    count: Annotated[int, Knob("Sequences", low=2, high=12, link="batch", control="slider")] = 6
    seed: Annotated[int, Knob("Seed of lengths and weights", high=999)] = 0


def recurrent(_values: np.ndarray, _row: int, _eps: float, _names: list[str]) -> None:
    """A batch of sequences of different lengths through a recurrent cell, and the statistics of either norm."""
    found = read(*astuple(form.draw(ReadSequences, f"{KEY}_rnn")))
    st.latex(r"h_t=\tanh\bigl(N(W_h h_{t-1}+W_x x_t)\bigr)")
    st.markdown(f"**{said(found)}** {badge('formula')}")
    steps = range(1, len(found.left) + 1)
    named_table(
        "Statistics by step",
        {
            "step": list(steps),
            "sequences left": found.left,
            "batch norm: mean": [number(one, 3) for one in found.mean],
            "batch norm: variance": [number(one, 3) for one in found.variance],
            "first sequence, batch norm": [number(one, 3) for one in found.by_batch],
            "first sequence, layer norm": [number(one, 3) for one in found.by_layer],
        },
    )
    rows = {"batch norm": found.batch_size, "layer norm": found.layer_size}
    title = "Size after the norm by step"
    series, guides = by_name(rows), (0, 1)
    figure = linear_profile(title=title, x="step", sites=steps, unit="RMS", hue=SIGNAL, series=series, guides=guides)
    static_chart(figure, title, f"{KEY}_recurrent")
    st.caption(
        f"A random cell of {FEATURES} features on random inputs; mean, variance and results are those of feature 1, "
        "the sizes are of the first (longest) sequence. Batch norm takes its statistics over the sequences that have "
        "not ended: every step has its own, over ever fewer sequences, and a longer text at inference reaches steps "
        "that have none. Layer norm takes them over the features of one sequence at one step, the same at every "
        "length. It was made for recurrent nets (Ba 2016, 1607.06450); batch norm in such a net keeps running "
        f"statistics for every step (Cooijmans 2016, 1603.09025). {badge('formula')}"
    )


def said(found: RecurrentStatistics) -> str:
    """What becomes of batch norm's statistics towards the end of the batch."""
    lengths = ", ".join(str(one) for one in found.lengths)
    alone = found.left.count(1)
    start = (
        f"The sequences are {lengths} tokens long: step 1 takes its statistics over {found.left[0]} of them, step "
        f"{len(found.left)} over {found.left[-1]}."
    )
    if not alone:
        least, most = number(min(found.variance), 2), number(max(found.variance), 2)
        return f"{start} Batch norm's variance of feature 1 is {least} to {most} by step."
    when = "step" if alone == 1 else f"{alone} steps"
    return (
        f"{start} In the last {when} one sequence is left: its variance over the batch is 0, so batch norm turns it "
        f"into zeros, while layer norm gives it a size of {found.layer_size[-1]:.2f}."
    )
