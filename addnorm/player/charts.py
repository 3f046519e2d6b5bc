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
HALF = COLUMNS // 2  # of the page's width
CHART_HEIGHT = 320  # pixels
MAP_HEIGHT = 340  # pixels
LAST_NAME_MARGIN = 24  # pixels right of a plot: room for half of the last site's name
SITE_NAME_MARGIN = 130  # pixels left of a map, for the names of the sites

# The largest and the smallest positive number of common training formats (torch.finfo).
FORMAT_LIMITS = (
    (65504.0, "float16: largest"),
    (2.0**-24, "float16: smallest"),
    (3.3895e38, "bfloat16: largest"),
    (2.0**-133, "bfloat16: smallest"),
)
SITE_TRACKS = ("act_rms", "grad_rms")  # tracks over the sites of the stream; their charts show FORMAT_LIMITS


def recorded_depth(
    title: str, binding: type[Row | AtFrame], track: str, runs: Sequence[str | None], *, unit: str = "RMS"
) -> Figure:
    """A chart of a vector over depth, with a line for each run.

    `runs` holds None for a recording and a label for a run of the playground, as in all functions here. `binding` is
    Row for the row at the playhead, or AtFrame for the last row up to there that measured the vector.
    """
    hue = HUES[track]
    is_over_sites = track in SITE_TRACKS
    legend = len(runs) > 1 or binding is AtFrame  # else it would only repeat the player's step
    layout = layout_of(title, x="layer" if is_over_sites else "block", y=unit, hue=hue, legend=legend)
    layout["xaxis"] |= {"tickangle": 0}
    layout["margin"]["r"] = LAST_NAME_MARGIN
    trace_name = STEP if len(runs) == 1 else f"{{name}}, {STEP}"
    traces = [
        with_binding({"name": label or trace_name, "role": run}, binding(track, run)) for run, label in enumerate(runs)
    ]
    limits = [{"at": value, "name": name} for value, name in FORMAT_LIMITS] if is_over_sites else []
    return figure_of(traces, layout, "not measured", hue=hue, axis="log", depth=1, limits=limits)


def recorded_loss(runs: Sequence[str | None]) -> Figure:
    """A chart of the losses over the steps.

    The browser leaves out runs whose model is not that of the first: losses of different tasks share no axis.
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
    """A heatmap of a vector over step and depth, with all rows of a recording."""
    trace, layout = map_of(title, HUES[track], "RMS", y="layer")
    layout["margin"]["l"] = SITE_NAME_MARGIN
    return figure_of([with_binding(trace, Map(track, run))], layout, line="map")


def recorded_values(title: str, run: int) -> Figure:
    """A heatmap of the signal's distribution at each site of a recording, in units of its RMS."""
    trace, layout = map_of(title, SIGNAL, "share", y="layer")
    layout["margin"]["l"] = SITE_NAME_MARGIN
    layout["xaxis"] |= {
        "title": {"text": "value / RMS", "standoff": 4},
        "tickformat": "",
        "tickvals": [-4, -2, 0, 2, 4],
    }
    trace["hovertemplate"] = "%{text}, %{x} RMS: %{customdata:.4g}<extra></extra>"
    bins = Bins("histogram", run, ends=BIN_ENDS_RMS)
    return figure_of([with_binding(trace | {"zmin": -4, "zmax": 0}, bins)], layout)


def depth_figure(title: str, sites: Sequence[str], act: Sequence[float | None], grad: Sequence[float | None]) -> Figure:
    """A plotly figure of one step that needs no player: signal and gradient over the sites, side by side."""
    halves = (  # name, values, hue, suffix of plotly's axes, share of the width
        ("Signal", act, SIGNAL, "", [0.0, 0.46]),
        ("Gradient", grad, GRADIENT, "2", [0.54, 1.0]),
    )
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
    """The panels of a page that plays `runs`, from top to bottom.

    `names` are the headlines of several recordings. Recordings get maps and findings if there are at most two runs.
    """
    is_single = len(runs) == 1
    detailed = [run for run, label in enumerate(runs) if label is None] if len(runs) <= 2 else []
    panels: list[Panel] = [
        Headline(f"Verdict {run + 1}", run, label="" if is_single else f"{label or names[run]}:")
        for run, label in enumerate(runs)
    ]
    for title, track in (("Signal by depth", "act_rms"), ("Gradient by depth", "grad_rms")):
        panels.append(Chart(title, span=HALF, figure=recorded_depth(title, Row, track, runs), height=CHART_HEIGHT))
    for run in detailed:
        for name, sentence in (("Findings", "findings"), ("Growth", "law"), ("Notes", "notes")):
            panels.append(Sentence(f"{name} {run + 1}", run, sentence=sentence))

    def chart(title: str, sentence: str, figure: Figure, span: int = HALF) -> Chart:
        return Chart(title, span=span, figure=figure, sentence=sentence if is_single else "")

    weight = "Weight gradient by block"
    update = "Update to weight by block"
    changes = recorded_depth(update, AtFrame, "update_to_weight", runs, unit="change over weights")
    panels += [
        chart("Loss", "loss", recorded_loss(runs), COLUMNS),
        chart(weight, "weight", recorded_depth(weight, Row, "weight_grad_rms", runs)),
        chart(update, "update", changes),
    ]
    for run in detailed:
        suffix = "" if is_single else f" of the {ORDINALS[run].lower()}"
        for quantity, track in (("Signal", "act_rms"), ("Gradient", "grad_rms")):
            title = f"{quantity} by layer and step{suffix}"
            panels.append(Chart(title, run, HALF, figure=recorded_map(title, track, run), height=MAP_HEIGHT))
        title = f"Values by layer{suffix}"
        panels.append(Chart(title, run, HALF, figure=recorded_values(title, run), height=MAP_HEIGHT, needs="bins"))
    return panels
