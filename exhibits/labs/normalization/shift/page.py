"""Internal covariate shift: the input of a block over training with each norm, and with shifts put back."""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import LOSS, SIGNAL
from components.charts.parts import Figure
from components.controls import form
from components.labs.long import run_on_button
from components.labs.maps import signed_map
from components.labs.normed_table import LabTable
from components.labs.parts import draw_charts, draw_finding, line_chart, number_cells
from components.shell.text import named_table
from models import answers
from models.answers import CovariateShift
from models.content import Texts
from models.spec import RunConfig
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization/shift")
KEY = "normalization_shift"
DEPTH = 8  # blocks
STEPS = 240
NETS = ("no norm", "layer norm", "batch norm", "batch norm, shifted")
ROLES = ("initial", "other", "now", "formula")
MAX_DRAWN_FEATURES = 16
FINAL_STEPS = 20  # a final loss is the mean over these last steps


@dataclass(frozen=True)
class ShiftedNets(Settings):
    columns = (3,)

    block: Annotated[int, Knob("Block", low=1, high=DEPTH, link="shift-block", control="slider")] = 4
    shift: Annotated[
        float, Knob("Shifts put back, up to", low=0.1, high=2.0, step=0.1, link="put-back", control="slider")
    ] = 0.5
    lr: Annotated[float, Knob("Learning rate of these nets", low=0.0001, high=0.1, link="shift-rate")] = 0.02
    film: Annotated[str, Knob("Features of", choices=dict.fromkeys(NETS), link="film", control="segments")] = NETS[0]


def draw(_table: LabTable) -> None:
    """Draws four trained nets that differ in the norm; the last adds shifts after its batch norms."""
    st.subheader("Internal covariate shift", anchor=False)
    st.markdown(TEXTS("shift between layers", depth=DEPTH, steps=STEPS))
    settings = form.draw(ShiftedNets, KEY, only=["block", "shift", "lr"])
    net = form.keep(ShiftedNets, KEY, only=["film"]).film
    run_on_button(
        KEY,
        answers.COVARIATE_SHIFT,
        configuration(settings.lr),
        partial(_draw_results, settings.block, net),
        label=TEXTS("train the four"),
        doing="Training and measuring",
        block=settings.block,
        shift=settings.shift,
    )


def _draw_results(block: int, net: str, result: CovariateShift) -> None:
    """Draws the moves and losses of all nets, and the features of `net` over the steps."""
    moves = typical_moves(result)
    steps_between = STEPS // (len(result.steps) - 1)
    st.markdown(TEXTS("means move", **moves, block=block, every=steps_between))
    draw_finding(shift_sentence(result), "measured")
    draw_charts(KEY, moves_chart(result), loss_chart(result))
    columns = {
        "net": list(NETS),
        "shift": number_cells(moves.values(), 3),
        "end loss": number_cells(final_losses(result), 3),
        "accuracy": [f"{share:.0%}" for share in result.accuracy],
    }
    named_table("Shift and loss by norm", columns)
    form.draw(ShiftedNets, KEY, only=["film"], is_kept=True)
    draw_charts(KEY, feature_map(result, net))
    st.caption(TEXTS("shifts put back"))


def configuration(lr: float) -> RunConfig:
    """The configuration that the nets share; they differ in the norm."""
    return RunConfig(depth=DEPTH, width=32, residual=False, init="xavier", lr=lr, steps=STEPS)


def typical_moves(result: CovariateShift) -> dict[str, float]:
    """The median distance that the means move between measurements, by net."""
    return dict(zip(("none", "layer", "batch", "shifted"), np.median(result.moves, axis=1).tolist(), strict=True))


def final_losses(result: CovariateShift) -> np.ndarray:
    """The mean loss of the last steps, by net (K,)."""
    return np.asarray(result.loss[:, -FINAL_STEPS:].mean(1))


def shift_sentence(result: CovariateShift) -> str:
    """Whether the shifts that were put back explain why batch norm helps."""
    moves, loss = typical_moves(result), final_losses(result)
    if not np.isfinite(loss).all():
        diverged = ", ".join(net for net, final in zip(NETS, loss, strict=True) if not np.isfinite(final))
        return TEXTS("nets diverged", nets=diverged)
    none, _, batch, shifted = loss.tolist()
    moves_more_but_learns_better = moves["shifted"] > moves["none"] and shifted < none
    heading = "shift does not matter" if moves_more_but_learns_better else "shift undecided"
    return TEXTS(heading, none=none, batch=batch, shifted=shifted)


def moves_chart(result: CovariateShift) -> Figure:
    """How far the means moved since the measurement before, one line per net."""
    lines = dict(zip(NETS, result.moves, strict=True))
    steps = [int(step) for step in result.steps[1:]]
    axes = {"x": "step", "unit": "RMS, in spreads", "hue": SIGNAL}
    return line_chart("Shift of what the block reads", steps, lines, ROLES, **axes)


def loss_chart(result: CovariateShift) -> Figure:
    """The training loss, averaged between two measurements, one line per net."""
    steps = result.steps.astype(int).tolist()
    losses = [[loss[low:high].mean() for low, high in pairwise(steps)] for loss in result.loss]
    lines = dict(zip(NETS, losses, strict=True))
    axes = {"axis": "linear", "x": "step", "unit": "cross-entropy", "hue": LOSS}
    return line_chart("Training loss", steps[1:], lines, ROLES, **axes)


def feature_map(result: CovariateShift, net: str) -> Figure:
    """The means of a net's first features over the steps."""
    mean = result.mean[NETS.index(net)].T[:MAX_DRAWN_FEATURES]
    return signed_map(
        "Mean of each feature by step",
        rows=[str(i + 1) for i in range(len(mean))],
        columns=[str(int(step)) for step in result.steps],
        values=mean,
        unit="mean",
        x="step",
        y="feature",
        measured=np.isfinite(mean),
    )
