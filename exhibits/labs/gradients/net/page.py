"""A real network's gradient beside the chain's product: measurement and formula on one axis, and in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import GRADIENT, SIGNAL
from components.charts.depth import Series, depth_profile
from components.charts.parts import Figure
from components.controls import form
from components.labs.parts import draw_charts
from components.player.answer import initial_traces
from components.player.view import PROFILE_TIMEOUT_SECONDS
from components.shell.page_links import link_to_playground
from components.shell.session import Key
from components.shell.text import badge, number
from components.shell.visitor import owner
from components.shell.waiting import poll_while
from models.content import Texts
from models.insight.gaussian import ACTIVATIONS, moments
from models.insight.theory import CENTRED, Law, branch_gains, law, weight_variance
from models.insight.words import UNCHANGED_DECADES, change_in_words, decades, factor, times_larger
from models.spec import INITS as ALL_INITS
from models.spec import RunConfig
from models.spec.knob import Knob
from models.spec.settings import Settings, run_knob
from models.trace import Trace

TEXTS = Texts("labs/gradients/net")
KEY = "gradients_net"
EXPLODES_DECADES = 1.0  # a product that grows by more over all layers explodes
MAX_AGREEING = 0.02  # product and measurement agree up to this relative difference per layer
NORMS = {"no norm": "none", "pre-norm": "pre-norm", "post-norm": "post-norm"}
INITS = [name for name, entry in ALL_INITS.items() if not (entry.on_outputs or entry.past_scores)]

# The net drawn last, and a trace for each of its seeds.
NET_SEEN: Key[tuple[RunConfig, Sequence[Trace]] | None] = Key("gradients_net_seen", None)


@dataclass(frozen=True)
class MeasuredNet(Settings):
    depth: Annotated[int, Knob("Depth of the net", low=1, high=100, control="slider")] = 50
    residual: Annotated[bool, run_knob("residual")] = False
    activation: Annotated[str, run_knob("activation", choices=ACTIVATIONS)] = next(iter(ACTIVATIONS))
    init: Annotated[str, run_knob("init", choices=dict.fromkeys(INITS))] = INITS[0]
    norm: Annotated[str, Knob("Layer norm", choices=dict.fromkeys(NORMS))] = next(iter(NORMS))
    layers: Annotated[int, run_knob("layers_per_branch", choices={1: "1", 2: "2"}, control="segments")] = 1
    seeds: Annotated[int, Knob("Seeds", choices={1: "1", 6: "6"}, control="segments")] = 1


def draw() -> None:
    st.subheader("The same on a real network", anchor=False)
    st.markdown(TEXTS("real network"))
    left, middle, right = st.columns(3)
    net = form.draw(MeasuredNet, KEY, places=[left, left, middle, middle, right, *right.columns(2)])
    cfg = RunConfig(
        depth=net.depth,
        residual=net.residual,
        activation=net.activation,
        init=net.init,
        placement=NORMS[net.norm],
        norm="none" if net.norm == "no norm" else "layer norm",
        layers_per_branch=net.layers,
    )
    poll_while("gradients", lambda: draw_measured(cfg, net.seeds))


def draw_measured(cfg: RunConfig, seeds: int) -> bool:
    """Draws the measured net, or the previous one until the answer arrives. Returns whether it is still to come."""
    shown = NET_SEEN.get()
    reply = initial_traces(cfg, seeds, owner=owner(KEY), wait=PROFILE_TIMEOUT_SECONDS)
    if reply.value is not None:
        shown = cfg, reply.value
        NET_SEEN.put(shown)
    elif reply.refusal or shown is None:
        reply.show("Measuring")
        return reply.is_waiting
    else:
        reply.show("Measuring; the previous net is shown below")
    _draw_comparison(*shown)
    return reply.is_waiting


def _draw_comparison(cfg: RunConfig, traces: Sequence[Trace]) -> None:
    predicted = law(cfg)
    assert predicted.product is not None, "every net that can be set here has a law"
    gradients = np.stack([trace.grad_rms[0] for trace in traces])
    st.markdown(f"**{comparison_sentence(cfg, gradients, predicted.product)}**")
    st.markdown(expectation_sentence(cfg))
    charts = []
    lines = anchored_lines(traces, predicted)
    for hue, (title, (measured, line)) in zip((SIGNAL, GRADIENT), lines.items(), strict=True):
        charts.append(net_chart(title, hue, traces, measured, line))
    draw_charts(KEY, *charts)
    st.caption(TEXTS("measured and formula", measured=badge("measured"), formula=badge("formula")))
    link_to_playground(cfg, "Train it in the playground")


def anchored_lines(traces: Sequence[Trace], predicted: Law) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """By chart: the measured RMS (K, S), and the formula's line (S,), which starts where the measurement does."""
    assert predicted.mean_square is not None
    assert predicted.product is not None
    act = np.stack([trace.act_rms[0] for trace in traces])
    grad = np.stack([trace.grad_rms[0] for trace in traces])
    return {
        "Signal of the net": (act, np.sqrt(predicted.mean_square) * _geometric_mean(act[:, 0])),
        "Gradient of the net": (grad, predicted.product * _geometric_mean(grad[:, -1])),
    }


def comparison_sentence(cfg: RunConfig, measured: np.ndarray, product: np.ndarray) -> str:
    """How much measured gradient (K seeds, S) and product (S,) change along the stream, and whether they agree."""
    ends = np.array([decades(float(gradient[-1]), float(gradient[0])) for gradient in measured])
    change = decades(float(product[-1]), float(product[0]))
    seeds = "one seed" if len(ends) == 1 else f"{len(ends)} seeds, geometric mean"
    formula = _change_text("it", product, cfg.depth)
    if not np.isfinite(ends).all():
        lost = "exactly 0" if (ends < 0).any() else "a number beyond float32"
        return TEXTS("beyond float32", seeds=seeds, lost=lost, formula=formula)
    mean = float(ends.mean())
    difference = 10 ** ((mean - change) / cfg.depth) - 1  # relative, per layer
    if abs(difference) < MAX_AGREEING:
        verdict = TEXTS("agree", apart=abs(difference))
    else:
        verdict = TEXTS("differ", apart=abs(difference), larger="larger" if difference > 0 else "smaller")
    text = _change_text("the gradient", np.exp(np.log(measured).mean(0)), cfg.depth)
    reason = deviation_reason(cfg, len(ends))
    return TEXTS("compared", seeds=seeds, measured=text, formula=formula, verdict=verdict, reason=reason)


def deviation_reason(cfg: RunConfig, seeds: int) -> str:
    """Why a net deviates from a product of expected factors."""
    mean_square = cfg.width * weight_variance(cfg.init, cfg.width, cfg.width, last=True, sublayers=cfg.sublayers)
    mean = moments(cfg.activation, mean_square).mean
    if cfg.residual and cfg.norm == "none" and cfg.layers_per_branch == 1 and abs(mean) > CENTRED:
        return TEXTS("coherent", activation=cfg.activation, mean=mean)
    count = "this is one seed" if seeds == 1 else f"these are {seeds} seeds"
    return TEXTS("finite width", seeds=count, width=cfg.width)


def expectation_sentence(cfg: RunConfig) -> str:
    """The expected gradient of this arrangement with its numbers, and corrections of common errors."""
    gains, predicted = branch_gains(cfg, "mlp"), law(cfg)
    assert gains is not None
    assert predicted.product is not None
    forward, backward = gains
    change = decades(1.0, float(predicted.product[0]))
    branch = TEXTS("branch", forward=forward, backward=backward)
    if cfg.residual and cfg.norm == "none":
        if change > EXPLODES_DECADES:
            outcome = "explodes"
        elif predicted.gradient is not None:
            outcome = f"grows only {factor(change)} times"
        else:
            outcome = TEXTS("grows more")
        passed = (1 + backward) ** 0.5
        more = TEXTS("residual alone", backward=backward, passed=passed, depth=cfg.depth, outcome=outcome)
        return f"{branch} {more} {_doubling_sentence(cfg, forward, predicted)}"
    if cfg.residual and cfg.placement == "post-norm":
        return f"{branch} {TEXTS('post-norm')} {_balance_sentence(change)}"
    if cfg.residual:
        return f"{branch} {TEXTS('pre-norm')}"
    if cfg.norm != "none":
        return f"{branch} {TEXTS('norm alone')}"
    if (cfg.init, cfg.activation, cfg.layers_per_branch) == ("he", "relu", 1):
        return f"{branch} {TEXTS('He')}"
    return f"{branch} {TEXTS('plain', backward=backward, passed=backward**0.5)}"


def net_chart(title: str, hue: str, traces: Sequence[Trace], measured: np.ndarray, product: np.ndarray) -> Figure:
    """Geometric mean, minimum and maximum of measured RMS (K, S), and the formula (S,)."""
    with np.errstate(divide="ignore"):
        mean = np.exp(np.log(measured.astype(float)).mean(0))
    series = [Series("formula", product, "formula")]
    if len(measured) > 1:
        series += [Series("minimum", measured.min(0), "previous"), Series("maximum", measured.max(0), "initial")]
    series.append(Series("measured", mean))
    return depth_profile(title=title, unit="RMS", hue=hue, sites=traces[0].sites, series=series)


def _geometric_mean(values: np.ndarray) -> float:
    """The geometric mean of all finite positive values; NaN if there are none."""
    positive = values[np.isfinite(values) & (values > 0)].astype(float)
    return float(np.exp(np.log(positive).mean())) if len(positive) else float("nan")


def _doubling_sentence(cfg: RunConfig, added: float, predicted: Law) -> str:
    """How a stream without a norm grows: the depth in which it doubles, or that the means of the branches add up.

    `added`: what the first branch adds to a mean square of 1.
    """
    if cfg.layers_per_branch == 1 and abs(moments(cfg.activation).mean) > CENTRED:
        square = predicted.mean_square
        assert square is not None
        last = float(square[-1] / square[-2])
        return TEXTS("mean adds up", first=1 + added, activation=cfg.activation, last=last)
    return TEXTS("doubling", added=added)


def _balance_sentence(change: float) -> str:
    """Whether the branches restore what the norms take; `change`: that of the product, in decades."""
    if abs(change) < UNCHANGED_DECADES:
        return TEXTS("balanced")
    if change < 0:
        return TEXTS("norms take more", change=times_larger(change))
    return TEXTS("branches return more", change=times_larger(change))


def _change_text(name: str, gradient: np.ndarray, depth: int) -> str:
    """The change of a gradient (S,) on its way back over all layers, in words with the mean factor per layer."""
    words = change_in_words(name, gradient[::-1], "from the end back to the input")
    return f"{words}, a factor of {number((gradient[0] / gradient[-1]) ** (1 / depth), 3)} per layer"
