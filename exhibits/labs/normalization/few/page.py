"""Overfitting and the loss landscape: nets with and without a norm, trained on a few digits."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from components.charts.colour import LOSS
from components.charts.parts import Figure
from components.controls import form
from components.labs.long import run_on_button
from components.labs.normed_table import LabTable
from components.labs.parts import draw_charts, draw_sentence, line_chart, number_cells
from components.shell.text import named_table
from exhibits.labs.normalization.few.answer import FEW_SAMPLES, Overfitting
from exhibits.labs.normalization.few.numbers import flatness_sentence, overfitting_sentence
from models.content import Texts
from models.spec import RunConfig
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization/few")
KEY = "normalization_few"
NORMS = ("none", "layer norm", "batch norm")
STEPS = 240
SEED_COUNT = 2
SAMPLE_COUNTS = (20, 50, 100, 200, 500)


@dataclass(frozen=True)
class FewDigits(Settings):
    columns = (3,)

    samples: Annotated[
        int, Knob("Digits to learn from", choices=dict.fromkeys(SAMPLE_COUNTS), link="digits", control="steps")
    ] = 100
    lr: Annotated[float, Knob("Learning rate of all nets", low=0.0001, high=0.1, link="rate")] = 0.01
    scales_branches: Annotated[bool, Knob("Branches times 1/√depth", link="level")] = True


def draw(_table: LabTable) -> None:
    """Draws a test of two claims about norms: that they prevent overfitting, and that they flatten the landscape."""
    st.subheader("Overfitting and landscape", anchor=False)
    st.markdown(TEXTS("few digits", steps=STEPS, seeds=SEED_COUNT))
    settings = form.draw(FewDigits, KEY)
    cfg = configuration(settings.lr, settings.scales_branches)
    label = f"Train {len(NORMS) * SEED_COUNT} nets"
    args: dict[str, Any] = {"norms": list(NORMS), "samples": settings.samples, "seeds": SEED_COUNT}
    run_on_button(KEY, FEW_SAMPLES, cfg, _draw_results, label=label, doing="Training and measuring", **args)


def _draw_results(result: Overfitting) -> None:
    held_out, accuracy = result.held_out[..., -1], result.accuracy[..., -1]
    draw_sentence(f"**Overfitting.** {overfitting_sentence(NORMS, held_out, accuracy)}", "measured")
    steps = [int(step) for step in result.steps]
    losses = {"Loss on the samples": result.train, "Held-out loss": result.held_out}
    draw_charts(KEY, *(loss_chart(title, steps, loss) for title, loss in losses.items()))
    draw_sentence(f"**Landscape.** {flatness_sentence(NORMS, result.rise)}", "measured")
    named_table(
        "With and without a norm",
        {
            "norm": list(NORMS),
            "loss on the samples": list(map(_seeds_text, result.train[..., -1])),
            "held-out loss": list(map(_seeds_text, held_out)),
            "lowest held-out loss": list(map(_seeds_text, result.held_out.min(-1))),
            "held-out accuracy": [" / ".join(f"{share:.1%}" for share in row) for row in accuracy],
            "rise at half a filter": list(map(_seeds_text, result.rise)),
            "sharpness": list(map(_seeds_text, result.sharpness)),
        },
    )
    st.caption(TEXTS("a number per seed"))


def configuration(lr: float, scales_branches: bool) -> RunConfig:
    """The nets' configuration, apart from norm and seed."""
    branch_scale = "1/sqrt(depth)" if scales_branches else 1.0
    return RunConfig(depth=4, width=32, steps=STEPS, batch=32, lr=lr, branch_scale=branch_scale)


def loss_chart(title: str, steps: list[int], loss: np.ndarray) -> Figure:
    """Mean over seeds of a loss, (norms, seeds, steps), as one line per norm."""
    names = ["no norm" if norm == "none" else norm for norm in NORMS]
    lines = dict(zip(names, loss.mean(1), strict=True))
    axes: dict[str, Any] = {"axis": "linear", "x": "step", "unit": "cross-entropy", "hue": LOSS, "guides": (0.0,)}
    return line_chart(title, steps, lines, **axes)


def _seeds_text(values: np.ndarray) -> str:
    return " / ".join(number_cells(values, 3))
