"""What the player shows of recordings: charts, whose numbers the browser fills in, and sentences. As JSON holds it.

A figure is a plain dict of plotly's schema. The key `bind` of a trace says which numbers of a tape it shows, that of a
layout how its axes are held and how the step shown is marked. The app draws its other charts with the same parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from addnorm.player.colour import GRADIENT, GREY, LOSS, SIGNAL, WEIGHTS, colour_scale, marked, shades

Figure = dict[str, Any]

HUES = {"act_rms": SIGNAL, "grad_rms": GRADIENT, "weight_grad_rms": WEIGHTS, "update_to_weight": WEIGHTS}  # by track
STEP = "step {step}"  # the browser fills in the step shown
COLUMNS = 12  # of the grid; on a phone every panel spans all of them
HEIGHT, TALL = 320, 340
# Dash and symbol of each of several runs, which also have shades of the chart's hue.
RUN_STYLES = (("solid", "circle"), ("dash", "square"), ("dot", "diamond"), ("dashdot", "triangle-up"))

# The largest and the smallest number of each format: torch.finfo; for float8 https://arxiv.org/abs/2209.05433
SIXTEEN_BITS = (
    (65504.0, "float16: largest"),
    (2.0**-24, "float16: smallest"),
    (3.3895e38, "bfloat16: largest"),
    (2.0**-133, "bfloat16: smallest"),
)
LIMITS = {
    "act_rms": (*SIXTEEN_BITS, (448.0, "float8 (E4M3): largest"), (2.0**-9, "float8 (E4M3): smallest")),
    "grad_rms": (*SIXTEEN_BITS, (57344.0, "float8 (E5M2): largest"), (2.0**-16, "float8 (E5M2): smallest")),
}
FORMATS = (
    "Dotted lines mark the limits of number formats, where the axis reaches them. Sizes are root mean squares: "
    "single numbers are larger and smaller."
)


def frame_of(
    title: str, *, x: str, y: str, ticks: dict[str, Any] | None = None, legend: bool = True, hue: str = GREY
) -> dict[str, Any]:
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
        "xaxis": {"title": {"text": x, "standoff": 4}, "automargin": False, "zeroline": False, **(ticks or {})},
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


def line_of(run: int, label: str, hue: str) -> dict[str, Any]:
    """The line of one of several runs, by its number, without its points."""
    colour, (dash, symbol) = shades(hue)[run], RUN_STYLES[run]
    return {
        "type": "scatter",
        "name": label,
        "mode": "lines+markers",
        "line": {"color": colour, "dash": dash, "width": 2},
        "marker": {"symbol": symbol, "size": 4, "color": colour},
        "hovertemplate": "%{x}: %{y:.4g}<extra>" + label + "</extra>",
    }


def crosses_of(run: int, label: str) -> dict[str, Any]:
    """The crosses of one of several runs where its loss is not finite, without their places."""
    colour = shades(LOSS)[run]
    return {
        "type": "scatter",
        "name": "diverged",
        "mode": "markers",
        "line": {"color": colour, "width": 2, "dash": "solid"},
        "marker": {"color": colour, "symbol": "x", "size": 9},
        "meta": f"{label} diverged",
        "legendgroup": "diverged",
        "hovertemplate": "step %{x}: %{customdata}<extra>" + f"{label} diverged</extra>",
    }


# --- of recordings ---


def recorded_depth(title: str, of: str, track: str, runs: Sequence[str | None], *, unit: str = "RMS") -> Figure:
    """A vector of recordings over depth, named as in their models, and of runs of the playground by their labels.

    `of`: "row", of the row at the playhead, or "frame", of the last one at or before it that has measured the vector.
    """
    hue = HUES[track]
    legend = len(runs) > 1 or of == "frame"  # else it would only say the player's step again
    layout = frame_of(title, x="site" if track in LIMITS else "block", y=unit, hue=hue, legend=legend)
    layout["xaxis"] |= {"tickangle": -25}
    layout["margin"]["b"] = 70
    layout["yaxis"] |= {"type": "log"}
    hover = {"hovertemplate": "%{text}: %{y:.4g}<extra>%{meta}</extra>", "connectgaps": False}
    traces = [
        _bound(line_of(run, label or (STEP if len(runs) == 1 else f"{{name}}, {STEP}"), hue) | hover, of, track, run)
        for run, label in enumerate(runs)
    ]
    limits = [{"at": value, "name": name} for value, name in LIMITS.get(track, ())]
    return _held(traces, layout, y="log", depth=1, limits=limits, empty="not measured")


def recorded_loss(runs: Sequence[str | None]) -> Figure:
    """The losses of recordings, and of runs of the playground by their labels."""
    layout = frame_of("Loss", x="step", y="loss", legend=len(runs) > 1, hue=LOSS)
    hover = {"mode": "lines", "hovertemplate": "step %{x}: %{y:.4g}<extra>%{fullData.name}</extra>"}
    traces = [
        _bound(line_of(run, label or "{name}", LOSS) | hover, "past", "loss", run) for run, label in enumerate(runs)
    ]
    crosses = [_bound(crosses_of(run, label or "this run"), "crosses", "loss", run) for run, label in enumerate(runs)]
    return _held(traces + crosses, layout, y="loss", line="line", chance=0, reaches=1, empty="no loss was recorded")


def recorded_map(title: str, track: str, run: int) -> Figure:
    """A vector of every row of a recording as colours over step and depth."""
    hue = HUES[track]
    layout = frame_of(title, x="step", y="site", legend=False, hue=hue)
    layout["xaxis"] |= {"tickformat": "d", "ticks": ""}  # without an end: a recording may go on
    layout["yaxis"] = {"title": {"text": "site"}, "ticks": "", "zeroline": False}
    layout["margin"] |= {"l": 130, "t": 44}
    trace = {
        "type": "heatmap",
        "name": title,
        "x": [],
        "hovertemplate": "%{text}, step %{x}: %{customdata:.4g}<extra></extra>",
        "hoverongaps": False,
        "colorscale": colour_scale(hue),
        "colorbar": {"thickness": 10, "title": {"text": "RMS", "side": "top"}, "outlinewidth": 0},
    }
    return _held([_bound(trace, "map", track, run)], layout, line="map")


def by_depth(title: str, sites: Sequence[str], act: Sequence[float | None], grad: Sequence[float | None]) -> Figure:
    """Activation and gradient of one step by site, side by side, with their numbers: a figure that needs no browser."""
    pairs = (("Activation", act, SIGNAL, "", [0.0, 0.46]), ("Gradient", grad, GRADIENT, "2", [0.54, 1.0]))
    layout: dict[str, Any] = {"title": {"text": title, "font": {"size": 13}}, "showlegend": False, "height": 420}
    traces = []
    for name, values, hue, axis, domain in pairs:
        place = {"x": list(range(len(sites))), "y": list(values), "text": list(sites)}
        hover = {"hovertemplate": "%{text}: %{y:.4g}<extra></extra>", "xaxis": f"x{axis}", "yaxis": f"y{axis}"}
        traces.append(line_of(0, name, hue) | place | hover)
        at = sorted({round(end * (len(sites) - 1) / 5) for end in range(6)}) if sites else []
        ticks = {"tickmode": "array", "tickvals": at, "ticktext": [sites[one] for one in at], "tickangle": -25}
        layout |= {
            f"xaxis{axis}": {"domain": domain, "anchor": f"y{axis}", **ticks},
            f"yaxis{axis}": {"type": "log", "anchor": f"x{axis}", "title": {"text": f"{name}, RMS"}},
        }
    return {"data": traces, "layout": layout}


def panels_of(runs: Sequence[str | None]) -> list[dict[str, Any]]:
    """The panels of recordings (None) and of runs of the playground (their labels), from top to bottom."""
    panels = []
    for run, label in enumerate(runs):
        letter = "" if len(runs) == 1 else label or ("First", "Second")[run]
        panels.append(_panel("headline", f"Verdict {run + 1}", run, label=letter and f"{letter}:", help="", look=""))
    alone = len(runs) == 1
    panels += [
        _chart(title, recorded_depth(title, "row", track, runs), COLUMNS // 2, height=HEIGHT)
        for title, track in (("Signal by depth", "act_rms"), ("Gradient by depth", "grad_rms"))
    ]
    panels += [
        _panel("said", f"{name} {run + 1}", run, says=says, text="")
        for run, label in enumerate(runs)
        if label is None
        for name, says in (("Findings", "findings"), ("Growth", "law"), ("Notes", "notes"))
    ]
    weight, update = "Weight gradient by block", "Update to weight by block"
    panels += [
        _chart(weight, recorded_depth(weight, "row", "weight_grad_rms", runs), says="weight" if alone else ""),
        _chart(
            update,
            recorded_depth(update, "frame", "update_to_weight", runs, unit="change over weights"),
            says="update" if alone else "",
        ),
        _chart("Loss", recorded_loss(runs), says="loss" if alone else ""),
        _panel("said", "Number formats", 0, says="", text=FORMATS),
    ]
    for run, label in enumerate(runs):
        if label is None:
            which = "" if alone else (" of the first", " of the second")[run]
            for what, track in (("Signal", "act_rms"), ("Gradient", "grad_rms")):
                title = f"{what} by layer and step{which}"
                panels.append(_chart(title, recorded_map(title, track, run), COLUMNS // 2, run, height=TALL))
    return panels


def _panel(kind: str, title: str, run: int, span: int = COLUMNS, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "key": f"{kind} {title} {run}", "title": title, "run": run, "span": span, "row": 0, **more}


def _chart(
    title: str, figure: Figure, span: int = 4, run: int = 0, *, says: str = "", height: int = 262
) -> dict[str, Any]:
    more = {"figure": figure, "says": says, "before": "", "ends": False, "height": height, "fit": 0, "scrubs": False}
    return _panel("chart", title, run, span, **more)


def _bound(trace: dict[str, Any], of: str, track: str, run: int) -> dict[str, Any]:
    return trace | {"bind": {"of": of, "track": track, "run": run, "seed": 0, "fold": "", "log": True, "against": None}}


def _held(traces: list[dict[str, Any]], layout: dict[str, Any], *, y: str = "", line: str = "", **how: Any) -> Figure:
    return {"data": traces, "layout": layout | {"bind": {"y": y, "line": line, **how}}}
