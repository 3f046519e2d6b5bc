"""What a net says, as figures: regions in the plane, mistaken digits, answers beside their targets."""

import math
from typing import Any

import numpy as np

from components.charts import BLUE, GREEN, ORANGE, RED, Figure, rounded

CLASS_COLOURS = (BLUE, ORANGE, GREEN)
CLASS_SYMBOLS = ("circle", "square", "triangle-up")


def decision_map(picture: dict[str, Any]) -> Figure:
    """The class of every place in the plane, paler where the net is unsure, with held-out points by class."""
    grid, confidence = np.asarray(picture["grid"], float), np.asarray(picture["confidence"], float)
    points, labels = np.asarray(picture["points"], float), np.asarray(picture["labels"])
    classes = int(labels.max()) + 1 if len(labels) else 1
    axis = rounded(picture["axis"])
    traces: list[dict[str, Any]] = []
    for one in range(classes):
        strength = np.where(grid == one, np.clip(confidence, 0, 1), np.nan)
        traces.append(
            {
                "type": "heatmap",
                "name": f"says {one}",
                "x": axis,
                "y": axis,
                "z": [rounded(row) for row in strength],
                "zmin": 0,
                "zmax": 1,
                "colorscale": [[0, "rgba(128,128,128,0)"], [1, CLASS_COLOURS[one]]],
                "opacity": 0.45,
                "showscale": False,
                "hovertemplate": f"says {one} with %{{z:.2f}}<extra></extra>",
            }
        )
    for one in range(classes):
        mine = points[labels == one]
        marker = {
            "color": CLASS_COLOURS[one],
            "symbol": CLASS_SYMBOLS[one],
            "size": 6,
            "line": {"width": 0.7, "color": "#ffffff"},
        }
        traces.append(
            {
                "type": "scatter",
                "name": f"class {one}",
                "x": rounded(mine[:, 0]),
                "y": rounded(mine[:, 1]),
                "mode": "markers",
                "marker": marker,
                "hovertemplate": f"class {one}<extra></extra>",
            }
        )
    low, high = picture["extent"]
    layout = _bare("Decision regions")
    layout["xaxis"] |= {"range": [low, high], "visible": True}
    layout["yaxis"] |= {"range": [low, high], "visible": True, "scaleanchor": "x"}
    layout |= {"showlegend": True, "legend": {"orientation": "h", "y": 1.0, "yanchor": "bottom"}}
    return {"data": traces, "layout": layout}


def digit_mistakes(picture: dict[str, Any]) -> Figure:
    """Mistaken digits in a row, each with its truth and the net's answer."""
    mistakes = np.asarray(picture["mistakes"], float)
    layout = _bare("Held-out digits it got wrong")
    if not len(mistakes):
        layout["annotations"] = [_label("no mistake on the held-out digits", 0.5, 0.5, xref="paper", yref="paper", size=14)]
        return {"data": [], "layout": layout}
    gap = 2
    canvas = np.full((8, len(mistakes) * (8 + gap) - gap), np.nan)
    for at, image in enumerate(mistakes):
        canvas[:, at * (8 + gap) : at * (8 + gap) + 8] = image
    trace = {
        "type": "heatmap",
        "name": "pixels",
        "x": list(range(canvas.shape[1])),
        "y": list(range(8)),
        "z": [rounded(row) for row in canvas],
        "colorscale": "Cividis",
        "showscale": False,
        "hoverinfo": "skip",
    }
    captions = zip(picture["truth"], picture["guess"], picture["confidence"], strict=True)
    layout["annotations"] = [
        _label(f"{truth}, not {guess}<br>({sure:.0%})", at * (8 + gap) + 3.5, -0.9, yanchor="bottom")
        for at, (truth, guess, sure) in enumerate(captions)
    ]
    layout["yaxis"] |= {"range": [7.5, -3.6], "scaleanchor": "x"}
    return {"data": [trace], "layout": layout}


def sequence_table(picture: dict[str, Any]) -> Figure:
    """Input, target and answer, symbol by symbol; a wrong answer has a colour and a cross."""
    given, target, guess = (np.asarray(picture[key]) for key in ("input", "target", "guess"))
    rows, texts, names = [], [], []
    for at in range(min(2, len(given))):
        asked = target[at] >= 0
        right = guess[at] == target[at]
        rows += [np.zeros(given.shape[1]), np.where(asked, 0.5, np.nan), np.where(asked, np.where(right, 1.0, 2.0), np.nan)]
        texts += [[str(v) for v in given[at]], [str(v) if v >= 0 else "" for v in target[at]], _answers(guess[at], asked, right)]
        names += [f"input {at + 1}", f"target {at + 1}", f"answer {at + 1}"]
    trace = {
        "type": "heatmap",
        "name": "symbols",
        "x": list(range(given.shape[1])),
        "y": list(range(len(rows))),
        "z": [[None if math.isnan(v) else v for v in row] for row in rows],
        "text": texts,
        "texttemplate": "%{text}",
        "zmin": 0,
        "zmax": 2,
        "colorscale": [[0, "rgba(128,128,128,.15)"], [0.25, "rgba(128,128,128,.3)"], [0.5, GREEN], [1, RED]],
        "showscale": False,
        "xgap": 1,
        "ygap": 3,
        "hovertemplate": "token %{x}: %{text}<extra></extra>",
    }
    layout = _bare("Input, target and answer")
    layout["yaxis"] |= {"visible": True, "autorange": "reversed", "tickvals": list(range(len(rows))), "ticktext": names}
    layout["margin"] = {"l": 70, "r": 8, "t": 34, "b": 10}
    return {"data": [trace], "layout": layout}


def _answers(guess: np.ndarray, asked: np.ndarray, right: np.ndarray) -> list[str]:
    return [("" if not q else f"{g}" if ok else f"{g} ✗") for g, q, ok in zip(guess, asked, right, strict=True)]


def _bare(title: str) -> dict[str, Any]:
    return {
        "title": {"text": title, "font": {"size": 14}, "x": 0, "xref": "paper", "y": 0.99, "yanchor": "top"},
        "margin": {"l": 30, "r": 8, "t": 40, "b": 20},
        "xaxis": {"visible": False, "zeroline": False},
        "yaxis": {"visible": False, "zeroline": False},
        "showlegend": False,
        "uirevision": title,
    }


def _label(text: str, x: float, y: float, *, size: int = 11, **place: Any) -> dict[str, Any]:
    return {"text": text, "x": x, "y": y, "showarrow": False, "font": {"size": size}, **place}
