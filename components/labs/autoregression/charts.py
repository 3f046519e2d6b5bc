"""Figures of the autoregression lab: candidates, changes caused by appending, attention by block."""

from collections.abc import Sequence

import numpy as np

from addnorm.player.charts import Figure, figure_of, frame_of
from components.charts.colour import SIGNAL
from components.charts.depth import Series, depth_profile
from components.charts.parts import note, numbers
from components.charts.tokens import LIKELIEST, token_map
from models.insight.lens import shown


def candidates_chart(title: str, names: Sequence[str], p: np.ndarray, tempered: np.ndarray, chosen: int) -> Figure:
    """The most likely classes (C,) and the chosen one: the net's probabilities, and at the temperature."""
    layout = frame_of(title, x="token", y="probability", hue=SIGNAL)
    if not (np.isfinite(p).all() and len(p)):
        return figure_of([], layout, "nothing to choose from")
    order = np.argsort(-np.asarray(p, float), kind="stable")[:LIKELIEST].tolist()
    order += [chosen] * (chosen not in order)
    labels, places = [shown(names[at]) for at in order], list(range(1, len(order) + 1))
    layout["xaxis"] |= {"tickmode": "array", "tickvals": places, "ticktext": labels, "tickangle": 0}
    layout["yaxis"] |= {"rangemode": "tozero"}
    layout["barmode"] = "group"
    at = order.index(chosen)
    height = float(max(p[chosen], tempered[chosen]))
    layout["annotations"] = [note("chosen", x=places[at], y=height, yanchor="bottom", showarrow=False)]
    kinds = {"net's probability": (p, 0, ""), "at the temperature": (tempered, 1, "/")}
    bars = [
        {
            "type": "bar",
            "name": name,
            "x": places,
            "y": numbers(np.asarray(values, float)[order]),
            "text": labels,
            "textposition": "none",
            "hue": SIGNAL,
            "shade": shade,
            "marker": {"pattern": {"shape": pattern}},
            "hovertemplate": "%{text}: %{y:.4g}<extra>%{fullData.name}</extra>",
        }
        for name, (values, shade, pattern) in kinds.items()
    ]
    return figure_of(bars, layout, "nothing to choose from")


def revision_chart(title: str, tokens: Sequence[str], causal: np.ndarray, none: np.ndarray) -> Figure:
    """The largest change of a logit by position (T - 1,) when one more token is appended, on a log axis."""
    names = [f"{at + 1} {shown(token)}" for at, token in enumerate(tokens)]
    series = [Series("no mask", none, "other"), Series("causal mask", causal)]
    figure = depth_profile(title=title, unit="largest change of a logit", hue=SIGNAL, sites=names, series=series)
    every = max(1, -(-len(tokens) // 32))
    places = list(range(0, len(tokens), every))
    figure["layout"]["xaxis"] |= {
        "title": {"text": "token read", "standoff": 4},
        "tickvals": places,
        "ticktext": [shown(tokens[at]) for at in places],
        "tickangle": 0,
    }
    return figure


def looks_map(title: str, tokens: Sequence[str], blocks: Sequence[str], weights: np.ndarray, position: int) -> Figure:
    """Where one position attends in each block, (L, T); later tokens are masked."""
    later = np.repeat((np.arange(len(tokens)) > position)[None], len(blocks), 0)
    return token_map(
        title=title,
        tokens=[shown(token) for token in tokens],
        rows=list(blocks),
        values=weights,
        unit="share",
        hidden=later,
        marked=position + 1,
    )
