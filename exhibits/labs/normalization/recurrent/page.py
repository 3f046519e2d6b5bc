"""A recurrent net that runs out of sequences: statistics of both norms by step."""

from dataclasses import dataclass
from typing import Annotated, Any

import streamlit as st

from components.charts.colour import SIGNAL
from components.controls import form
from components.labs.normed_table import LabTable
from components.labs.parts import draw_charts, draw_finding, draw_note, line_chart, number_cells
from components.shell.text import named_table
from exhibits.labs.normalization.recurrent.numbers import FEATURES, RecurrentStatistics, recurrent_statistics
from models.content import Texts
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization/recurrent")
KEY = "normalization"


@dataclass(frozen=True)
class ReadSequences(Settings):
    columns = (2,)

    count: Annotated[int, Knob("Sequences", low=2, high=12, link="batch", control="slider")] = 6
    seed: Annotated[int, Knob("Seed of lengths and weights", high=999)] = 0


def draw(_table: LabTable) -> None:
    """Draws the statistics of both norms in a recurrent cell that reads sequences of different lengths."""
    st.subheader("A recurrent net", anchor=False)
    settings = form.draw(ReadSequences, f"{KEY}_rnn")
    statistics = recurrent_statistics(settings.count, settings.seed)
    st.latex(r"h_t=\tanh\bigl(N(W_h h_{t-1}+W_x x_t)\bigr)")
    draw_finding(lengths_sentence(statistics))
    steps = range(1, len(statistics.sequences_left) + 1)
    columns = {
        "batch norm: mean": statistics.mean,
        "batch norm: variance": statistics.variance,
        "first sequence, batch norm": statistics.batch_norm_feature,
        "first sequence, layer norm": statistics.layer_norm_feature,
    }
    cells = {name: number_cells(values, 3) for name, values in columns.items()}
    named_table("Statistics by step", {"step": list(steps), "sequences left": statistics.sequences_left} | cells)
    lines = {"batch norm": statistics.batch_norm_rms, "layer norm": statistics.layer_norm_rms}
    axes: dict[str, Any] = {"axis": "linear", "x": "step", "unit": "RMS", "hue": SIGNAL, "guides": (0, 1)}
    draw_charts(KEY, line_chart("Size after the norm by step", steps, lines, **axes))
    draw_note(TEXTS("random cell", features=FEATURES))


def lengths_sentence(statistics: RecurrentStatistics) -> str:
    """The statistics of batch norm towards the end of the batch, where few sequences are left."""
    sequences_left = statistics.sequences_left
    steps_alone = sequences_left.count(1)
    if steps_alone:
        steps = "step" if steps_alone == 1 else f"{steps_alone} steps"
        batch_norm = TEXTS("last sequence", steps=steps, size=statistics.layer_norm_rms[-1])
    else:
        batch_norm = TEXTS("variances", least=min(statistics.variance), most=max(statistics.variance))
    lengths = ", ".join(map(str, statistics.lengths))
    return TEXTS(
        "lengths",
        lengths=lengths,
        first=sequences_left[0],
        steps=len(sequences_left),
        last=sequences_left[-1],
        batch_norm=batch_norm,
    )
