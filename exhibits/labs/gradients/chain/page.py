"""A chain of factors by hand: their product, the +1 of the residual, and the derivative by each weight."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import streamlit as st

from components.charts.colour import GRADIENT
from components.charts.parts import Figure
from components.controls import form
from components.controls import number_table as table
from components.labs.examples import choose_example, numbered_names
from components.labs.parts import draw_charts, draw_sentence, line_chart, number_cells
from components.shell.text import latex, named_table, with_badge
from exhibits.labs.gradients.chain.numbers import (
    PRESETS,
    Derivatives,
    after_step,
    derivatives,
    example_note,
    path_contributions,
    random_residual_factors,
    residual_factors,
    unchanged_in_float32,
    upstream_gradients,
)
from models.content import Texts
from models.insight.gaussian import ACTIVATIONS
from models.spec.knob import Knob
from models.spec.settings import Settings, run_knob

TEXTS = Texts("labs/gradients/chain")
KEY = "gradients"
SAME, CUSTOM = "one factor for all layers", "factors of my own"
MODES = {SAME: SAME, CUSTOM: "custom factors"}
SAME_EXAMPLE, CUSTOM_EXAMPLE = "Half at every layer", "Factors below 1"  # the defaults of both modes
MAX_WRITTEN_FACTORS = 8
FACTORS_PER_LINE = 3
# Bounds of a moderate gradient at the input, relative to the output's.
SMALL_GRADIENT = 0.01
LARGE_GRADIENT = 100.0
# The effect of the residual, by the size of the gradient at the input without one and with one.
PATH_OUTCOMES = {
    ("small", "small"): "vanishes anyway",
    ("small", "moderate"): "does not vanish",
    ("small", "large"): "explodes instead",
    ("moderate", "small"): "vanishes",
    ("moderate", "moderate"): "stays",
    ("moderate", "large"): "explodes",
    ("large", "small"): "vanishes instead",
    ("large", "moderate"): "tamed",
    ("large", "large"): "explodes anyway",
}


@dataclass(frozen=True)
class Chain(Settings):
    mode: Annotated[str, Knob("Factors", choices=MODES, control="segments")] = SAME
    factor: Annotated[float, Knob("Factor", -3.0, 3.0, 0.05)] = 0.5
    depth: Annotated[int, Knob("Depth", 1, 100, link="length", control="slider", word="depth")] = 50


@dataclass(frozen=True)
class Weight(Settings):
    columns = (3, 2)

    input: Annotated[float, Knob("Input $x_0$", low=-10.0, high=10.0, step=0.5)] = 1.0
    target: Annotated[float, Knob("Target $t$", low=-10.0, high=10.0, step=0.5)] = 1.0
    phi: Annotated[str, Knob("Activation of the chain", choices=dict.fromkeys(ACTIVATIONS))] = "identity"
    layer: Annotated[int, Knob("Layer", choices={})] = 1
    lr: Annotated[float, run_knob("lr", low=0.0001, high=10.0, step=0.01)] = 0.1


def draw() -> None:
    chart_column, controls_column = st.columns([3, 2], gap="medium")
    with controls_column:
        example = _choose_example()
        note = st.container()
        factors = _draw_factors(PRESETS[example])
        if np.array_equal(factors, PRESETS[example]):
            note.caption(with_badge(example_note(example), "formula"))
        plain = upstream_gradients(factors)[0]
        residual = upstream_gradients(residual_factors(factors))[0]
        verdict = residual_verdict(plain, residual)
        draw_sentence(TEXTS("comes back", layers=len(factors), bare=plain, with_residual=residual, verdict=verdict))
    with chart_column:
        draw_charts(KEY, chain_chart(factors), height=320)
    with st.expander("The products with their numbers"):
        _draw_products(factors, plain, residual)
    with st.expander("What is left for one weight"):
        _draw_weight(factors)


def _choose_example() -> str:
    def load(factors: tuple[float, ...]) -> None:
        form.put(KEY, mode=_mode(factors))
        if _mode(factors) == SAME:
            form.put(KEY, factor=factors[0], depth=len(factors))
        else:
            table.put(f"{KEY}_own", np.array([factors]))

    labels = {name: name.replace("cancels its skip", "cancels its residual") for name in PRESETS}
    return choose_example(KEY, PRESETS, load, first=SAME_EXAMPLE, labels=labels)


def _draw_factors(preset: tuple[float, ...]) -> np.ndarray:
    """Draws the controls of the factors. Returns the factors (L,), from the first layer to the last."""
    mode = _mode(preset)
    same = preset if mode == SAME else PRESETS[SAME_EXAMPLE]
    custom = preset if mode == CUSTOM else PRESETS[CUSTOM_EXAMPLE]
    defaults = Chain(mode, same[0], len(same))
    if form.draw(Chain, KEY, defaults, only=["mode"]).mode == SAME:
        settings = form.draw(Chain, KEY, defaults, only=["factor", "depth"], places=st.columns(2))
        return np.full(settings.depth, settings.factor)
    columns = partial(numbered_names, "layer")
    values = table.draw_table(f"{KEY}_own", np.array([custom]), name="factors", rows=["factor"], columns=columns)
    return values.ravel()


def _draw_products(factors: np.ndarray, plain: float, residual: float) -> None:
    """Draws the products of the factors without and with a residual; `plain` and `residual` are their values."""
    st.latex(_aligned(r"\frac{\partial x_L}{\partial x_0}=\prod_l f_l", f"{_product(factors)}={latex(plain)}"))
    product = f"{_product(factors, plus_one=True)}={latex(residual)}"
    st.latex(_aligned(r"\text{with a residual}\quad\prod_l(1+f_l)", product))
    random = upstream_gradients(random_residual_factors(factors))[0]
    draw_sentence(TEXTS("random branches", product=random))
    draw_sentence(paths_sentence(factors))


def _draw_weight(weights: np.ndarray) -> None:
    """Draws the derivative by one weight with its numbers, and every weight's update, without and with a residual."""
    st.markdown(TEXTS("one weight"))
    layers = range(1, len(weights) + 1)
    settings = form.draw(Weight, KEY, legal={"layer": layers})
    phi, lr = ACTIVATIONS[settings.phi], settings.lr
    plain = derivatives(weights, settings.input, settings.target, phi, skip=False)
    residual = derivatives(weights, settings.input, settings.target, phi, skip=True)
    for chain, is_residual in ((plain, False), (residual, True)):
        st.latex(_weight_latex(chain, weights, settings, is_residual=is_residual))
    draw_sentence(updates_sentence(weights, lr, plain.by_weight, residual.by_weight))
    columns: dict[str, Any] = {"layer": layers, "weight": weights}
    for chain, suffix in ((plain, ""), (residual, " with residual")):
        columns |= {
            f"input{suffix}": chain.inputs,
            f"slope{suffix}": chain.slopes,
            f"later layers{suffix}": chain.later_factors,
            f"derivative{suffix}": chain.by_weight,
            f"w - lr * derivative{suffix}": after_step(weights, chain.by_weight, lr),
        }
    with st.popover("Every weight's derivative", icon=":material/table:", key=f"{KEY}_updates"):
        cells = {name: number_cells(values, 6) for name, values in columns.items()}
        named_table("Every weight's derivative", cells, 300)
        st.caption(TEXTS("derivative", bare=plain.error, with_residual=residual.error))


def paths_sentence(factors: np.ndarray) -> str:
    """The product with residuals as a sum over paths, by the number of branches on a path."""
    by_count = path_contributions(factors)
    paths = f"$2^{{{len(factors)}}}$"
    return TEXTS("paths", paths=paths, through_a_branch=by_count[1], through_more=by_count[2:].sum())


def residual_verdict(plain: float, residual: float) -> str:
    """How the +1 changes the gradient at the input: it guarantees nothing."""
    if residual == 0:
        return TEXTS("cancels")
    return TEXTS(PATH_OUTCOMES[_outcome(plain), _outcome(residual)], needs=TEXTS("needs"))


def updates_sentence(weights: np.ndarray, lr: float, plain: np.ndarray, residual: np.ndarray) -> str:
    """How many weights a step leaves unchanged in float32, or the first weight's change.

    `plain`, `residual`: the derivatives (L,) without and with a residual.
    """
    still = int(unchanged_in_float32(weights, plain, lr).sum())
    still_with_residual = int(unchanged_in_float32(weights, residual, lr).sum())
    if still or still_with_residual:
        return TEXTS("weights stay", still=still, weights=len(plain), still_with_residual=still_with_residual)
    return TEXTS("weights change", weights=len(plain), bare=-lr * plain[0], with_residual=-lr * residual[0])


def chain_chart(factors: np.ndarray) -> Figure:
    """|gradient| at x_0 ... x_L without a residual, with one, and with one past random branches."""
    lines = {
        "no residual: f": np.abs(upstream_gradients(factors)),
        "residual: 1 + f": np.abs(upstream_gradients(residual_factors(factors))),
        "residual, random f: √(1 + f²)": upstream_gradients(random_residual_factors(factors)),
    }
    sites = ["input", *numbered_names("layer", len(factors))]
    return line_chart("Gradient along the chain", sites, lines, unit="|gradient|", hue=GRADIENT)


def _mode(factors: tuple[float, ...]) -> str:
    return SAME if len(set(factors)) == 1 else CUSTOM


def _outcome(gradient: float) -> str:
    if abs(gradient) < SMALL_GRADIENT:
        return "small"
    return "large" if abs(gradient) > LARGE_GRADIENT else "moderate"


def _weight_latex(chain: Derivatives, weights: np.ndarray, settings: Weight, *, is_residual: bool) -> str:
    """The derivative by the weight of the chosen layer and its update, with their numbers."""
    layer = settings.layer
    gradient = chain.by_weight[layer - 1]
    weight = latex(weights[layer - 1])
    error = rf"({latex(chain.prediction)}-{_bracketed(settings.target)})"
    parts = [_bracketed(float(part[layer - 1])) for part in (chain.later_factors, chain.slopes, chain.inputs)]
    product = r"\cdot ".join([error, *parts])
    heading = r"\text{with a residual}\\&" if is_residual else ""
    factor = r"(1+w_k\,\varphi'(z_k))" if is_residual else r"w_k\,\varphi'(z_k)"
    after = latex(after_step(weights, chain.by_weight, settings.lr)[layer - 1], 8)
    return _aligned(
        rf"{heading}\frac{{\partial L}}{{\partial w_{{{layer}}}}}=(x_L-t)\cdot\prod_{{k>{layer}}}{factor}",
        rf"\quad\cdot\;\varphi'(z_{{{layer}}})\cdot x_{{{layer - 1}}}",
        rf"={product}",
        rf"={latex(gradient)}",
        rf"w_{{{layer}}}\leftarrow {weight}-{latex(settings.lr)}\cdot {_bracketed(gradient)}={after}",
    )


def _bracketed(value: float) -> str:
    return f"({latex(value)})" if value < 0 else latex(value)


def _aligned(*lines: str) -> str:
    """A formula in lines that fit on a phone."""
    return r"\begin{aligned}" + r"\\".join(f"&{line}" for line in lines) + r"\end{aligned}"


def _product(factors: np.ndarray, *, plus_one: bool = False) -> str:
    """A product in lines: as a power if all factors are equal, abbreviated if there are many."""
    terms = [_bracketed(factor) for factor in factors]
    if plus_one:
        terms = [f"(1{'' if factor < 0 else '+'}{latex(factor)})" for factor in factors]
    if len(set(factors.tolist())) == 1:
        return f"={terms[0]}^{{{len(terms)}}}"
    shown = terms if len(terms) <= MAX_WRITTEN_FACTORS else [*terms[:3], r"\cdots", *terms[-2:]]
    rows = [r"\cdot ".join(shown[i : i + FACTORS_PER_LINE]) for i in range(0, len(shown), FACTORS_PER_LINE)]
    return "=" + r"\\&\quad\cdot ".join(rows)
