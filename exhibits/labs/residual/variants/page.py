"""Other residuals on the same token: scaled, recursive, DeepNorm's, and DLCL's sums over all earlier outputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from addnorm.player.declare import Figure, figure_of, layout_of
from components.charts.colour import SIGNAL
from components.charts.parts import numbers
from components.controls import form
from components.labs.parts import draw_charts, draw_finding, draw_sentence
from components.shell.page_links import link_to_playground
from components.shell.text import badge, named_table, number, vector
from exhibits.labs.residual.variants.numbers import average_weights, dlcl_stream, recursive_skip, scaled_skip, turned
from models.content import Texts
from models.insight.words import count_in_words
from models.labs.residual import EPS, cosine, layer_norm
from models.spec import RunConfig
from models.spec.knob import Knob
from models.spec.scales import deepnorm_gain, scale_value
from models.spec.settings import Settings

TEXTS = Texts("labs/residual/variants")
KEY = "residual_variants"
DLCL = "DLCL, read by the head"
DEEP_SUBLAYERS = 200  # of the deep net that the sentence on DeepNorm mentions
NAMES_PIXELS = 150  # width of the names beside the picture
CHART_PIXELS = 330  # height
ARRANGEMENTS = ("scaled skip", "recursive skip", "DeepNorm", "DLCL")  # by their names in the playground


@dataclass(frozen=True)
class Variants(Settings):
    columns = (3,)

    angle: Annotated[
        float, Knob("Angle between x and F, degrees", 0.0, 180.0, 15.0, link="skip-angle", control="slider")
    ] = 90.0
    weight: Annotated[float, Knob("Weight of the scaled skip", 0.0, 8.0, 0.1, control="slider")] = 2.0
    repeats: Annotated[int, Knob("Repeats of the recursive skip", 1, 4, control="slider")] = 2
    dlcl: Annotated[float, Knob(
        "DLCL: weight of the token in what block 2 reads", 0.0, 1.0, 0.05, control="slider"
    )] = 0.5  # fmt: skip


def draw(values: np.ndarray) -> None:
    """Draws the variants for `values` (1 + M, D): the token and the outputs of M branches, the first one turned."""
    x, branches = values[0], values[1:]
    if not len(branches):
        return
    can_turn = turned(x, branches[0], 0) is not None
    settings = form.draw(Variants, KEY, only=["angle", "weight", "repeats"] if can_turn else ["weight", "repeats"])
    first = turned(x, branches[0], settings.angle)
    if first is not None:
        branches = np.vstack([first, branches[1:]])
        st.caption(TEXTS("turned", branch=first.round(3)))
    _draw_cosines(x, branches, settings.weight, settings.repeats)
    with st.expander("Recursive skip, DeepNorm and DLCL with their numbers"):
        _draw_recursive_skip(x, branches[0], settings.repeats)
        _draw_deepnorm(len(branches))
        _draw_dlcl(x, branches)
    with st.container(horizontal=True):
        for name in ARRANGEMENTS:
            link_to_playground(RunConfig.arranged(name), f"{name[0].upper()}{name[1:]} in a net")


def _draw_cosines(x: np.ndarray, branches: np.ndarray, weight: float, repeats: int) -> None:
    """Draws how similar the token after the first branch is to the token before it and to the branch's output."""
    results = variants(x, branches, weight, repeats)
    cosines = {
        f"with {name}": [cosine(result, source - source.mean()) for _, result in results.values()]
        for name, source in (("x", x), ("F", branches[0]))
    }
    draw_charts(KEY, cosine_chart(list(results), cosines), height=CHART_PIXELS)
    draw_finding(similarity_sentence(list(results), cosines["with x"]))
    st.caption(TEXTS("cosines"))
    with st.expander("Formulas and results"):
        columns = {
            "residual": list(results),
            "formula": [formula for formula, _ in results.values()],
            "after the first branch": [vector(value.round(3)) for _, value in results.values()],
        }
        for name, values in cosines.items():
            columns[f"cosine {name}"] = ["no direction" if np.isnan(value) else number(value) for value in values]
        named_table("The same token under other residuals", columns)


def _draw_recursive_skip(x: np.ndarray, branch: np.ndarray, repeats: int) -> None:
    """Draws the recursion with its numbers, and the equivalent skip weight."""
    lines = [
        f"y{i} = N({vector(step.input.round(3))}) = {vector(step.values.round(3))}"
        for i, step in enumerate(recursive_skip(x, branch, repeats), start=1)
    ]
    st.markdown("  \n".join(["**Recursive skip**", *lines]))
    weight = effective_weight(x, branch, repeats)
    scaled = vector(scaled_skip(x, branch, weight).values.round(3))
    draw_sentence(TEXTS("recursive", weight=weight, scaled=scaled))


def _draw_deepnorm(sublayers: int) -> None:
    """Draws DeepNorm's skip weight and gain at this depth and in a deep net."""
    here = {"weight": scale_value("deepnorm", sublayers), "gain": deepnorm_gain(sublayers)}
    deep = {"weight_deep": scale_value("deepnorm", DEEP_SUBLAYERS), "gain_deep": deepnorm_gain(DEEP_SUBLAYERS)}
    draw_sentence(TEXTS("DeepNorm", sublayers=count_in_words(sublayers, "sublayer"), **here, **deep))


def _draw_dlcl(x: np.ndarray, branches: np.ndarray) -> None:
    """Draws the inputs of each block and of the output head, as weighted sums of all earlier outputs."""
    weights = average_weights(len(branches))
    if len(branches) > 1:
        token_weight = form.draw(Variants, KEY, only=["dlcl"]).dlcl
        weights[1] = [token_weight, 1 - token_weight]
    reads, outputs = dlcl_stream(x, branches, weights)
    lines = ["**DLCL**, dynamic linear combination of layers"]
    for i, (row, read) in enumerate(zip(weights, reads, strict=True)):
        terms = " + ".join(f"{number(weight, 3)} N(y{k})" for k, weight in enumerate(row))
        line = f"reads {terms} = {vector(read.round(3))}"
        if i == len(branches):
            lines.append(f"the output head {line}")
        else:
            lines.append(f"block {i + 1} {line}, y{i + 1} = that + F = {vector(outputs[i + 1].round(3))}")
    st.markdown("  \n".join([*lines, badge("formula")]))


def variants(x: np.ndarray, branches: np.ndarray, weight: float, repeats: int) -> dict[str, tuple[str, np.ndarray]]:
    """By name of the residual, its formula and the token after the first branch."""
    branch = branches[0]
    deepnorm_weight = scale_value("deepnorm", len(branches))
    reads, _ = dlcl_stream(x, branches[:1], average_weights(1))
    return {
        "no residual": ("N(F)", layer_norm(branch).values),
        "post-norm": ("N(x + F)", layer_norm(x + branch).values),
        "scaled skip": (f"N({number(weight)} x + F)", scaled_skip(x, branch, weight).values),
        "recursive skip": (f"y{repeats}, with yₖ = N(x + yₖ₋₁)", recursive_skip(x, branch, repeats)[-1].values),
        "DeepNorm's sum": (
            f"N({number(deepnorm_weight, 3)} x + F)",
            scaled_skip(x, branch, deepnorm_weight).values,
        ),
        DLCL: ("½ N(x) + ½ N(N(x) + F)", reads[-1]),
    }


def effective_weight(x: np.ndarray, branch: np.ndarray, repeats: int) -> float:
    """The w for which N(w x + F) equals the recursive skip, apart from eps.

    y_1 = (x + F) / s_1, and x + y_1 has the direction of (1 + s_1) x + F.
    """
    weight = 1.0
    for _ in range(repeats - 1):
        weight += float(np.sqrt(scaled_skip(x, branch, weight).variance + EPS))
    return weight


def similarity_sentence(names: Sequence[str], cosines: Sequence[float]) -> str:
    """The residuals under which the token stays most and least like itself, from its cosines with x."""
    defined = {name: value for name, value in zip(names, cosines, strict=True) if not np.isnan(value)}
    if not defined:
        return TEXTS("no direction")
    closest = max(defined, key=defined.__getitem__)
    furthest = min(defined, key=defined.__getitem__)
    cosines_with_x = {"greatest": defined[closest], "smallest": defined[furthest]}
    return TEXTS("most like itself", most=closest, least=furthest, **cosines_with_x)


def cosine_chart(names: Sequence[str], cosines: Mapping[str, Sequence[float]]) -> Figure:
    """Cosines by residual as dots with their numbers, a row for each name."""
    layout = layout_of("How much is left of x, and of F", x="cosine", y="", hue=SIGNAL)
    rows = list(range(1, len(names) + 1))
    layout["margin"]["l"] = NAMES_PIXELS
    ticks = {"tickmode": "array", "tickvals": rows, "ticktext": list(names)}
    layout["yaxis"] |= {"range": [len(names) + 0.7, 0.3]} | ticks
    styles = (("circle", "top center"), ("square-open", "bottom center"))
    dots = [
        {
            "type": "scatter",
            "orientation": "h",
            "name": name,
            "mode": "markers+text",
            "x": numbers(np.array(values)),
            "y": rows,
            "names": list(names),
            "text": ["" if np.isnan(value) else number(value, 3) for value in values],
            "textposition": text_position,
            "hue": SIGNAL,
            "marker": {"color": SIGNAL, "size": 11, "symbol": symbol},
            "hovertext": list(names),
            "hovertemplate": "%{hovertext}: %{x:.4g}<extra>%{fullData.name}</extra>",
        }
        for (name, values), (symbol, text_position) in zip(cosines.items(), styles, strict=True)
    ]
    return figure_of(dots, layout, "nothing to compare")
