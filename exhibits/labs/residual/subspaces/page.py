"""Layers that share the stream by directions: layer B reads what layer A has written, unless layer C deletes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import streamlit as st

from addnorm.player.declare import figure_of, layout_of
from components.charts.colour import SIGNAL
from components.charts.parts import Figure, numbers
from components.controls import form
from components.labs.examples import numbered_names
from components.labs.maps import signed_map
from components.labs.parts import draw_charts, draw_finding, number_cells
from exhibits.labs.residual.subspaces.numbers import (
    BASIS,
    FEATURES,
    ORDERS,
    WRITTEN_BY_A,
    Access,
    layer_accesses,
    start,
)
from models.content import Texts
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/residual/subspaces")
KEY = "residual_subspaces"
NAMES_PIXELS = 96  # width of the directions' names
DIRECTIONS = ("A's", "across A's", "B's own", "unused 1", "unused 2", "unused 3")
ROUNDING = 1e-9  # a smaller number that B reads counts as 0
DECIMALS = 9  # drawn numbers are rounded to these


@dataclass(frozen=True)
class Directions(Settings):
    columns = (3, 2)

    angle: Annotated[int, Knob("Angle of B's reading to A's writing", 0, 180, 5, control="slider", link="angle")] = 30
    amount: Annotated[float, Knob("A writes", -3.0, 3.0, 0.25, control="slider", link="writes")] = 2.0
    share: Annotated[float, Knob("C deletes this share", 0.0, 1.0, 0.1, control="slider", link="deletes")] = 1.0
    order: Annotated[str, Knob("Layers", choices=dict.fromkeys(ORDERS), link="layer-order")] = ORDERS[0]
    token: Annotated[float, Knob("Length of the token", 0.0, 3.0, 0.25, control="slider", link="token-length")] = 0.0


def draw() -> None:
    """Draws what the layers read and write, the stream before and after each, and a sentence on B."""
    st.subheader("Layers that share a stream by directions", anchor=False)
    settings = form.draw(Directions, KEY)
    token, amount = start(settings.token), settings.amount
    accesses = partial(layer_accesses, angle=settings.angle, share=settings.share, order=settings.order)
    steps = accesses(token, amount=amount)
    stream = np.array([token, *(step.stream for step in steps)]).T
    draw_charts(KEY, access_chart(steps), stream_map(stream, steps), direction_map(stream, steps), height=300)
    of_a = _read_by_b(accesses(0 * token, amount=amount))
    of_token = _read_by_b(accesses(token, amount=0.0))
    remaining = float(WRITTEN_BY_A @ steps[-1].stream)
    draw_finding(read_sentence(of_a, of_token, settings, remaining))


def read_sentence(of_a: float, of_token: float, settings: Directions, remaining: float) -> str:
    """How much B reads `of_a`, the output of A, and `of_token`; and how much of A's output remains in the stream."""
    angle, amount = settings.angle, settings.amount
    numbers = {"amount": amount, "of_token": round(of_token, DECIMALS), "left": round(remaining, DECIMALS)}
    if abs(of_a) > ROUNDING:
        return TEXTS("B hears A", of_a=of_a, angle=angle, cosine=np.cos(np.deg2rad(angle)), **numbers)
    reason = "deleted before"
    if amount == 0:
        reason = "nothing written"
    elif angle == 90:
        reason = "at right angles"
    return TEXTS("B does not hear A", why=TEXTS(reason), **numbers)


def access_chart(steps: list[Access]) -> Figure:
    """Bars of the numbers that each layer reads and writes along its directions."""
    layout = layout_of("Read and written", x="layer", y="along its direction", hue=SIGNAL)
    layout["barmode"] = "group"
    places = list(range(1, len(steps) + 1))
    values_by_name = {
        "read": [round(step.read_size, DECIMALS) for step in steps],
        "written": [round(step.written_size, DECIMALS) for step in steps],
    }
    ticks = {"tickmode": "array", "tickvals": places, "ticktext": [step.layer for step in steps], "tickangle": 0}
    layout["xaxis"] |= {"range": [0.4, len(steps) + 0.6]} | ticks
    bars = [
        {
            "type": "bar",
            "name": name,
            "x": places,
            "y": numbers(np.array(values)),
            "text": number_cells((value + 0.0 for value in values), 3),
            "textposition": "outside",
            "cliponaxis": False,
            "hue": SIGNAL,
            "shade": shade,
            "marker": {"pattern": {"shape": "/" if shade else ""}},
            "hovertemplate": "%{y:.4g}<extra>%{fullData.name}</extra>",
        }
        for shade, (name, values) in enumerate(values_by_name.items())
    ]
    return figure_of(bars, layout, "nothing is read or written")


def stream_map(stream: np.ndarray, steps: list[Access]) -> Figure:
    """The features of the stream (D, layers + 1) before the layers and after each."""
    return _map("The stream, feature by feature", numbered_names("feature", FEATURES), stream, steps)


def direction_map(stream: np.ndarray, steps: list[Access]) -> Figure:
    """The same stream along the directions of the layers."""
    return _map("The same, direction by direction", DIRECTIONS, BASIS @ stream, steps)


def _read_by_b(steps: list[Access]) -> float:
    """The size of the number that layer B reads."""
    return next(step.read_size for step in steps if step.layer == "B")


def _map(title: str, rows: Sequence[str], values: np.ndarray, steps: list[Access]) -> Figure:
    """A map of the stream before the layers and after each; 0.0 is added so that no cell shows -0."""
    columns = ["x", *(f"+ {step.layer}" for step in steps)]
    style: dict[str, Any] = {"digits": 2, "every_name": True, "bar": False, "names_pixels": NAMES_PIXELS}
    return signed_map(title, rows=rows, columns=columns, values=values.round(DECIMALS) + 0.0, **style)
