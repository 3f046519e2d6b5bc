"""Residual learning: x plus a bend, fitted by the same layers with and without a residual."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import LOSS, SIGNAL
from components.charts.parts import Figure
from components.controls import form
from components.labs.parts import draw_charts, draw_finding, draw_sentence, line_chart
from exhibits.labs.residual.bend.numbers import POINTS, TrainedNet, initial_layers, target, train
from models.content import Texts
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/residual/bend")
KEY = "residual_bend"
STEPS = 200
LEARNING_RATE = 0.03


@dataclass(frozen=True)
class Bend(Settings):
    columns = (3, 2)

    bend: Annotated[float, Knob("Bend", -1.5, 3.0, 0.1, control="slider", link="bend")] = 0.3
    layers: Annotated[int, Knob("Layers", 1, 6, control="slider", link="layers")] = 3
    size: Annotated[float, Knob("Size of F at the start", 0.0, 1.0, 0.1, control="slider", link="start")] = 0.3
    step: Annotated[int, Knob("Step of the functions", 0, STEPS, control="slider", link="at-step")] = 20
    seed: Annotated[int, Knob("Seed of the layers", high=999, link="layers-seed")] = 0


def draw() -> None:
    st.markdown(TEXTS("x plus a bend"))
    settings = form.draw(Bend, KEY)
    bend, layers, size, seed = settings.bend, settings.layers, settings.size, settings.seed
    nets = {name: _train(bend, layers, size, seed, name == "residual") for name in ("residual", "plain")}
    draw_charts(KEY, function_chart(bend, nets, settings.step), loss_chart(nets), height=300)
    draw_finding(bend_sentence(bend, nets))
    branches = {f"layer {layer}": rms for layer, rms in enumerate(nets["residual"].branch_rms, start=1)}
    draw_sentence(TEXTS("branches learned", branches=branches))


def bend_sentence(bend: float, nets: dict[str, TrainedNet]) -> str:
    """RMS of bend and target, the first losses, and which net ends at the lower loss, as sentences."""
    residual, plain = (nets[name].losses for name in ("residual", "plain"))
    bend_rms = _rms(target(bend) - POINTS)
    target_rms = _rms(target(bend))
    residual_start = residual[0]
    catch_up_steps = np.flatnonzero(plain <= residual_start)
    start = TEXTS("plain never catches up", steps=STEPS)
    if len(catch_up_steps):
        start = TEXTS("plain catches up", steps=int(catch_up_steps[0]))
    diverged = [name for name, net in nets.items() if len(net.losses) <= STEPS]
    heading = "residual ends lower" if residual[-1] < plain[-1] else "plain ends lower"
    end = f"diverged: {' and '.join(diverged)}" if diverged else TEXTS(heading, residual=residual[-1], plain=plain[-1])
    return TEXTS("bend", own=bend_rms, whole=target_rms, first=residual_start, start=start, end=end)


def function_chart(bend: float, nets: dict[str, TrainedNet], step: int) -> Figure:
    """The target, and the function of each net after `step` steps or, if it diverged before, after its last."""
    outputs = {name: net.outputs[min(step, len(net.outputs) - 1)] for name, net in nets.items()}
    lines = {"target": target(bend)} | outputs
    roles = ("formula", "now", "other")
    title = f"Functions after {step} steps"
    x_labels = [f"{x:.1f}" for x in POINTS]
    return line_chart(title, x_labels, lines, roles, axis="linear", x="x", unit="output", hue=SIGNAL)


def loss_chart(nets: dict[str, TrainedNet]) -> Figure:
    lines = {name: net.losses for name, net in nets.items()}
    return line_chart("Loss of both nets", range(STEPS + 1), lines, x="step", unit="half mean square", hue=LOSS)


@st.cache_data(max_entries=64, show_spinner=False)
def _train(bend: float, layers: int, size: float, seed: int, residual: bool) -> TrainedNet:
    return train(bend, initial_layers(layers, size, seed), residual=residual, rate=LEARNING_RATE, steps=STEPS)


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))
