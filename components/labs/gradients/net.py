"""A real network's gradient compared with the chain's product: measurement and formula on one axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import GRADIENT, SIGNAL
from components.charts.depth import Series, depth_profile
from components.charts.parts import Figure
from components.controls import form
from components.labs.gradients.words import compared, expected
from components.shell.session import Key
from components.shell.static_chart import static_chart
from components.shell.text import badge
from components.shell.visitor import owner
from components.shell.waiting import poll_while
from components.shell.ways_on import to_playground
from components.stage.answer import before_training
from components.stage.view import PROFILE_SECONDS
from models.insight.gaussian import ACTIVATIONS
from models.insight.theory import Law, law
from models.spec import INITS as ALL_INITS
from models.spec import RunConfig
from models.spec.knob import Knob
from models.spec.settings import Settings, of_run
from models.trace import Trace

KEY = "gradients_net"
NORMS = {"no norm": "none", "pre-norm": "pre-norm", "post-norm": "post-norm"}
INITS = [name for name, entry in ALL_INITS.items() if not (entry.on_outputs or entry.past_scores)]

NET_SEEN: Key[tuple[RunConfig, Sequence[Trace]] | None] = Key("gradients_net_seen", None)


@dataclass(frozen=True)
class MeasuredNet(Settings):
    """The net that is measured."""

    depth: Annotated[int, Knob("Depth of the net", low=1, high=100, control="slider")] = 50
    residual: Annotated[bool, of_run("residual")] = False
    activation: Annotated[str, of_run("activation", choices=ACTIVATIONS)] = next(iter(ACTIVATIONS))
    init: Annotated[str, of_run("init", choices=dict.fromkeys(INITS))] = INITS[0]
    norm: Annotated[str, Knob("Layer norm", choices=dict.fromkeys(NORMS))] = next(iter(NORMS))
    layers: Annotated[int, of_run("layers_per_branch", choices={1: "1", 2: "2"}, control="segments")] = 1
    seeds: Annotated[int, Knob(
        "Seeds", choices={1: "1", 6: "6"}, control="segments"
    )] = 1  # fmt: skip


def draw() -> None:
    """The section."""
    cfg, seeds = controls()
    poll_while("gradients", lambda: watch(cfg, seeds))


def controls() -> tuple[RunConfig, int]:
    """The introduction, and the net that is set with its number of seeds."""
    st.subheader("The same on a real network", anchor=False)
    st.markdown(
        "An MLP of width 64 on real digits, before training: its gradient at every point of the stream, compared with "
        "the product."
    )
    one, two, three = st.columns(3)
    net = form.draw(MeasuredNet, KEY, places=[one, one, two, two, three, *three.columns(2)])
    cfg = RunConfig(
        depth=net.depth,
        residual=net.residual,
        activation=net.activation,
        init=net.init,
        placement=NORMS[net.norm],
        norm="none" if net.norm == "no norm" else "layer norm",
        layers_per_branch=net.layers,
    )
    return cfg, net.seeds


def watch(cfg: RunConfig, seeds: int) -> bool:
    """Both charts, of the previous net until the answer arrives. Returns whether it is still to come."""
    before = NET_SEEN.get()
    reply = before_training(cfg, seeds, owner=owner(KEY), wait=PROFILE_SECONDS)
    if reply.value is not None:
        before = cfg, reply.value
        NET_SEEN.put(before)
    elif reply.refusal or before is None:
        reply.show("Measuring")
        return reply.waiting
    else:
        reply.show("Measuring; below is still the previous net")
    _show(*before)
    return reply.waiting


def net_chart(title: str, hue: str, traces: Sequence[Trace], measured: np.ndarray, product: np.ndarray) -> Figure:
    """Measured RMS (K, S) as geometric mean, minimum and maximum, and the formula (S,)."""
    with np.errstate(divide="ignore"):
        mean = np.exp(np.log(measured.astype(float)).mean(0))
    series = [Series("formula", product, "formula")]
    if len(measured) > 1:
        series += [Series("minimum", measured.min(0), "ghost"), Series("maximum", measured.max(0), "initial")]
    series.append(Series("measured", mean))
    return depth_profile(title=title, unit="RMS", hue=hue, sites=traces[0].sites, series=series)


def anchored(traces: Sequence[Trace], predicted: Law) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """By chart: the measured RMS (K, S), and the formula's line, starting where the measurement does."""
    assert predicted.mean_square is not None
    assert predicted.product is not None
    act, grad = np.stack([one.act_rms[0] for one in traces]), np.stack([one.grad_rms[0] for one in traces])
    return {
        "Signal of the net": (act, np.sqrt(predicted.mean_square) * _mean(act[:, 0])),
        "Gradient of the net": (grad, predicted.product * _mean(grad[:, -1])),
    }


def _show(cfg: RunConfig, traces: Sequence[Trace]) -> None:
    predicted = law(cfg)
    assert predicted.product is not None, "every net that can be set here has a law"
    gradients = np.stack([one.grad_rms[0] for one in traces])
    st.markdown(f"**{compared(cfg, gradients, predicted.product)}**")
    st.markdown(expected(cfg))
    charts = anchored(traces, predicted).items()
    for column, hue, (title, (measured, formula)) in zip(st.columns(2), (SIGNAL, GRADIENT), charts, strict=True):
        with column:
            chart = net_chart(title, hue, traces, measured, formula)
            static_chart(chart, title, f"{KEY}_{title.partition(' ')[0].lower()}_chart")
    st.caption(
        f"{badge('measured')} on the first batch, by autograd. {badge('formula')} for infinite width, from the "
        "activation's moments under a Gaussian, block by block; its line starts where the measured one does. [Poole "
        "2016](https://arxiv.org/abs/1606.05340), [Schoenholz 2017](https://arxiv.org/abs/1611.01232)."
    )
    to_playground(cfg, "Train it in the playground")


def _mean(values: np.ndarray) -> float:
    """The geometric mean of all finite positive values; NaN if there are none."""
    alive = values[np.isfinite(values) & (values > 0)].astype(float)
    return float(np.exp(np.log(alive).mean())) if len(alive) else float("nan")
