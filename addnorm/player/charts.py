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
    bound,
    crosses_of,
    figure_of,
    frame_of,
    map_of,
)

HUES = {"act_rms": SIGNAL, "grad_rms": GRADIENT, "weight_grad_rms": WEIGHTS, "update_to_weight": WEIGHTS}  # by track
ORDINALS = ("First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth")  # of so many at most
HALF = COLUMNS // 2
HEIGHT, TALL = 320, 340

# The largest and the smallest number of the formats in which much is trained: torch.finfo.
LIMITS = (
    (65504.0, "float16: largest"),
    (2.0**-24, "float16: smallest"),
    (3.3895e38, "bfloat16: largest"),
    (2.0**-133, "bfloat16: smallest"),
)
STREAMS = ("act_rms", "grad_rms")  # tracks over the sites of the stream, on which those limits are drawn


def recorded_depth(
    title: str, of: type[Row | AtFrame], track: str, runs: Sequence[str | None], *, unit: str = "RMS"
) -> Figure:
    """A vector of recordings over depth, named as in their models, and of runs of the playground by their labels.

    `of`: of the row at the playhead, or of the last one at or before it that has measured the vector.
    """
    hue = HUES[track]
    legend = len(runs) > 1 or of is AtFrame  # else it would only say the player's step again
    layout = frame_of(title, x="layer" if track in STREAMS else "block", y=unit, hue=hue, legend=legend)
    layout["xaxis"] |= {"tickangle": 0}
    layout["margin"]["r"] = 24  # half of the last name
    whose = STEP if len(runs) == 1 else f"{{name}}, {STEP}"
    traces = [bound({"name": label or whose, "role": run}, of(track, run)) for run, label in enumerate(runs)]
    limits = [{"at": value, "name": name} for value, name in LIMITS if track in STREAMS]
    return figure_of(traces, layout, "not measured", hue=hue, axis="log", depth=1, limits=limits)


def recorded_loss(runs: Sequence[str | None]) -> Figure:
    """The losses of recordings, and of runs of the playground by their labels; those of other models are left out.

    What a loss is worth depends on the task, so losses of several tasks share no axis.
    """
    layout = frame_of("Loss", x="step", y="loss", legend=len(runs) > 1, hue=LOSS)
    traces = [
        bound({"name": label or "{name}", "role": run}, Past("loss", run, alike=True)) for run, label in enumerate(runs)
    ]
    traces += [bound(crosses_of(run, label or "this run"), Crosses("loss", run)) for run, label in enumerate(runs)]
    return figure_of(traces, layout, "no loss was recorded", axis="loss", line="line", hue=LOSS, reaches=1)


def recorded_map(title: str, track: str, run: int) -> Figure:
    """A vector of every row of a recording as colours over step and depth."""
    trace, layout = map_of(title, HUES[track], "RMS", y="layer")
    layout["margin"]["l"] = 130
    return figure_of([bound(trace, Map(track, run))], layout, line="map")


def recorded_values(title: str, run: int) -> Figure:
    """How the values of the signal are distributed at each site of a recording, in units of their RMS."""
    trace, layout = map_of(title, SIGNAL, "share", y="layer")
    layout["margin"]["l"] = 130
    layout["xaxis"] |= {
        "title": {"text": "value / RMS", "standoff": 4},
        "tickformat": "",
        "tickvals": [-4, -2, 0, 2, 4],
    }
    trace["hovertemplate"] = "%{text}, %{x} RMS: %{customdata:.4g}<extra></extra>"
    return figure_of([bound(trace | {"zmin": -4, "zmax": 0}, Bins("histogram", run, ends=BIN_ENDS_RMS))], layout)


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


def panels_of(runs: Sequence[str | None], names: Sequence[str] = ORDINALS) -> list[Panel]:
    """The panels of recordings (None) and of runs of the playground (their labels), from top to bottom.

    `names`: of the recordings, where there are several. Of more than two there are neither maps nor findings.
    """
    alone = len(runs) == 1
    few = [run for run, label in enumerate(runs) if label is None and len(runs) <= 2]
    panels: list[Panel] = [
        Headline(f"Verdict {run + 1}", run, label="" if alone else f"{label or names[run]}:")
        for run, label in enumerate(runs)
    ]
    for title, track in (("Signal by depth", "act_rms"), ("Gradient by depth", "grad_rms")):
        panels.append(Chart(title, span=HALF, figure=recorded_depth(title, Row, track, runs), height=HEIGHT))
    for run in few:
        for name, says in (("Findings", "findings"), ("Growth", "law"), ("Notes", "notes")):
            panels.append(Sentence(f"{name} {run + 1}", run, says=says))

    def chart(title: str, says: str, figure: Figure, span: int = HALF) -> Chart:
        return Chart(title, span=span, figure=figure, says=says if alone else "")

    weight, update = "Weight gradient by block", "Update to weight by block"
    changes = recorded_depth(update, AtFrame, "update_to_weight", runs, unit="change over weights")
    panels += [
        chart("Loss", "loss", recorded_loss(runs), COLUMNS),
        chart(weight, "weight", recorded_depth(weight, Row, "weight_grad_rms", runs)),
        chart(update, "update", changes),
    ]
    for run in few:
        which = "" if alone else f" of the {ORDINALS[run].lower()}"
        for what, track in (("Signal", "act_rms"), ("Gradient", "grad_rms")):
            title = f"{what} by layer and step{which}"
            panels.append(Chart(title, run, HALF, figure=recorded_map(title, track, run), height=TALL))
        title = f"Values by layer{which}"
        panels.append(Chart(title, run, HALF, figure=recorded_values(title, run), height=TALL, needs="bins"))
    return panels
