"""Layers that share the stream by directions: what one hears of another, and what is deleted."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from addnorm.player.declare import figure_of, frame_of
from components.charts.colour import SIGNAL
from components.charts.parts import Figure, numbers
from components.controls import form
from components.labs.maps import signed_map
from components.labs.parts import draw_charts, draw_finding
from components.shell.text import number
from models.content import Texts
from models.labs.subspaces import BASIS, FEATURES, ORDERS, WRITTEN_BY_A, Access, layer_accesses, start
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/residual")
KEY = "residual_subspaces"
NAMES_PIXELS = 96  # the width of the directions' names
DIRECTIONS = ("A's", "across A's", "B's own", "unused 1", "unused 2", "unused 3")
ROUNDING = 1e-9  # below which nothing was heard


@dataclass(frozen=True)
class Directions(Settings):
    """What A writes, how B reads, what C deletes and when, and the token before them."""

    columns = (3, 2)

    angle: Annotated[int, Knob("Angle of B's reading to A's writing", 0, 180, 5, control="slider", link="angle")] = 30
    amount: Annotated[float, Knob("A writes", -3.0, 3.0, 0.25, control="slider", link="writes")] = 2.0
    share: Annotated[float, Knob("C deletes this share", 0.0, 1.0, 0.1, control="slider", link="deletes")] = 1.0
    order: Annotated[str, Knob("Layers", choices=dict.fromkeys(ORDERS), link="layer-order")] = ORDERS[0]
    token: Annotated[float, Knob("Length of the token", 0.0, 3.0, 0.25, control="slider", link="token-length")] = 0.0


def draw() -> None:
    """The section."""
    st.subheader("Layers that share a stream by directions", anchor=False)
    at = form.draw(Directions, KEY)
    token = start(at.token)
    how: dict[str, Any] = {"angle": at.angle, "share": at.share, "order": at.order}
    steps = layer_accesses(token, amount=at.amount, **how)
    draw_charts(KEY, access_chart(steps), stream_map(token, steps), direction_map(token, steps), height=300)
    heard = {
        "of_a": _heard(layer_accesses(0 * token, amount=at.amount, **how)),
        "of_token": _heard(layer_accesses(token, amount=0.0, **how)),
    }
    draw_finding(heard_sentence(heard, at, float(WRITTEN_BY_A @ steps[-1].stream)))


def _heard(steps: list[Access]) -> float:
    return next(step.heard for step in steps if step.layer == "B")


def heard_sentence(heard: dict[str, float], at: Directions, left: float) -> str:
    """What B hears of A and of the token, and what is left of A's output."""
    more = {"amount": at.amount, "of_token": round(heard["of_token"], 9), "left": round(left, 9)}
    if abs(heard["of_a"]) > ROUNDING:
        return TEXTS("B hears A", of_a=heard["of_a"], angle=at.angle, cosine=np.cos(np.deg2rad(at.angle)), **more)
    why = "nothing written" if at.amount == 0 else "at right angles" if at.angle == 90 else "deleted before"
    return TEXTS("B does not hear A", why=TEXTS(why), **more)


def access_chart(steps: list[Access]) -> Figure:
    """What every layer reads and writes along its directions, as bars."""
    layout = frame_of("Read and written", x="layer", y="along its direction", hue=SIGNAL)
    layout["barmode"] = "group"
    places = list(range(1, len(steps) + 1))
    ticks = {"tickmode": "array", "tickvals": places, "ticktext": [step.layer for step in steps], "tickangle": 0}
    layout["xaxis"] |= {"range": [0.4, len(steps) + 0.6]} | ticks
    bars = [
        {
            "type": "bar",
            "name": name,
            "x": places,
            "y": numbers(np.array(values)),
            "text": [number(value + 0.0, 3) for value in values],
            "textposition": "outside",
            "cliponaxis": False,
            "hue": SIGNAL,
            "shade": shade,
            "marker": {"pattern": {"shape": "/" if shade else ""}},
            "hovertemplate": "%{y:.4g}<extra>%{fullData.name}</extra>",
        }
        for shade, (name, values) in enumerate(
            (("read", [round(step.heard, 9) for step in steps]), ("written", [round(step.wrote, 9) for step in steps]))
        )
    ]
    return figure_of(bars, layout, "nothing is read or written")


def stream_map(token: np.ndarray, steps: list[Access]) -> Figure:
    """The features of the stream after every layer."""
    rows = [f"feature {at + 1}" for at in range(FEATURES)]
    return _map("The stream, feature by feature", rows, np.array([token, *(step.stream for step in steps)]).T, steps)


def direction_map(token: np.ndarray, steps: list[Access]) -> Figure:
    """The same stream along the directions of the layers."""
    values = BASIS @ np.array([token, *(step.stream for step in steps)]).T
    return _map("The same, direction by direction", list(DIRECTIONS), values, steps)


def _map(title: str, rows: list[str], values: np.ndarray, steps: list[Access]) -> Figure:
    values = values.round(9) + 0.0
    columns = ["x", *(f"+ {step.layer}" for step in steps)]
    how: dict[str, Any] = {"digits": 2, "every_name": True, "bar": False, "names_pixels": NAMES_PIXELS}
    return signed_map(title, rows=rows, columns=columns, values=values, **how)
