"""What a norm does to overfitting and to the loss landscape: nets with and without one, trained on a few digits."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from components.charts.colour import LOSS
from components.charts.depth import by_name, linear_profile
from components.charts.parts import Figure
from components.controls import form
from components.labs.long import run_on_button
from components.labs.parts import draw_charts
from components.shell.text import badge, named_table, number
from models import answers
from models.answers import Overfitting
from models.content import Texts
from models.insight.few_samples import flatter, generalises
from models.spec import RunConfig
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization")
KEY = "normalization_few"
NORMS = ("none", "layer norm", "batch norm")
STEPS, SEEDS = 240, 2


@dataclass(frozen=True)
class FewDigits(Settings):
    """What the nets learn from, and how."""

    columns = (3,)

    samples: Annotated[
        int,
        Knob("Digits to learn from", choices=dict.fromkeys((20, 50, 100, 200, 500)), link="digits", control="steps"),
    ] = 100
    lr: Annotated[float, Knob("Learning rate of all nets", low=0.0001, high=0.1, link="rate")] = 0.01
    level: Annotated[bool, Knob("Branches times 1/√depth")] = True


def overfitting(_values: np.ndarray, _row: int, _eps: float, _names: list[str]) -> None:
    """Two common claims about norms, tested."""
    st.markdown(TEXTS("few digits", steps=STEPS, seeds=SEEDS))
    few = form.draw(FewDigits, KEY)
    cfg = configuration(few.lr, few.level)
    label = f"Train {len(NORMS) * SEEDS} nets"
    args: dict[str, Any] = {"norms": list(NORMS), "samples": few.samples, "seeds": SEEDS}
    run_on_button(KEY, answers.FEW_SAMPLES, cfg, _draw_results, label=label, doing="Training and measuring", **args)


def configuration(lr: float, level: bool) -> RunConfig:
    """The nets' configuration, apart from norm and seed."""
    return RunConfig(depth=4, width=32, steps=STEPS, batch=32, lr=lr, branch_scale="1/sqrt(depth)" if level else 1.0)


def _draw_results(found: Overfitting) -> None:
    end = found.held_out[..., -1], found.accuracy[..., -1]
    st.markdown(f"**Overfitting.** {generalises(NORMS, *end)} {badge('measured')}")
    losses = (("train", "Loss on the samples"), ("held_out", "Held-out loss"))
    draw_charts(KEY, *(loss_chart(found, which, title) for which, title in losses))
    st.markdown(f"**Landscape.** {flatter(NORMS, found.rise)} {badge('measured')}")
    named_table(
        "With and without a norm",
        {
            "norm": list(NORMS),
            "loss on the samples": [_both(row) for row in found.train[..., -1]],
            "held-out loss": [_both(row) for row in end[0]],
            "lowest held-out loss": [_both(row) for row in found.held_out.min(-1)],
            "held-out accuracy": [" / ".join(f"{share:.1%}" for share in row) for row in end[1]],
            "rise at half a filter": [_both(row) for row in found.rise],
            "sharpness": [_both(row) for row in found.sharpness],
        },
    )
    st.caption(TEXTS("a number per seed"))


def loss_chart(found: Overfitting, which: str, title: str) -> Figure:
    """A loss by step, mean over seeds, one line per norm."""
    names = ["no norm" if norm == "none" else norm for norm in NORMS]
    series = by_name(dict(zip(names, getattr(found, which).mean(1), strict=True)))
    steps = [int(step) for step in found.steps]
    return linear_profile(
        title=title, x="step", sites=steps, unit="cross-entropy", hue=LOSS, series=series, guides=(0.0,)
    )


def _both(values: np.ndarray) -> str:
    return " / ".join(number(float(value), 3) for value in values)
