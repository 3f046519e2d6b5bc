"""A chain of factors by hand: their product, the +1 of the residual, and the derivative by each weight."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import streamlit as st

from components.charts.colour import GRADIENT
from components.charts.depth import Series, depth_profile
from components.charts.parts import Figure
from components.controls import form
from components.controls import number_table as table
from components.labs.examples import choose_example, numbered_names
from components.labs.parts import draw_charts
from components.shell.text import badge, latex, named_table, number, typed
from models.content import Texts
from models.insight.gaussian import ACTIVATIONS
from models.labs.chain import (
    PRESETS,
    Derivatives,
    arriving,
    by_branches,
    derivatives,
    reading,
    standing_still,
    updated,
    with_skip,
    with_skip_at_random,
)
from models.spec.knob import Knob
from models.spec.settings import Settings, of_run

TEXTS = Texts("labs/gradients")
KEY = "gradients"
MODES = ("one factor for all layers", "factors of my own")
FIRST, OWN = "Half at every layer", "Factors below 1"  # the defaults of the two modes
MAX_FACTORS = 8  # up to which a product is written out in full
FACTORS_PER_LINE = 3
# What the residual does, by the size of the gradient at the input without one and with one.
PATH_OUTCOMES = {
    ("gone", "gone"): "vanishes anyway",
    ("gone", "kept"): "does not vanish",
    ("gone", "large"): "explodes instead",
    ("kept", "gone"): "vanishes",
    ("kept", "kept"): "stays",
    ("kept", "large"): "explodes",
    ("large", "gone"): "vanishes instead",
    ("large", "kept"): "tamed",
    ("large", "large"): "explodes anyway",
}


@dataclass(frozen=True)
class Chain(Settings):
    """The factors of the chain: one for all layers, or a table of them."""

    mode: Annotated[
        str, Knob("Factors", choices={MODES[0]: MODES[0], MODES[1]: "custom factors"}, control="segments")
    ] = MODES[0]
    factor: Annotated[float, Knob("Factor", -3.0, 3.0, 0.05)] = 0.5
    depth: Annotated[int, Knob("Depth", 1, 100, link="length", control="slider", word="depth")] = 50


@dataclass(frozen=True)
class Weight(Settings):
    """One weight of the chain, and what it learns from."""

    columns = (3, 2)

    input: Annotated[float, Knob("Input $x_0$", low=-10.0, high=10.0, step=0.5)] = 1.0
    target: Annotated[float, Knob("Target $t$", low=-10.0, high=10.0, step=0.5)] = 1.0
    phi: Annotated[str, Knob("Activation of the chain", choices=dict.fromkeys(ACTIVATIONS))] = "identity"
    layer: Annotated[int, Knob("Layer", choices={})] = 1
    lr: Annotated[float, of_run("lr", low=0.0001, high=10.0, step=0.01)] = 0.1


def draw() -> None:
    """The section."""
    picture, beside = st.columns([3, 2], gap="medium")
    with beside:
        example, place = _example(), st.container()
        factors = _factors(PRESETS[example])
        if np.array_equal(factors, PRESETS[example]):
            place.caption(typed(reading(example), "formula"))
        bare, skipped = arriving(factors)[0], arriving(with_skip(factors))[0]
        outcome = verdict(bare, skipped)
        sentence = TEXTS("comes back", layers=len(factors), bare=bare, with_residual=skipped, verdict=outcome)
        st.markdown(f"{sentence} {badge('formula')}")
    with picture:
        draw_charts(KEY, chain_chart(factors), height=320)
    with st.expander("The products with their numbers"):
        _products(factors, bare, skipped)
    with st.expander("What is left for one weight"):
        _updates(factors)


def chain_chart(factors: np.ndarray) -> Figure:
    """|gradient| at x_0 ... x_L without a residual, with one, and with one past random branches."""
    series = [
        Series("no residual: f", np.abs(arriving(factors))),
        Series("residual: 1 + f", np.abs(arriving(with_skip(factors))), "other"),
        Series("residual, random f: √(1 + f²)", arriving(with_skip_at_random(factors)), "formula"),
    ]
    sites = ["input", *numbered_names("layer", len(factors))]
    return depth_profile(title="Gradient along the chain", unit="|gradient|", hue=GRADIENT, sites=sites, series=series)


def _example() -> str:
    def load(factors: tuple[float, ...]) -> None:
        form.put(KEY, mode=MODES[not _alike(factors)])
        if _alike(factors):
            form.put(KEY, factor=factors[0], depth=len(factors))
        else:
            table.put(f"{KEY}_own", np.array([factors]))

    labels = {name: name.replace("cancels its skip", "cancels its residual") for name in PRESETS}
    return choose_example(KEY, PRESETS, load, first=FIRST, labels=labels)


def _alike(factors: tuple[float, ...]) -> bool:
    return len(set(factors)) == 1


def _factors(preset: tuple[float, ...]) -> np.ndarray:
    """The factors (L,) that are set, from the first layer to the last."""
    one, many = (preset, PRESETS[OWN]) if _alike(preset) else (PRESETS[FIRST], preset)
    usual = Chain(MODES[not _alike(preset)], one[0], len(one))
    if form.draw(Chain, KEY, usual, only=["mode"]).mode == MODES[0]:
        same = form.draw(Chain, KEY, usual, only=["factor", "depth"], places=st.columns(2))
        return np.full(same.depth, same.factor)
    values = table.table(
        f"{KEY}_own", np.array([many]), name="factors", rows=["factor"], columns=partial(numbered_names, "layer")
    )
    return np.asarray(values).ravel()


def _products(factors: np.ndarray, bare: float, skipped: float) -> None:
    """The products with their numbers."""
    st.latex(_lines(r"\frac{\partial x_L}{\partial x_0}=\prod_l f_l", f"{_written(factors)}={latex(bare)}"))
    with_plus = f"{_written(factors, plus=True)}={latex(skipped)}"
    st.latex(_lines(r"\text{with a residual}\quad\prod_l(1+f_l)", with_plus))
    at_random = arriving(with_skip_at_random(factors))[0]
    st.markdown(f"{TEXTS('random branches', product=at_random)} {badge('formula')}")
    st.markdown(f"{paths(factors)} {badge('formula')}")


def paths(factors: np.ndarray) -> str:
    """The product with residuals as a sum over paths, by the number of branches that they pass."""
    past = by_branches(factors)
    count, more = f"$2^{{{len(factors)}}}$", past[2:].sum()
    return TEXTS("paths", paths=count, through_a_branch=past[1], through_more=more)


def verdict(bare: float, skipped: float) -> str:
    """What the +1 does to the gradient at the input, which is no guarantee."""
    if skipped == 0:
        return TEXTS("cancels")
    return TEXTS(PATH_OUTCOMES[_outcome(bare), _outcome(skipped)], needs=TEXTS("needs"))


def _outcome(gradient: float) -> str:
    size = abs(gradient)
    return "gone" if size < 0.01 else "large" if size > 100 else "kept"


def _updates(weights: np.ndarray) -> None:
    """The derivative by one weight with its numbers, and every weight's update, without and with a residual."""
    st.markdown(TEXTS("one weight"))
    layers = range(1, len(weights) + 1)
    at = form.draw(Weight, KEY, legal={"layer": layers})
    bare, skipped = (
        derivatives(weights, at.input, at.target, ACTIVATIONS[at.phi], skip=skip) for skip in (False, True)
    )
    for found, plus, words in ((bare, "", ""), (skipped, "1+", r"\text{with a residual}\\&")):
        st.latex(_one_weight(found, weights, at.layer, at.target, at.lr, plus=plus, words=words))
    st.markdown(f"{changes(weights, at.lr, bare.by_weight, skipped.by_weight)} {badge('formula')}")
    rows: dict[str, Any] = {"layer": layers, "weight": weights}
    for found, words in ((bare, ""), (skipped, " with residual")):
        rows |= {
            f"input{words}": found.inputs,
            f"slope{words}": found.slopes,
            f"later layers{words}": found.later,
            f"derivative{words}": found.by_weight,
            f"w - lr * derivative{words}": updated(weights, found.by_weight, at.lr),
        }
    with st.popover("Every weight's derivative", icon=":material/table:", key=f"{KEY}_updates"):
        named_table(
            "Every weight's derivative", {name: [number(v, 6) for v in values] for name, values in rows.items()}, 300
        )
        st.caption(TEXTS("derivative", bare=bare.error, with_residual=skipped.error))


def changes(weights: np.ndarray, rate: float, bare: np.ndarray, skipped: np.ndarray) -> str:
    """How many weights stay in float32, by the derivatives (L,) without and with a residual, or the first change."""
    still, still_skipped = (int(standing_still(weights, gradients, rate).sum()) for gradients in (bare, skipped))
    if still or still_skipped:
        return TEXTS("weights stay", still=still, weights=len(bare), still_with_residual=still_skipped)
    first, first_skipped = -rate * bare[0], -rate * skipped[0]
    return TEXTS("weights change", weights=len(bare), bare=first, with_residual=first_skipped)


def _one_weight(
    found: Derivatives, weights: np.ndarray, at: int, target: float, rate: float, *, plus: str, words: str
) -> str:
    """The derivative by the weight of layer `at` and its update, with their numbers, in LaTeX."""
    gradient = found.by_weight[at - 1]
    error = rf"({latex(found.prediction)}-{_bracketed(target)})"
    parts = [_bracketed(float(part[at - 1])) for part in (found.later, found.slopes, found.inputs)]
    product = r"\cdot ".join([error, *parts])
    factor = rf"({plus}w_k\,\varphi'(z_k))" if plus else r"w_k\,\varphi'(z_k)"
    moved = latex(updated(weights, found.by_weight, rate)[at - 1], 8)
    return _lines(
        rf"{words}\frac{{\partial L}}{{\partial w_{{{at}}}}}=(x_L-t)\cdot\prod_{{k>{at}}}{factor}",
        rf"\quad\cdot\;\varphi'(z_{{{at}}})\cdot x_{{{at - 1}}}",
        rf"={product}",
        rf"={latex(gradient)}",
        rf"w_{{{at}}}\leftarrow {latex(weights[at - 1])}-{latex(rate)}\cdot {_bracketed(gradient)}={moved}",
    )


def _bracketed(value: float) -> str:
    return f"({latex(value)})" if value < 0 else latex(value)


def _lines(*lines: str) -> str:
    """A formula in lines, none of them wider than a phone."""
    return r"\begin{aligned}" + r"\\".join(f"&{line}" for line in lines) + r"\end{aligned}"


def _written(factors: np.ndarray, *, plus: bool = False) -> str:
    """A product written out in lines, as a power if all factors are equal, or abbreviated."""
    terms = [_bracketed(f) for f in factors]
    terms = [f"(1{'' if f < 0 else '+'}{latex(f)})" for f in factors] if plus else terms
    if len(set(factors.tolist())) == 1:
        return f"={terms[0]}^{{{len(terms)}}}"
    shown = terms if len(terms) <= MAX_FACTORS else [*terms[:3], r"\cdots", *terms[-2:]]
    rows = [r"\cdot ".join(shown[at : at + FACTORS_PER_LINE]) for at in range(0, len(shown), FACTORS_PER_LINE)]
    return "=" + r"\\&\quad\cdot ".join(rows)
