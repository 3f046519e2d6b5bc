"""Figures of the autoregression lab: changes caused by appending, attention by block."""

from collections.abc import Sequence

import numpy as np

from addnorm.player.charts import Figure
from components.charts.colour import SIGNAL
from components.charts.depth import Series, depth_profile
from components.charts.tokens import token_map
from models.insight.lens import shown


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
