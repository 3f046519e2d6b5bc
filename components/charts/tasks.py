"""A net's answers as figures: regions in the plane, mistaken digits, sequences beside their targets."""

from typing import Any

import numpy as np

from addnorm.player.declare import Figure, figure_of, layout_of
from components.charts.colour import CLASSES, GREY, RED
from components.charts.colour import RIGHT as RIGHT_COLOUR
from components.charts.parts import note, rounded

CLASS_SYMBOLS = ("circle", "square", "triangle-up")
SIDE, GAP, CAPTION = 8, 5, 3.6  # in pixels of a digit: its side, the gap between two, the room for a caption
PER_ROW = 4
MAX_SEQUENCES = 2
LEFT = {"constrain": "domain", "constraintoward": "left"}  # keeps pixels square, from the left on
# Kinds of cells and their colours: symbols are dark on light cells in both themes, and a wrong answer also has a cross.
INPUT, TARGET, RIGHT, WRONG = 0, 1, 2, 3
CELLS = ("#dfe3e8", "#b9c2cc", RIGHT_COLOUR, RED)


def decision_map(picture: dict[str, Any]) -> Figure:
    """The class of every point of the plane, paler where the net is unsure, with the held-out points by class."""
    grid, confidence = np.asarray(picture["grid"]), np.asarray(picture["confidence"], float)
    points, labels = np.asarray(picture["points"], float).reshape(-1, 2), np.asarray(picture["labels"])
    classes = range(int(max(grid.max(initial=0), labels.max(initial=0))) + 1)
    axis = rounded(picture["axis"])
    regions = [_region(one, axis, np.where(grid == one, np.clip(confidence, 0, 1), np.nan)) for one in classes]
    low, high = picture["extent"]
    layout = layout_of("Decision regions", x="", y="")
    layout["xaxis"] |= {"range": [low, high], **LEFT}
    layout["yaxis"] |= {"range": [low, high], "constrain": "domain", "scaleanchor": "x"}
    layout["margin"] |= {"l": 36, "b": 24}
    return figure_of([*regions, *(_points(one, points[labels == one]) for one in classes)], layout, "no points")


def digit_mistakes(picture: dict[str, Any]) -> Figure:
    """The mistaken digits, four in a row, each with the net's answer and the truth."""
    mistakes = np.asarray(picture["mistakes"], float)
    layout = _without_axes("Held-out digits it got wrong")
    if not len(mistakes):
        return figure_of([], layout, "no mistake on the held-out digits")
    pitch = SIDE + CAPTION
    corners = [((at % PER_ROW) * (SIDE + GAP), (at // PER_ROW) * pitch) for at in range(len(mistakes))]
    captions = zip(corners, picture["truth"], picture["guess"], picture["confidence"], strict=True)
    layout["annotations"] = [
        note(f"Said {guess}, is {truth}", x=x + (SIDE - 1) / 2, y=y - 0.7, yanchor="bottom")
        for (x, y), truth, guess, sure in captions
    ]
    layout["xaxis"] |= {"range": [-GAP / 2 - 0.5, max(x for x, _ in corners) + SIDE + GAP / 2 - 0.5], **LEFT}
    layout["yaxis"] |= {"range": [corners[-1][1] + SIDE - 0.5, -CAPTION], "scaleanchor": "x", "constrain": "domain"}
    traces = [
        {
            "type": "heatmap",
            "name": f"mistake {at + 1}",
            "x": [x + pixel for pixel in range(SIDE)],
            "y": [y + pixel for pixel in range(SIDE)],
            "z": [rounded(row) for row in image],
            "zmin": 0,
            "zmax": 16,
            "hue": GREY,
            "showscale": False,
            "hoverinfo": "skip",
        }
        for at, ((x, y), image) in enumerate(zip(corners, mistakes, strict=True))
    ]
    return figure_of(traces, layout, "")


def sequence_table(picture: dict[str, Any]) -> Figure:
    """Input, target and answer, symbol by symbol, folded at half their length to fit a phone."""
    sequences = [np.asarray(picture[key]) for key in ("input", "target", "guess")]
    layout = _without_axes("Input, target and answer")
    rows: list[_Row] = []
    for given, target, guess in list(zip(*sequences, strict=True))[:MAX_SEQUENCES]:
        rows += _folded(given, target, guess, len(rows))
    width = max((len(row[2]) for row in rows), default=0)
    layout["yaxis"] |= {
        "visible": True,
        "showgrid": False,
        "ticks": "",
        "autorange": "reversed",
        "tickvals": [at for at, _, _, _ in rows],
        "ticktext": [name for _, name, _, _ in rows],
    }
    layout["margin"] |= {"l": 56, "b": 8}
    trace = {
        "type": "heatmap",
        "name": "symbols",
        "x": list(range(width)),
        "y": [at for at, _, _, _ in rows],
        "z": [kinds for _, _, kinds, _ in rows],
        "text": [texts for _, _, _, texts in rows],
        "texttemplate": "%{text}",
        "textfont": {"size": 12, "color": "#000000"},
        "zmin": 0,
        "zmax": len(CELLS) - 1,
        "colorscale": [[at / (len(CELLS) - 1), colour] for at, colour in enumerate(CELLS)],
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "hoverongaps": False,
        "hovertemplate": "%{text}<extra></extra>",
    }
    return figure_of([trace], layout, "no sequences")


# A row of cells: its height, its name, the kind of each cell (None for an empty one) and their texts.
_Row = tuple[float, str, list[int | None], list[str]]


def _folded(given: np.ndarray, target: np.ndarray, guess: np.ndarray, above: int) -> list[_Row]:
    """Rows for the first half of the input, and for a window of equal length from the first position asked on.

    The input of the window is left out where all of its positions are asked: it is the target, one position earlier.
    """
    half = (len(given) + 1) // 2
    start = min(int((target >= 0).argmax()), len(given) - half)
    window = slice(start, start + half)
    asked = target[window] >= 0
    right = guess[window] == target[window]
    whole: list[int | None] = [INPUT] * half
    rows = [("input", whole, given[:half].tolist())]
    if not asked.all():
        rows += [("then", whole, given[window].tolist())]
    rows += [
        ("target", [TARGET if q else None for q in asked], target[window].tolist()),
        (
            "answer",
            [(RIGHT if ok else WRONG) if q else None for q, ok in zip(asked, right, strict=True)],
            guess[window].tolist(),
        ),
    ]
    first = above + (0.5 if above else 0.0)
    return [
        (first + at, name, kinds, [_symbol(kind, value) for kind, value in zip(kinds, values, strict=True)])
        for at, (name, kinds, values) in enumerate(rows)
    ]


def _symbol(kind: int | None, value: int) -> str:
    return "" if kind is None else f"{value}<br>✗" if kind == WRONG else str(value)


def _region(one: int, axis: list[float | None], strength: np.ndarray) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "name": f"says {one}",
        "x": axis,
        "y": axis,
        "z": [rounded(row) for row in strength],
        "zmin": 0,
        "zmax": 1,
        "colorscale": [[0, "rgba(128,128,128,0)"], [1, CLASSES[one]]],
        "opacity": 0.45,
        "showscale": False,
        "showlegend": False,
        "hoverongaps": False,
        "hovertemplate": f"says {one} with %{{z:.2f}}<extra></extra>",
    }


def _points(one: int, points: np.ndarray) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": f"class {one}",
        "x": rounded(points[:, 0]),
        "y": rounded(points[:, 1]),
        "mode": "markers",
        "marker": {
            "color": CLASSES[one],
            "symbol": CLASS_SYMBOLS[one],
            "size": 6,
            "line": {"width": 0.7, "color": "#ffffff"},
        },
        "hovertemplate": f"class {one}<extra></extra>",
    }


def _without_axes(title: str) -> dict[str, Any]:
    layout = layout_of(title, x="", y="", legend=False)
    layout["xaxis"] |= {"visible": False}
    layout["yaxis"] |= {"visible": False}
    layout["margin"] |= {"l": 8, "b": 8}
    return layout


PICTURES = {"points": decision_map, "image": digit_mistakes, "sequence": sequence_table}  # by the kind of a task
