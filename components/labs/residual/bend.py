"""Residual learning: x plus a bend, fitted by the same layers with and without a residual."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import LOSS, SIGNAL
from components.charts.depth import Series, depth_profile, linear_profile
from components.charts.parts import Figure
from components.controls import form
from components.labs.parts import draw_charts, draw_finding
from components.shell.text import badge
from models.content import Texts
from models.labs.bend import POINTS, Learned, initial, learn, target
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/residual")
KEY = "residual_bend"
STEPS, RATE = 200, 0.03


@dataclass(frozen=True)
class Bend(Settings):
    """What is learned, by which layers, and the step whose functions are drawn."""

    columns = (3, 2)

    bend: Annotated[float, Knob("Bend", -1.5, 3.0, 0.1, control="slider", link="bend")] = 0.3
    layers: Annotated[int, Knob("Layers", 1, 6, control="slider", link="layers")] = 3
    size: Annotated[float, Knob("Size of F at the start", 0.0, 1.0, 0.1, control="slider", link="start")] = 0.3
    step: Annotated[int, Knob("Step of the functions", 0, STEPS, control="slider", link="at-step")] = 20
    seed: Annotated[int, Knob("Seed of the layers", high=999, link="layers-seed")] = 0


def draw() -> None:
    """The section."""
    st.markdown(TEXTS("x plus a bend"))
    at = form.draw(Bend, KEY)
    nets = {name: _learned(at.bend, at.layers, at.size, at.seed, name == "residual") for name in ("residual", "plain")}
    draw_charts(KEY, function_chart(at.bend, nets, at.step), loss_chart(nets), height=300)
    draw_finding(bend_sentence(at.bend, nets))
    branches = {f"layer {layer}": size for layer, size in enumerate(nets["residual"].branches, start=1)}
    st.markdown(f"{TEXTS('branches learned', branches=branches)} {badge('formula')}")


@st.cache_data(max_entries=64, show_spinner=False)
def _learned(bend: float, layers: int, size: float, seed: int, residual: bool) -> Learned:
    return learn(bend, initial(layers, size, seed), residual=residual, rate=RATE, steps=STEPS)


def function_chart(bend: float, nets: dict[str, Learned], step: int) -> Figure:
    """The target and what both nets make of x after some steps."""
    series = [Series("target", target(bend), "formula")]
    for (name, net), role in zip(nets.items(), ("now", "other"), strict=True):
        series.append(Series(name, net.outputs[min(step, len(net.outputs) - 1)], role))
    sites = [f"{x:.1f}" for x in POINTS]
    title = f"Functions after {step} steps"
    return linear_profile(title=title, x="x", sites=sites, unit="output", hue=SIGNAL, series=series)


def loss_chart(nets: dict[str, Learned]) -> Figure:
    """The losses by step."""
    pairs = zip(nets.items(), ("now", "other"), strict=True)
    series = [Series(name, net.losses, role) for (name, net), role in pairs]
    return depth_profile(
        title="Loss of both nets", x="step", sites=range(STEPS + 1), unit="half mean square", hue=LOSS, series=series
    )


def bend_sentence(bend: float, nets: dict[str, Learned]) -> str:
    """What had to be learned, where both start, and which ends lower."""
    residual, plain = (nets[name].losses for name in ("residual", "plain"))
    wanted = target(bend)
    caught = np.flatnonzero(plain <= residual[0])
    start = (
        TEXTS("plain catches up", steps=int(caught[0])) if len(caught) else TEXTS("plain never catches up", steps=STEPS)
    )
    diverged = [name for name, net in nets.items() if len(net.losses) <= STEPS]
    heading = "residual ends lower" if residual[-1] < plain[-1] else "plain ends lower"
    end = f"diverged: {' and '.join(diverged)}" if diverged else TEXTS(heading, residual=residual[-1], plain=plain[-1])
    return TEXTS("bend", own=_rms(wanted - POINTS), whole=_rms(wanted), first=residual[0], start=start, end=end)


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))
