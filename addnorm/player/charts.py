"""The charts and panels of recordings, and a figure of one step."""

from collections.abc import Sequence
from typing import Any

from addnorm.format import BIN_ENDS_RMS
from addnorm.player.colour import GRADIENT, LOSS, SIGNAL, WEIGHTS
from addnorm.player.declare import (
    COLUMNS,
    STEP,
    AtFrame,
    Bins,
    Chart,
    Crosses,
    Figure,
    Headline,
    Map,
    Panel,
    Past,
    Row,
    Sentence,
    crosses_of,
    figure_of,
    layout_of,
    map_of,
    with_binding,
)

HUES = {"act_rms": SIGNAL, "grad_rms": GRADIENT, "weight_grad_rms": WEIGHTS, "update_to_weight": WEIGHTS}  # by track
ORDINALS = ("First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth")  # one page shows at most 8
HALF = COLUMNS // 2
HEIGHT, MAP_HEIGHT = 320, 340  # pixels

# The largest and the smallest positive number of common training formats (torch.finfo).
LIMITS = (
    (65504.0, "float16: largest"),
    (2.0**-24, "float16: smallest"),
    (3.3895e38, "bfloat16: largest"),
    (2.0**-133, "bfloat16: smallest"),
)
STREAMS = ("act_rms", "grad_rms")  # tracks over the sites of the stream; their charts show LIMITS


def recorded_depth(
    title: str, binding: type[Row | AtFrame], track: str, runs: Sequence[str | None], *, unit: str = "RMS"
) -> Figure:
    """A vector over depth, with a line for each of `runs`: a recording (None) or a labelled run of the playground.

    `binding`: Row takes the row at the playhead, AtFrame the last row up to there that has measured the vector.
    """
    hue = HUES[track]
    legend = len(runs) > 1 or binding is AtFrame  # else it would only repeat the player's step
    layout = layout_of(title, x="layer" if track in STREAMS else "block", y=unit, hue=hue, legend=legend)
    layout["xaxis"] |= {"tickangle": 0}
    layout["margin"]["r"] = 24  # room for half of the last name
    trace_name = STEP if len(runs) == 1 else f"{{name}}, {STEP}"
    traces = [
        with_binding({"name": label or trace_name, "role": run}, binding(track, run)) for run, label in enumerate(runs)
    ]
    limits = [{"at": value, "name": name} for value, name in LIMITS if track in STREAMS]
    return figure_of(traces, layout, "not measured", hue=hue, axis="log", depth=1, limits=limits)


def recorded_loss(runs: Sequence[str | None]) -> Figure:
    """The losses of recordings (None) and of labelled runs of the playground.

    The browser leaves out runs of another model than the first: losses of different tasks share no axis.
    """
    layout = layout_of("Loss", x="step", y="loss", legend=len(runs) > 1, hue=LOSS)
    traces = [
        with_binding({"name": label or "{name}", "role": run}, Past("loss", run, same_model=True))
        for run, label in enumerate(runs)
    ]
    traces += [
        with_binding(crosses_of(run, label or "this run"), Crosses("loss", run)) for run, label in enumerate(runs)
    ]
    return figure_of(traces, layout, "no loss was recorded", axis="loss", line="line", hue=LOSS, all_steps=1)


def recorded_map(title: str, track: str, run: int) -> Figure:
    """A vector of every row of a recording, as a heatmap over step and depth."""
    trace, layout = map_of(title, HUES[track], "RMS", y="layer")
    layout["margin"]["l"] = 130
    return figure_of([with_binding(trace, Map(track, run))], layout, line="map")


def recorded_values(title: str, run: int) -> Figure:
    """The distribution of the signal at each site of a recording, in units of its RMS."""
    trace, layout = map_of(title, SIGNAL, "share", y="layer")
    layout["margin"]["l"] = 130
    layout["xaxis"] |= {
        "title": {"text": "value / RMS", "standoff": 4},
        "tickformat": "",
        "tickvals": [-4, -2, 0, 2, 4],
    }
    trace["hovertemplate"] = "%{text}, %{x} RMS: %{customdata:.4g}<extra></extra>"
    bins = Bins("histogram", run, ends=BIN_ENDS_RMS)
    return figure_of([with_binding(trace | {"zmin": -4, "zmax": 0}, bins)], layout)


def depth_figure(title: str, sites: Sequence[str], act: Sequence[float | None], grad: Sequence[float | None]) -> Figure:
    """Signal and gradient of one step by site, side by side: a complete plotly figure that needs no player."""
    halves = (("Signal", act, SIGNAL, "", [0.0, 0.46]), ("Gradient", grad, GRADIENT, "2", [0.54, 1.0]))
    layout: dict[str, Any] = {"title": {"text": title, "font": {"size": 13}}, "showlegend": False, "height": 420}
    traces = []
    tick_sites = sorted({0, len(sites) // 2, len(sites) - 1}) if sites else []
    ticks = {"tickmode": "array", "tickvals": tick_sites, "ticktext": [sites[i] for i in tick_sites], "tickangle": 0}
    for name, values, hue, axis, domain in halves:
        points = {"x": list(range(len(sites))), "y": list(values), "text": list(sites)}
        style = {"mode": "lines+markers", "line": {"color": hue, "width": 2}, "marker": {"color": hue, "size": 4}}
        axes = {"hovertemplate": "%{text}: %{y:.4g}<extra></extra>", "xaxis": f"x{axis}", "yaxis": f"y{axis}"}
        traces.append({"type": "scatter", "name": name} | style | points | axes)
        layout |= {
            f"xaxis{axis}": {"domain": domain, "anchor": f"y{axis}", **ticks},
            f"yaxis{axis}": {"type": "log", "anchor": f"x{axis}", "title": {"text": f"{name}, RMS"}},
        }
    return {"data": traces, "layout": layout}


def panels_of(runs: Sequence[str | None], names: Sequence[str] = ORDINALS) -> list[Panel]:
    """The panels of recordings (None) and of labelled runs of the playground, from top to bottom.

    `names`: headlines of several recordings. Only up to two runs get maps and findings.
    """
    alone = len(runs) == 1
    detailed = [run for run, label in enumerate(runs) if label is None and len(runs) <= 2]
    panels: list[Panel] = [
        Headline(f"Verdict {run + 1}", run, label="" if alone else f"{label or names[run]}:")
        for run, label in enumerate(runs)
    ]
    for title, track in (("Signal by depth", "act_rms"), ("Gradient by depth", "grad_rms")):
        panels.append(Chart(title, span=HALF, figure=recorded_depth(title, Row, track, runs), height=HEIGHT))
    for run in detailed:
        for name, sentence in (("Findings", "findings"), ("Growth", "law"), ("Notes", "notes")):
            panels.append(Sentence(f"{name} {run + 1}", run, sentence=sentence))

    def chart(title: str, sentence: str, figure: Figure, span: int = HALF) -> Chart:
        return Chart(title, span=span, figure=figure, sentence=sentence if alone else "")

    weight, update = "Weight gradient by block", "Update to weight by block"
    changes = recorded_depth(update, AtFrame, "update_to_weight", runs, unit="change over weights")
    panels += [
        chart("Loss", "loss", recorded_loss(runs), COLUMNS),
        chart(weight, "weight", recorded_depth(weight, Row, "weight_grad_rms", runs)),
        chart(update, "update", changes),
    ]
    for run in detailed:
        suffix = "" if alone else f" of the {ORDINALS[run].lower()}"
        for quantity, track in (("Signal", "act_rms"), ("Gradient", "grad_rms")):
            title = f"{quantity} by layer and step{suffix}"
            panels.append(Chart(title, run, HALF, figure=recorded_map(title, track, run), height=MAP_HEIGHT))
        title = f"Values by layer{suffix}"
        panels.append(Chart(title, run, HALF, figure=recorded_values(title, run), height=MAP_HEIGHT, needs="bins"))
    return panels
