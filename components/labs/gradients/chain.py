"""A chain of factors by hand: their product, the +1 of the skip, and the update that each layer gets."""

from functools import partial

import numpy as np
import streamlit as st

from components.charts.colour import GRADIENT
from components.charts.depth import Series, depth_profile, log_range
from components.charts.parts import Figure
from components.controls import number_table as table
from components.labs.examples import choose, numbered
from components.shell import session
from components.shell.address import kept
from components.shell.link import defined, help_of
from components.shell.text import badge, drawn, latex, listed, number
from models.labs.chain import (
    PRESETS,
    Preset,
    arriving,
    by_branches,
    standing_still,
    updated,
    with_skip,
    with_skip_at_random,
)

KEY = "gradients"
MODES = ("one factor for all layers", "factors of my own")
FIRST, OWN = "Half at every layer", "Factors below 1"  # the defaults of the two modes
FACTORS, WEIGHTS, RATES = (-3.0, 3.0), (-10.0, 10.0), (0.0001, 10.0)
WRITTEN = 8  # factors up to which a product is written out in full
IN_A_LINE = 3
DEEPEST = 100
NEEDS = (
    "a deep residual net also needs branches that add little, because of a norm before each, small initial weights or "
    "a gate that starts at 0."
)
# By the fate of the gradient at the input, without a skip and with one.
SAID = {
    ("gone", "gone"): "It vanishes even with the +1, because negative factors cancel it.",
    ("gone", "kept"): "The +1 keeps it from vanishing.",
    ("gone", "large"): f"The +1 keeps the gradient from vanishing but makes it explode: {NEEDS}",
    ("kept", "gone"): "The +1 makes it vanish, because negative factors cancel it.",
    ("kept", "kept"): "It neither vanishes nor explodes.",
    ("kept", "large"): f"The +1 makes it explode: {NEEDS}",
    ("large", "gone"): "It explodes without a skip and vanishes with the +1, because negative factors cancel it.",
    ("large", "kept"): "It explodes without a skip, and the +1 tames it, because factors are negative.",
    ("large", "large"): f"It explodes with and without the +1: {NEEDS}",
}


def draw() -> None:
    """The section."""
    st.subheader("A chain of factors, by hand", anchor=False)
    preset, reading = _example(), st.container()
    factors = _factors(preset.factors)
    if np.array_equal(factors, preset.factors):
        reading.caption(preset.reading)
    _products(factors)
    drawn(chain_chart(factors), "Gradient along the chain", f"{KEY}_chain")
    _updates(factors)


def chain_chart(factors: np.ndarray) -> Figure:
    """|gradient| at x_0 ... x_L without a skip, with one, and with one past random branches."""
    series = [
        Series("no skip: f", np.abs(arriving(factors))),
        Series("skip: 1 + f", np.abs(arriving(with_skip(factors))), "other"),
        Series("skip, random f: √(1 + f²)", arriving(with_skip_at_random(factors)), "formula"),
    ]
    sites = ["input", *numbered("layer", len(factors))]
    held = log_range(None, *(one.values for one in series))
    return depth_profile(
        title="Gradient along the chain", unit="|gradient|", hue=GRADIENT, sites=sites, series=series, range_=held
    )


def _example() -> Preset:
    def load(preset: Preset) -> None:
        factors = preset.factors
        session.hold(f"{KEY}_mode", MODES[not _alike(factors)])
        if _alike(factors):
            session.hold(f"{KEY}_factor", factors[0])
            session.hold(f"{KEY}_depth", len(factors))
        else:
            table.put(f"{KEY}_own", np.array([factors]))

    return PRESETS[choose(KEY, PRESETS, load, first=FIRST)]


def _alike(factors: tuple[float, ...]) -> bool:
    return len(set(factors)) == 1


def _factors(preset: tuple[float, ...]) -> np.ndarray:
    """The factors (L,) that are set, from the first layer to the last."""
    mode = st.segmented_control(
        "Factors", MODES, required=True, **kept(f"{KEY}_mode", MODES[not _alike(preset)], name="mode", among=MODES)
    )
    one, many = (preset, PRESETS[OWN].factors) if _alike(preset) else (PRESETS[FIRST].factors, preset)
    if mode == MODES[0]:
        left, right = st.columns(2)
        tip = "The factor by which a layer multiplies the gradient: its weight times the slope of its activation."
        choice = kept(f"{KEY}_factor", one[0], name="factor", bounds=FACTORS)
        factor = left.number_input("Factor", *FACTORS, step=0.05, format="%g", help=tip, **choice)
        tip = defined("Layers of the chain, each with this factor.", "depth")
        choice = kept(f"{KEY}_depth", len(one), name="length", bounds=(1, DEEPEST))
        depth = right.slider("Depth", 1, DEEPEST, help=tip, **choice)
        return np.full(int(depth), float(factor))
    values = table.table(
        f"{KEY}_own", np.array([many]), name="factors", rows=["factor"], columns=partial(numbered, "layer")
    )
    return np.asarray(values).ravel()


def _products(factors: np.ndarray) -> None:
    """The products with their numbers, and a verdict."""
    bare, skipped = arriving(factors)[0], arriving(with_skip(factors))[0]
    st.latex(_lines(r"\frac{\partial x_L}{\partial x_0}=\prod_l f_l", f"{_written(factors)}={latex(bare)}"))
    with_plus = f"{_written(factors, plus=True)}={latex(skipped)}"
    st.latex(_lines(r"\text{with a skip}\quad\prod_l(1+f_l)", with_plus))
    at_random = arriving(with_skip_at_random(factors))[0]
    st.markdown(
        f"**Through {len(factors)} layers {number(bare, 3)} of the gradient comes back without a skip, "
        f"{number(skipped, 3)} with one.** {verdict(bare, skipped)} With random branches the gradients through "
        f"branch and skip are at right angles, so squares add: √(1 + f²) per layer, {number(at_random, 3)} in all. "
        f"{badge('formula')}"
    )
    st.markdown(f"{paths(factors)} {badge('formula')}")


def paths(factors: np.ndarray) -> str:
    """The product with skips as a sum over paths, by the number of branches that they pass."""
    count, past = len(factors), by_branches(factors)
    return (
        "**Multiplied out**, as in (1 + a)(1 + b) = 1 + a + b + ab, the product with a skip is a sum over "
        f"$2^{{{count}}}$ paths, one for each choice of skip or branch (Veit 2016, 1605.06431; Elhage 2021): 1 through "
        f"no branch, {number(past[1], 3)} through one, {number(past[2:].sum(), 3)} through two or more."
    )


def verdict(bare: float, skipped: float) -> str:
    """What the +1 does to the gradient at the input, which is no guarantee."""
    if skipped == 0:
        return "The +1 does not help: a branch with factor -1 cancels its skip exactly."
    return SAID[_fate(bare), _fate(skipped)]


def _fate(gradient: float) -> str:
    size = abs(gradient)
    return "gone" if size < 0.01 else "large" if size > 100 else "kept"


def _updates(factors: np.ndarray) -> None:
    """w - lr * gradient for every layer, without and with a skip, and which weights do not change in float32."""
    st.markdown(
        "**What is left for the weights:** every layer's weight changes by minus the learning rate times the "
        "gradient at its output."
    )
    left, right = st.columns(2)
    weight = left.number_input(
        "Weight", *WEIGHTS, step=0.1, **kept(f"{KEY}_weight", 0.5, name="weight", bounds=WEIGHTS)
    )
    choice = kept(f"{KEY}_lr", 0.1, name="lr", bounds=RATES)
    rate = right.number_input("Learning rate", *RATES, step=0.01, format="%g", help=help_of("lr"), **choice)
    bare, skipped = arriving(factors)[1:], arriving(with_skip(factors))[1:]
    _first_update(weight, rate, bare[0], skipped[0])
    st.markdown(f"{changes(weight, rate, bare, skipped)} {badge('formula')}")
    rows = {
        "layer": range(1, len(factors) + 1),
        "factor": factors,
        "gradient": bare,
        "w - lr * gradient": updated(weight, bare, rate),
        "1 + factor": with_skip(factors),
        "gradient with skip": skipped,
        "w - lr * gradient with skip": updated(weight, skipped, rate),
    }
    with st.popover("Every layer's update", icon=":material/table:", key=f"{KEY}_updates"):
        listed("Every layer's update", {name: [number(v, 8) for v in values] for name, values in rows.items()}, 300)
        st.caption(
            "The gradient is that at the layer's output; the derivative of each layer by its own weight is taken as 1."
        )


def changes(weight: float, rate: float, bare: np.ndarray, skipped: np.ndarray) -> str:
    """How many weights stay in float32, by the gradients (L,) without and with a skip; if none, the first change."""
    still, still_skipped = (int(standing_still(weight, gradients, rate).sum()) for gradients in (bare, skipped))
    if still or still_skipped:
        return (
            f"In float32 {still} of {len(bare)} weights stay as they are without a skip, {still_skipped} with one: "
            f"their update is 0 or below the last digit of {number(weight)}."
        )
    return (
        f"All {len(bare)} weights change, the first by {number(-rate * bare[0], 3)} without a skip and by "
        f"{number(-rate * skipped[0], 3)} with one."
    )


def _first_update(weight: float, rate: float, bare: float, skipped: float) -> None:
    """The first layer's update with its numbers, without and with a skip."""
    for gradient, words in ((bare, ""), (skipped, r"\text{with a skip}\quad ")):
        moved = latex(updated(weight, np.array([gradient]), rate)[0], 8)
        numbers = rf"={latex(weight)}-{latex(rate)}\cdot {_bracketed(gradient)}"
        st.latex(_lines(rf"{words}w_1\leftarrow w-\eta\,g_1", numbers, f"={moved}"))


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
    shown = terms if len(terms) <= WRITTEN else [*terms[:3], r"\cdots", *terms[-2:]]
    rows = [r"\cdot ".join(shown[at : at + IN_A_LINE]) for at in range(0, len(shown), IN_A_LINE)]
    return "=" + r"\\&\quad\cdot ".join(rows)
