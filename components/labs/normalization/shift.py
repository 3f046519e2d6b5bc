"""Internal covariate shift, measured: what a block reads over training with each norm, and with shifts put back."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import LOSS, SIGNAL
from components.charts.depth import by_name, depth_profile, linear_profile
from components.charts.parts import Figure
from components.controls import form
from components.labs.long import run_on_button
from components.labs.maps import signed_map
from components.labs.parts import draw_charts, draw_finding
from components.shell.text import named_table, number
from models import answers
from models.answers import CovariateShift
from models.content import Texts
from models.spec import RunConfig
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization")
KEY = "normalization_shift"
DEPTH, STEPS = 8, 240
NO_NORM, LAYER, BATCH, SHIFTED = "no norm", "layer norm", "batch norm", "batch norm, shifted"
NETS = (NO_NORM, LAYER, BATCH, SHIFTED)
ROLES = ("initial", "other", "now", "formula")
DRAWN_FEATURES = 16
LAST = 20  # steps whose mean is a final loss


@dataclass(frozen=True)
class ShiftedNets(Settings):
    """The block that is looked at, the shifts that are put back, and the net whose features are drawn."""

    columns = (3,)

    block: Annotated[int, Knob("Block", low=1, high=DEPTH, link="shift-block", control="slider")] = 4
    shift: Annotated[
        float, Knob("Shifts put back, up to", low=0.1, high=2.0, step=0.1, link="put-back", control="slider")
    ] = 0.5
    lr: Annotated[float, Knob("Learning rate of these nets", low=0.0001, high=0.1, link="shift-rate")] = 0.02
    film: Annotated[str, Knob("Features of", choices=dict.fromkeys(NETS), link="film", control="segments")] = NO_NORM


def covariate_shift(_values: np.ndarray, _row: int, _eps: float, _names: list[str]) -> None:
    """Four nets that differ in the norm, trained; the last with shifts behind its batch norms."""
    st.markdown(TEXTS("shift between layers", depth=DEPTH, steps=STEPS))
    chosen = form.draw(ShiftedNets, KEY, only=["block", "shift", "lr"])
    cfg = configuration(chosen.lr)
    film = form.keep(ShiftedNets, KEY, only=["film"]).film

    def show(found: CovariateShift) -> None:
        st.markdown(TEXTS("means move", **moved_by(found), block=chosen.block, every=STEPS // (len(found.steps) - 1)))
        draw_finding(ends(found), "measured")
        draw_charts(KEY, moves_chart(found), loss_chart(found))
        table(found)
        form.draw(ShiftedNets, KEY, only=["film"], kept=True)
        draw_charts(KEY, film_chart(found, film))
        st.caption(TEXTS("shifts put back"))

    run_on_button(
        KEY,
        answers.COVARIATE_SHIFT,
        cfg,
        show,
        label=TEXTS("train the four"),
        doing="Training and measuring",
        block=chosen.block,
        shift=chosen.shift,
    )


def configuration(lr: float) -> RunConfig:
    """The nets' configuration, apart from the norm."""
    return RunConfig(depth=DEPTH, width=32, residual=False, init="xavier", lr=lr, steps=STEPS)


def moved_by(found: CovariateShift) -> dict[str, float]:
    """How far the means typically move, by net."""
    return dict(zip(("none", "layer", "batch", "shifted"), np.median(found.moves, axis=1).tolist(), strict=True))


def final_losses(found: CovariateShift) -> np.ndarray:
    """The mean loss of the last steps of each net, (K,)."""
    return np.asarray(found.loss[:, -LAST:].mean(1))


def ends(found: CovariateShift) -> str:
    """What the shifts that were put back say about why batch norm helps."""
    moves, loss = moved_by(found), final_losses(found)
    if not np.isfinite(loss).all():
        lost = ", ".join(name for name, one in zip(NETS, loss, strict=True) if not np.isfinite(one))
        return TEXTS("nets diverged", nets=lost)
    none, _, batch, shifted = loss.tolist()
    heading = "shift does not matter" if moves["shifted"] > moves["none"] and shifted < none else "shift undecided"
    return TEXTS(heading, none=none, batch=batch, shifted=shifted)


def moves_chart(found: CovariateShift) -> Figure:
    """How far the means moved since the measurement before, one line per net."""
    series, steps = by_name(dict(zip(NETS, found.moves, strict=True)), ROLES), [int(step) for step in found.steps[1:]]
    title, unit = "Shift of what the block reads", "RMS, in spreads"
    return depth_profile(title=title, x="step", sites=steps, unit=unit, hue=SIGNAL, series=series)


def loss_chart(found: CovariateShift) -> Figure:
    """The training loss, averaged between two measurements, one line per net."""
    ends = found.steps.astype(int)
    lines = [[loss[low:high].mean() for low, high in pairwise(ends)] for loss in found.loss]
    series = by_name(dict(zip(NETS, lines, strict=True)), ROLES)
    title, sites = "Training loss", [int(step) for step in ends[1:]]
    return linear_profile(title=title, x="step", sites=sites, unit="cross-entropy", hue=LOSS, series=series)


def film_chart(found: CovariateShift, net: str) -> Figure:
    """The mean of each of the first features over the steps, of one net."""
    mean = found.mean[NETS.index(net)].T[:DRAWN_FEATURES]
    return signed_map(
        "Mean of each feature by step",
        rows=[str(at + 1) for at in range(len(mean))],
        columns=[str(int(step)) for step in found.steps],
        values=mean,
        unit="mean",
        x="step",
        y="feature",
        measured=np.isfinite(mean),
    )


def table(found: CovariateShift) -> None:
    """The numbers by net."""
    rows = {
        "net": list(NETS),
        "shift": [number(one, 3) for one in moved_by(found).values()],
        "end loss": [number(one, 3) for one in final_losses(found)],
        "accuracy": [f"{one:.0%}" for one in found.accuracy],
    }
    named_table("Shift and loss by norm", rows)
