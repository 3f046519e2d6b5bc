"""A net's answers as figures: decision regions in the plane, mistaken digits, sequences beside their targets."""

from typing import Any, NamedTuple

import numpy as np

from addnorm.player.declare import Figure, figure_of, layout_of
from components.charts.colour import CLASSES, GREY, RED
from components.charts.colour import RIGHT as RIGHT_COLOUR
from components.charts.parts import annotation, rounded

CLASS_SYMBOLS = ("circle", "square", "triangle-up")
# Lengths in pixels of a digit's image.
DIGIT_SIDE = 8
DIGIT_GAP = 5
CAPTION_HEIGHT = 3.6
DIGITS_PER_ROW = 4
MAX_SEQUENCES = 2
SQUARE_FROM_LEFT = {"constrain": "domain", "constraintoward": "left"}  # keeps pixels square, aligned to the left
# Kinds of cells index CELL_COLOURS. Symbols are dark on light cells in both themes; a wrong answer also has a cross.
INPUT, TARGET, RIGHT, WRONG = 0, 1, 2, 3
CELL_COLOURS = ("#dfe3e8", "#b9c2cc", RIGHT_COLOUR, RED)


def decision_map(picture: dict[str, Any]) -> Figure:
    """The class of every point of the plane, paler where the net is unsure, with the held-out points by class."""
    grid, confidence = np.asarray(picture["grid"]), np.asarray(picture["confidence"], float)
    points, labels = np.asarray(picture["points"], float).reshape(-1, 2), np.asarray(picture["labels"])
    classes = range(int(max(grid.max(initial=0), labels.max(initial=0))) + 1)
    axis = rounded(picture["axis"])
    strength = np.clip(confidence, 0, 1)
    regions = [_region(label, axis, np.where(grid == label, strength, np.nan)) for label in classes]
    dots = [_points(label, points[labels == label]) for label in classes]
    low, high = picture["extent"]
    layout = layout_of("Decision regions", x="", y="")
    layout["xaxis"] |= {"range": [low, high], **SQUARE_FROM_LEFT}
    layout["yaxis"] |= {"range": [low, high], "constrain": "domain", "scaleanchor": "x"}
    layout["margin"] |= {"l": 36, "b": 24}
    return figure_of([*regions, *dots], layout, "no points")


def digit_mistakes(picture: dict[str, Any]) -> Figure:
    """The mistaken digits, each with the net's answer and the truth."""
    mistakes = np.asarray(picture["mistakes"], float)
    layout = _without_axes("Held-out digits it got wrong")
    if not len(mistakes):
        return figure_of([], layout, "no mistake on the held-out digits")
    columns = [index % DIGITS_PER_ROW * (DIGIT_SIDE + DIGIT_GAP) for index in range(len(mistakes))]
    rows = [index // DIGITS_PER_ROW * (DIGIT_SIDE + CAPTION_HEIGHT) for index in range(len(mistakes))]
    layout["annotations"] = [
        annotation(f"Said {guess}, is {truth}", x=x + (DIGIT_SIDE - 1) / 2, y=y - 0.7, yanchor="bottom")
        for x, y, truth, guess in zip(columns, rows, picture["truth"], picture["guess"], strict=True)
    ]
    left, right = -DIGIT_GAP / 2 - 0.5, max(columns) + DIGIT_SIDE + DIGIT_GAP / 2 - 0.5
    bottom, top = rows[-1] + DIGIT_SIDE - 0.5, -CAPTION_HEIGHT
    layout["xaxis"] |= {"range": [left, right], **SQUARE_FROM_LEFT}
    layout["yaxis"] |= {"range": [bottom, top], "scaleanchor": "x", "constrain": "domain"}
    traces = [
        {
            "type": "heatmap",
            "name": f"mistake {number}",
            "x": [x + pixel for pixel in range(DIGIT_SIDE)],
            "y": [y + pixel for pixel in range(DIGIT_SIDE)],
            "z": [rounded(row) for row in image],
            "zmin": 0,
            "zmax": 16,
            "hue": GREY,
            "showscale": False,
            "hoverinfo": "skip",
        }
        for number, (x, y, image) in enumerate(zip(columns, rows, mistakes, strict=True), start=1)
    ]
    return figure_of(traces, layout, "")


def sequence_table(picture: dict[str, Any]) -> Figure:
    """Input, target and answer, symbol by symbol, folded at half their length to fit a phone."""
    sequences = [np.asarray(picture[key]) for key in ("input", "target", "guess")]
    layout = _without_axes("Input, target and answer")
    rows: list[_Row] = []
    for source, target, guess in list(zip(*sequences, strict=True))[:MAX_SEQUENCES]:
        rows += _folded_rows(source, target, guess, len(rows))
    width = max((len(row.kinds) for row in rows), default=0)
    heights = [row.y for row in rows]
    layout["yaxis"] |= {
        "visible": True,
        "showgrid": False,
        "ticks": "",
        "autorange": "reversed",
        "tickvals": heights,
        "ticktext": [row.name for row in rows],
    }
    layout["margin"] |= {"l": 56, "b": 8}
    trace = {
        "type": "heatmap",
        "name": "symbols",
        "x": list(range(width)),
        "y": heights,
        "z": [row.kinds for row in rows],
        "text": [row.texts for row in rows],
        "texttemplate": "%{text}",
        "textfont": {"size": 12, "color": "#000000"},
        "zmin": 0,
        "zmax": len(CELL_COLOURS) - 1,
        "colorscale": [[kind / (len(CELL_COLOURS) - 1), colour] for kind, colour in enumerate(CELL_COLOURS)],
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "hoverongaps": False,
        "hovertemplate": "%{text}<extra></extra>",
    }
    return figure_of([trace], layout, "no sequences")


class _Row(NamedTuple):
    """A row of cells: its height, its name, and kind (None for an empty cell) and text of each cell."""

    y: float
    name: str
    kinds: list[int | None]
    texts: list[str]


def _folded_rows(source: np.ndarray, target: np.ndarray, guess: np.ndarray, rows_above: int) -> list[_Row]:
    """Rows for the first half of the input, and for a window of the same length that starts at the first target.

    The window's input has no row if every position has a target, because it is then the target shifted by one.
    """
    half = (len(source) + 1) // 2
    start = min(int((target >= 0).argmax()), len(source) - half)
    window = slice(start, start + half)
    has_target = target[window] >= 0
    is_right = guess[window] == target[window]
    inputs: list[int | None] = [INPUT] * half
    right_or_wrong = np.where(is_right, RIGHT, WRONG).tolist()
    targets = [TARGET if has_one else None for has_one in has_target]
    answers = [kind if has_one else None for kind, has_one in zip(right_or_wrong, has_target, strict=True)]
    rows = [("input", inputs, source[:half].tolist())]
    if not has_target.all():
        rows.append(("then", inputs, source[window].tolist()))
    rows.append(("target", targets, target[window].tolist()))
    rows.append(("answer", answers, guess[window].tolist()))
    first_y = rows_above + (0.5 if rows_above else 0.0)
    return [
        _Row(first_y + index, name, kinds, [_symbol(kind, value) for kind, value in zip(kinds, values, strict=True)])
        for index, (name, kinds, values) in enumerate(rows)
    ]


def _symbol(kind: int | None, value: int) -> str:
    if kind is None:
        return ""
    return f"{value}<br>✗" if kind == WRONG else str(value)


def _region(label: int, axis: list[float | None], strength: np.ndarray) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "name": f"says {label}",
        "x": axis,
        "y": axis,
        "z": [rounded(row) for row in strength],
        "zmin": 0,
        "zmax": 1,
        "colorscale": [[0, "rgba(128,128,128,0)"], [1, CLASSES[label]]],
        "opacity": 0.45,
        "showscale": False,
        "showlegend": False,
        "hoverongaps": False,
        "hovertemplate": f"says {label} with %{{z:.2f}}<extra></extra>",
    }


def _points(label: int, points: np.ndarray) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": f"class {label}",
        "x": rounded(points[:, 0]),
        "y": rounded(points[:, 1]),
        "mode": "markers",
        "marker": {
            "color": CLASSES[label],
            "symbol": CLASS_SYMBOLS[label],
            "size": 6,
            "line": {"width": 0.7, "color": "#ffffff"},
        },
        "hovertemplate": f"class {label}<extra></extra>",
    }


def _without_axes(title: str) -> dict[str, Any]:
    layout = layout_of(title, x="", y="", legend=False)
    layout["xaxis"] |= {"visible": False}
    layout["yaxis"] |= {"visible": False}
    layout["margin"] |= {"l": 8, "b": 8}
    return layout


PICTURES = {"points": decision_map, "image": digit_mistakes, "sequence": sequence_table}  # by the kind of a task
