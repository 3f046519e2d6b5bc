"""What the player shows of recordings: charts, whose numbers the browser fills in, and sentences. As JSON holds it.

A figure is a plain dict: traces and a layout of plotly's schema. The key `bind` of a trace says which numbers it shows,
its `role` how it looks, the key `bind` of a layout what the browser computes. The app's other charts are made so too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from addnorm.player.colour import GRADIENT, GREY, LOSS, SIGNAL, WEIGHTS, marked

Figure = dict[str, Any]

HUES = {"act_rms": SIGNAL, "grad_rms": GRADIENT, "weight_grad_rms": WEIGHTS, "update_to_weight": WEIGHTS}  # by track
STEP = "step {step}"  # the browser fills in the step shown
ORDINALS = ("First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth")  # of so many at most
COLUMNS = 12  # of the grid; on a phone every panel spans all of them
HEIGHT, TALL = 320, 340
AXES = ("", "log", "linear", "loss", "cosine")
LINES = ("", "line", "map")

# The largest and the smallest number of the formats in which much is trained: torch.finfo.
LIMITS = (
    (65504.0, "float16: largest"),
    (2.0**-24, "float16: smallest"),
    (3.3895e38, "bfloat16: largest"),
    (2.0**-133, "bfloat16: smallest"),
)
STREAMS = ("act_rms", "grad_rms")  # tracks over the sites of the stream, on which those limits are drawn


def frame_of(title: str, *, x: str, y: str, legend: bool = True, hue: str = GREY) -> dict[str, Any]:
    """A compact layout, for a third of a page or a phone: the title with the mark of its hue, legend, plot."""
    return {
        "title": {
            "text": f"<b>{marked(title, hue)}</b>",
            "font": {"size": 13},
            "x": 0,
            "xref": "container",
            "y": 0.99,
            "yanchor": "top",
        },
        "margin": {"l": 48, "r": 8, "t": 46 if legend else 30, "b": 36},
        "xaxis": {"title": {"text": x, "standoff": 4}, "automargin": False, "zeroline": False},
        "yaxis": {"title": {"text": y, "standoff": 2}, "automargin": False, "zeroline": False},
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1.0,
            "yanchor": "bottom",
            "font": {"size": 12},
            "itemwidth": 30,
            "traceorder": "normal",
        },
        "showlegend": legend,
        "hovermode": "closest",
        "uirevision": title,
    }


def figure_of(
    traces: Sequence[dict[str, Any]],
    layout: dict[str, Any],
    empty: str = "",
    *,
    axis: str = "",
    line: str = "",
    **how: Any,
) -> Figure:
    """A figure whose y axis is of a kind of AXES, with the step shown marked as in LINES.

    `empty`: why there is nothing to draw. `how`: more about the axes, see bind.js.
    """
    for name, value, known in (("axis", axis, AXES), ("line", line, LINES)):
        if value not in known:
            raise ValueError(f"{name} {value!r}: one of {', '.join(map(repr, known))}")
    declared = {"axis": axis, "line": line, "empty": empty} | how
    return {"data": list(traces), "layout": layout | {"bind": {key: value for key, value in declared.items() if value}}}


def map_of(title: str, hue: str, unit: str, *, y: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The trace of a map of every row so far, and its layout."""
    layout = frame_of(title, x="step", y=y, legend=False, hue=hue)
    layout["xaxis"] |= {"tickformat": "d", "ticks": ""}
    layout["yaxis"] |= {"ticks": ""}
    layout["margin"]["t"] = 44
    trace = {
        "type": "heatmap",
        "name": title,
        "hue": hue,
        "hovertemplate": "%{text}, step %{x}: %{customdata:.4g}<extra></extra>",
        "hoverongaps": False,
        "colorbar": colour_bar(unit),
    }
    return trace, layout


def colour_bar(unit: str) -> dict[str, Any]:
    """A narrow colour bar."""
    return {
        "thickness": 10,
        "title": {"text": unit, "side": "top"},
        "outlinewidth": 0,
        "exponentformat": "power",
        "minexponent": 5,
    }


def crosses_of(run: int, label: str) -> dict[str, Any]:
    """The crosses of one of several runs where its loss is not finite."""
    return {"name": "diverged", "role": run, "meta": f"{label} diverged", "legendgroup": "diverged"}


# --- of recordings ---


def recorded_depth(title: str, of: str, track: str, runs: Sequence[str | None], *, unit: str = "RMS") -> Figure:
    """A vector of recordings over depth, named as in their models, and of runs of the playground by their labels.

    `of`: "row", of the row at the playhead, or "frame", of the last one at or before it that has measured the vector.
    """
    hue = HUES[track]
    legend = len(runs) > 1 or of == "frame"  # else it would only say the player's step again
    layout = frame_of(title, x="layer" if track in STREAMS else "block", y=unit, hue=hue, legend=legend)
    layout["xaxis"] |= {"tickangle": 0}
    layout["margin"]["r"] = 24  # half of the last name
    whose = STEP if len(runs) == 1 else f"{{name}}, {STEP}"
    traces = [_line(run, label or whose, of, track) for run, label in enumerate(runs)]
    limits = [{"at": value, "name": name} for value, name in LIMITS if track in STREAMS]
    return figure_of(traces, layout, "not measured", hue=hue, axis="log", depth=1, limits=limits)


def recorded_loss(runs: Sequence[str | None]) -> Figure:
    """The losses of recordings, and of runs of the playground by their labels; those of other models are left out.

    What a loss is worth depends on the task, so losses of several tasks share no axis.
    """
    layout = frame_of("Loss", x="step", y="loss", legend=len(runs) > 1, hue=LOSS)
    traces = [_line(run, label or "{name}", "past", "loss") for run, label in enumerate(runs)]
    for trace in traces:
        trace["bind"]["alike"] = True
    traces += [_bound(crosses_of(run, label or "this run"), "crosses", "loss", run) for run, label in enumerate(runs)]
    return figure_of(traces, layout, "no loss was recorded", axis="loss", line="line", hue=LOSS, reaches=1)


def recorded_map(title: str, track: str, run: int) -> Figure:
    """A vector of every row of a recording as colours over step and depth."""
    trace, layout = map_of(title, HUES[track], "RMS", y="layer")
    layout["margin"]["l"] = 130
    return figure_of([_bound(trace, "map", track, run)], layout, line="map")


def by_depth(title: str, sites: Sequence[str], act: Sequence[float | None], grad: Sequence[float | None]) -> Figure:
    """Signal and gradient of one step by site, side by side, with their numbers: a figure that needs no browser."""
    pairs = (("Signal", act, SIGNAL, "", [0.0, 0.46]), ("Gradient", grad, GRADIENT, "2", [0.54, 1.0]))
    layout: dict[str, Any] = {"title": {"text": title, "font": {"size": 13}}, "showlegend": False, "height": 420}
    traces = []
    for name, values, hue, axis, domain in pairs:
        place = {"x": list(range(len(sites))), "y": list(values), "text": list(sites)}
        hover = {"hovertemplate": "%{text}: %{y:.4g}<extra></extra>", "xaxis": f"x{axis}", "yaxis": f"y{axis}"}
        look = {"mode": "lines+markers", "line": {"color": hue, "width": 2}, "marker": {"color": hue, "size": 4}}
        traces.append({"type": "scatter", "name": name} | look | place | hover)
        at = sorted({0, len(sites) // 2, len(sites) - 1}) if sites else []
        ticks = {"tickmode": "array", "tickvals": at, "ticktext": [sites[one] for one in at], "tickangle": 0}
        layout |= {
            f"xaxis{axis}": {"domain": domain, "anchor": f"y{axis}", **ticks},
            f"yaxis{axis}": {"type": "log", "anchor": f"x{axis}", "title": {"text": f"{name}, RMS"}},
        }
    return {"data": traces, "layout": layout}


def panels_of(runs: Sequence[str | None], names: Sequence[str] = ORDINALS) -> list[dict[str, Any]]:
    """The panels of recordings (None) and of runs of the playground (their labels), from top to bottom.

    `names`: of the recordings, where there are several. Of more than two there are neither maps nor findings.
    """
    panels = []
    for run, label in enumerate(runs):
        letter = "" if len(runs) == 1 else label or names[run]
        panels.append(_panel("headline", f"Verdict {run + 1}", run, label=letter and f"{letter}:", help="", look=""))
    alone = len(runs) == 1
    panels += [
        _chart(title, recorded_depth(title, "row", track, runs), COLUMNS // 2, height=HEIGHT)
        for title, track in (("Signal by depth", "act_rms"), ("Gradient by depth", "grad_rms"))
    ]
    panels += [
        _panel("said", f"{name} {run + 1}", run, says=says, text="")
        for run, label in enumerate(runs)
        if label is None and len(runs) <= 2
        for name, says in (("Findings", "findings"), ("Growth", "law"), ("Notes", "notes"))
    ]
    weight, update = "Weight gradient by block", "Update to weight by block"
    panels += [
        _chart("Loss", recorded_loss(runs), COLUMNS, says="loss" if alone else ""),
        _chart(
            weight, recorded_depth(weight, "row", "weight_grad_rms", runs), COLUMNS // 2, says="weight" if alone else ""
        ),
        _chart(
            update,
            recorded_depth(update, "frame", "update_to_weight", runs, unit="change over weights"),
            COLUMNS // 2,
            says="update" if alone else "",
        ),
    ]
    for run, label in enumerate(runs):
        if label is None and len(runs) <= 2:
            which = "" if alone else f" of the {ORDINALS[run].lower()}"
            for what, track in (("Signal", "act_rms"), ("Gradient", "grad_rms")):
                title = f"{what} by layer and step{which}"
                panels.append(_chart(title, recorded_map(title, track, run), COLUMNS // 2, run, height=TALL))
    return panels


def _panel(kind: str, title: str, run: int, span: int = COLUMNS, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "key": f"{kind} {title} {run}", "title": title, "run": run, "span": span, "row": 0, **more}


def _chart(title: str, figure: Figure, span: int, run: int = 0, *, says: str = "", height: int = 262) -> dict[str, Any]:
    more = {"figure": figure, "says": says, "before": "", "ends": False, "height": height, "fit": 0, "scrubs": False}
    return _panel("chart", title, run, span, **more)


def _line(run: int, label: str, of: str, track: str) -> dict[str, Any]:
    return _bound({"name": label, "role": run}, of, track, run)


def _bound(trace: dict[str, Any], of: str, track: str, run: int) -> dict[str, Any]:
    return trace | {"bind": {"of": of, "track": track, "run": run, "seed": 0, "fold": "", "log": True, "against": None}}
