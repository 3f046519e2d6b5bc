"""Charts over tokens: attention weights, the answer at every site, and the likeliest next tokens."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from addnorm.player.declare import Figure, colour_bar, figure_of, layout_of
from components.charts.colour import SIGNAL
from components.charts.parts import annotation, fixed_map, frame_around, numbers
from models.insight.lens import visible_token

MAX_TEXT_ROWS = 30  # of a map with texts in its cells
MAX_TICK_LETTERS = 40  # that fit below a narrow chart
NO_LETTER_LIMIT = 10**3  # more letters than any axis has, so that every name is shown
MAX_CANDIDATES = 12  # bars, without the chosen token


def token_map(
    *,
    title: str,
    tokens: Sequence[str],
    rows: Sequence[str],
    values: np.ndarray,
    unit: str,
    x: str = "token looked at",
    y: str = "",
    texts: Sequence[Sequence[str]] | None = None,
    hidden: np.ndarray | None = None,
    marked: int | None = None,
) -> Figure:
    """Shares (R, T) as colour over tokens and rows, the first row at the top.

    `texts`: in the cells and in the hover. `hidden`: cells that are not measured and stay empty; other non-finite
    cells are red. `marked`: the number, from 1, of a token whose column has a frame.
    """
    cells = np.asarray(values, float).reshape(len(rows), len(tokens))
    measured = np.ones(cells.shape, bool) if hidden is None else ~hidden
    layout = layout_of(title, x=x, y=y, legend=False, hue=SIGNAL)
    layout["xaxis"] |= _ticks(tokens, MAX_TICK_LETTERS) | {"showgrid": False, "ticks": ""}
    layout["yaxis"] |= _ticks(rows, NO_LETTER_LIMIT) | {"autorange": "reversed", "showgrid": False, "ticks": ""}
    if not measured.any():
        return figure_of([], layout, "nothing to look at")
    shade: dict[str, Any] = {
        "name": title,
        "hue": SIGNAL,
        "x": list(range(1, len(tokens) + 1)),
        "y": list(range(1, len(rows) + 1)),
        "zmin": 0,
        "zmax": 1,
        "text": [["" for _ in tokens] for _ in rows] if texts is None else [list(row) for row in texts],
        "hovertemplate": f"row %{{y}}, token %{{x}}: %{{customdata:.4g}} {unit} %{{text}}<extra></extra>",
        "colorbar": colour_bar(unit),
    }
    if texts is not None and len(rows) <= MAX_TEXT_ROWS:
        shade |= {"texttemplate": "%{text}", "textfont": {"size": 12}}
    if marked is not None:
        layout["shapes"] = frame_around(marked, 1, len(rows))
    return figure_of([fixed_map(shade, cells, measured, log=False)], layout)


def candidates_chart(
    title: str, names: Sequence[str], p: np.ndarray, tempered: np.ndarray | None = None, chosen: int | None = None
) -> Figure:
    """Bars of the likeliest classes by their probabilities `p` (C,), beside those at a temperature (`tempered`).

    `chosen`: a class that always has a bar, with a label.
    """
    layout = layout_of(title, x="token", y="probability", legend=tempered is not None, hue=SIGNAL)
    if not np.isfinite(p).all():
        return figure_of([], layout, "the probabilities are not finite")
    order = np.argsort(-np.asarray(p, float), kind="stable")[:MAX_CANDIDATES].tolist()
    if chosen is not None and chosen not in order:
        order.append(chosen)
    labels = [visible_token(names[token]) for token in order]
    layout["xaxis"] |= _ticks(labels, NO_LETTER_LIMIT)
    layout["yaxis"] |= {"rangemode": "tozero"}
    layout["barmode"] = "group"
    distributions = [("net's probability", p)]
    if tempered is not None:
        distributions.append(("at the temperature", tempered))
    if chosen is not None:
        height = max(float(values[chosen]) for _, values in distributions)
        layout["annotations"] = [annotation("chosen", x=order.index(chosen) + 1, y=height, yanchor="bottom")]
    bars = [
        {
            "type": "bar",
            "name": name,
            "x": list(range(1, len(order) + 1)),
            "y": numbers(np.asarray(values, float)[order]),
            "text": labels,
            "textposition": "none",
            "hue": SIGNAL,
            "shade": shade,
            "marker": {"pattern": {"shape": "/" if shade else ""}},
            "hovertemplate": "%{text}: %{y:.4g}<extra>%{fullData.name}</extra>",
        }
        for shade, (name, values) in enumerate(distributions)
    ]
    return figure_of(bars, layout, "nothing to choose from")


def _ticks(names: Sequence[str], max_letters: int) -> dict[str, Any]:
    """A tick for every name, or every second, third, ... if all together have more than `max_letters` letters."""
    width = max((len(name) for name in names), default=1)
    stride = max(1, -(-len(names) * width // max_letters)) if width > 1 else 1
    return {
        "tickmode": "array",
        "tickvals": list(range(1, len(names) + 1, stride)),
        "ticktext": list(names[::stride]),
        "tickangle": 0,
    }
