"""The moving charts: figures over depth and steps with bindings, whose numbers the browser fills in."""

from collections.abc import Sequence
from typing import Any

from addnorm.player.charts import HUES as RECORDED_HUES
from addnorm.player.charts import STEP, crosses_of, frame_of, line_of
from components.charts.bindings import AtFrame, Crosses, Frames, Map, Past, Ratio, Row, bound, fixed_trace, with_axis
from components.charts.colour import LOSS, RED, SIGNAL, colour_scale
from components.charts.depth import Series, over_depth
from components.charts.parts import (
    Figure,
    colour_bar,
    level,
    note,
    scatter,
    site_names,
    site_ticks,
)
from models.insight.baseline import loss_of_guessing
from models.spec import RunConfig

THIN = " (thin lines: before training)"  # of a title: the nets before training are thin lines
HUES = RECORDED_HUES | {"branch_rms": SIGNAL, "sample_cosine": SIGNAL, "loss": LOSS, "held_out_loss": LOSS}


def profile(
    title: str, track: str, sites: Sequence[str], *, others: Sequence[Series] = (), run: int = 0, unit: str = "RMS"
) -> Figure:
    """A vector of the row at the playhead over depth, on a log axis; `others` stand still, to compare with."""
    hue = HUES[track]
    now = bound(over_depth(STEP, sites, len(sites), "now", hue), Row(track, run))
    return with_axis(_over_blocks(title, unit, sites, [*_beside(others, sites, hue), now], hue), y="log")


def cosine(
    sites: Sequence[str], *, others: Sequence[Series] = (), run: int = 0, title: str = "Sample cosine by depth"
) -> Figure:
    """The cosine between samples over depth, of the last frame at or before the playhead."""
    now = bound(over_depth(STEP, sites, len(sites), "now", SIGNAL), AtFrame("sample_cosine", run))
    return _held_cosines(sites, [*_beside(others, sites, SIGNAL), now], title)


def loss(cfg: RunConfig, *, run: int = 0) -> Figure:
    """The training loss up to the furthest step seen, the held-out loss at the frames, crosses where it diverged."""
    guessing = loss_of_guessing(cfg.task)
    layout = frame_of("Loss", x="step", y="cross-entropy", hue=LOSS)
    layout["xaxis"] |= {"range": [0, cfg.steps]}
    layout["shapes"] = [level(y=guessing, dash="dot")]
    layout["annotations"] = [note("chance", x=1, xref="paper", y=guessing, xanchor="right", yanchor="bottom")]
    training = scatter("training", [], [], LOSS) | {
        "hovertemplate": "step %{x}: %{customdata:.4g}<extra>training</extra>"
    }
    held_out = scatter("held-out", [], [], LOSS, mode="lines+markers", dash="dash", symbol="diamond")
    crosses = scatter("diverged", [], [], RED, mode="markers", symbol="x")
    traces = [
        bound(_empty(training), Past("loss", run)),
        bound(_empty(held_out), Frames("held_out_loss", run)),
        bound(crosses | {"hovertemplate": "step %{x}: %{customdata}<extra>diverged</extra>"}, Crosses("loss", run)),
    ]
    return with_axis({"data": traces, "layout": layout}, y="loss", line="line", chance=guessing)


def in_player(cfg: RunConfig) -> Figure:
    """The loss in the player: without title, its legend in the corner above the plot."""
    figure = loss(cfg)
    layout = figure["layout"]
    legend = "  ".join(
        f'<span style="color:{colour}">{sign}</span> {name}'
        for sign, name, colour in (("━", "training", LOSS), ("╍◆", "held-out", LOSS))
    )
    del layout["title"]
    layout |= {"margin": {"l": 36, "r": 60, "t": 16, "b": 18}, "showlegend": False}
    # Who takes the slider a little beside its handle would stretch the axes instead.
    layout["xaxis"] |= {"title": {"text": ""}, "fixedrange": True}
    # Ticks that are not seen keep the numbers clear of the playhead's dot.
    layout["yaxis"] |= {
        "title": {"text": ""},
        "fixedrange": True,
        "nticks": 3,
        "ticks": "outside",
        "ticklen": 6,
        "tickcolor": "#0000",
    }
    layout["bind"] |= {"empty": " "}  # the step beside it says so
    layout["annotations"] += [note(legend, x=0, xref="paper", y=1, yref="paper", xanchor="left", yanchor="bottom")]
    return figure


def step_map(title: str, track: str, sites: Sequence[str], steps: int, *, run: int = 0, unit: str = "RMS") -> Figure:
    """A vector of every row so far, as colours over depth and over all steps of the run."""
    layout = frame_of(title, x="step", y="block", legend=False, hue=HUES[track])
    layout["yaxis"] |= {"type": "category", "ticks": "", **site_ticks(sites, names=True)}
    layout["xaxis"] |= {"tickformat": "d", "ticks": "", "range": [0, steps]}
    layout["margin"]["t"] = 44
    trace = {
        "type": "heatmap",
        "name": title,
        "x": [],
        "y": site_names(sites, len(sites)),
        "hovertemplate": "%{y}, step %{x}: %{customdata:.4g}<extra></extra>",
        "hoverongaps": False,
        "colorscale": colour_scale(HUES[track]),
        "colorbar": colour_bar(unit),
    }
    return with_axis({"data": [bound(trace, Map(track, run))], "layout": layout}, line="map")


def profiles(
    title: str,
    track: str,
    sites: Sequence[str],
    labels: Sequence[str],
    *,
    seeds: int = 1,
    against: bool = False,
    start: bool = False,
) -> Figure:
    """A vector of several runs over depth: the median of their seeds as a line, their range as a band.

    `against`: divided by that of the first run. `start`: with the nets before training as thin lines. `sites`: those of
    the deepest net.
    """
    hue, unit = HUES[track], "RMS, ratio to A" if against else "RMS"
    places = {"text": site_names(sites, len(sites))}
    traces = [
        _at_places(trace, places)
        for run, label in enumerate(labels)
        for trace in _band(run, label, Row, track, seeds=seeds, against=against, markers=True)
    ]
    if start:
        title += THIN
        thin = [_at_places(_thin(run, label, hue), places) for run, label in enumerate(labels)]
        traces += [bound(line, Row(track, run, first=True)) for run, line in enumerate(thin)]
    return with_axis(_over_blocks(title, unit, sites, traces, hue), y="log")


def ratios(
    title: str, track: str, over: str, sites: Sequence[str], lines: Sequence[tuple[str, str]], *, unit: str
) -> Figure:
    """The ratio of two vectors of several runs over depth, on a linear axis; `lines`: a label and a role per run."""
    traces = [
        bound(over_depth(label, sites, len(sites), role, HUES[track]), Ratio(track, run, over=over))
        for run, (label, role) in enumerate(lines)
    ]
    figure = _over_blocks(title, unit, sites, traces, HUES[track], log=False)
    figure["layout"]["shapes"] = [level(y=0, dash="dot")]
    return with_axis(figure, y="linear")


def losses(
    labels: Sequence[str],
    *,
    steps: int,
    chance: float,
    seeds: int = 1,
    against: bool = False,
    held_out: bool = False,
) -> Figure:
    """The losses of several runs, with crosses where they diverged; `against`: minus that of the first run.

    `held_out`: the losses of the held-out split, at the frames.
    """
    top = 1.6 * chance
    title = "Held-out loss" if held_out else "Loss"
    layout = frame_of(title, x="step", y="loss minus A's" if against else "cross-entropy", hue=LOSS)
    layout["xaxis"] |= {"range": [0, steps]}
    layout["yaxis"] |= {"range": [-top, top] if against else [0, top]}
    layout["shapes"] = [level(y=0.0 if against else chance, dash="dot")]
    traces = [
        trace
        for run, label in enumerate(labels)
        for trace in (
            _band(run, label, Frames, "held_out_loss", seeds=seeds, against=against, markers=True)
            if held_out
            else _band(run, label, Past, "loss", seeds=seeds, against=against, markers=False)
        )
    ]
    traces += [
        bound(crosses_of(run, label), Crosses("loss", run, seed))
        for run, label in enumerate(labels)
        for seed in range(seeds)
    ]
    return with_axis({"data": traces, "layout": layout}, line="line", top=top)


def cosines(sites: Sequence[str], labels: Sequence[str], *, start: bool = False) -> Figure:
    """The cosine between samples of several runs over depth, of the last frame at or before the playhead.

    `sites`: those of the deepest net; `start`: with the nets before training as thin lines.
    """
    title = "Sample cosine by depth"
    places = {"x": list(range(len(sites))), "text": site_names(sites, len(sites)), "connectgaps": False}
    lines = [_at_places(line_of(run, label, SIGNAL), places) for run, label in enumerate(labels)]
    traces = [bound(line, AtFrame("sample_cosine", run)) for run, line in enumerate(lines)]
    if start:
        title += THIN
        thin = [_at_places(_thin(run, label, SIGNAL), places) for run, label in enumerate(labels)]
        traces += [bound(line, AtFrame("sample_cosine", run, first=True)) for run, line in enumerate(thin)]
    return _held_cosines(sites, traces, title)


def _held_cosines(sites: Sequence[str], traces: list[dict[str, Any]], title: str) -> Figure:
    figure = _over_blocks(title, "cosine", sites, traces, SIGNAL, log=False)
    figure["layout"]["yaxis"] |= {"type": "linear", "dtick": 0.25}
    figure["layout"]["shapes"] = [level(y=1.0, dash="dot")]
    return with_axis(figure, y="cosine")


def _band(
    run: int,
    label: str,
    of: type[Row] | type[Past] | type[Frames],
    track: str,
    *,
    seeds: int,
    against: bool,
    markers: bool,
) -> list[dict[str, Any]]:
    """The line of a run, over a band where there are several seeds."""
    base, line = (
        0 if against else None,
        line_of(run, label, HUES[track]) | {"mode": "lines+markers" if markers else "lines"},
    )
    if seeds == 1:
        return [bound(line, of(track, run, against=base))]
    edge = {"type": "scatter", "mode": "lines", "line": {"width": 0}, "showlegend": False, "hoverinfo": "skip"}
    lower = bound(edge | {"name": f"{label}, lowest seed"}, of(track, run, fold="least", against=base))
    filled = {"name": f"{label}, highest seed", "fill": "tonexty", "fillcolor": f"{line['line']['color']}33"}
    upper = bound(edge | filled, of(track, run, fold="greatest", against=base))
    return [lower, upper, bound(line, of(track, run, fold="median", against=base))]


def _thin(run: int, label: str, hue: str) -> dict[str, Any]:
    """The thin line of a run before training, without markers and not in the legend."""
    line = line_of(run, f"{label}, step 0", hue)
    return line | {"mode": "lines", "line": line["line"] | {"width": 1}, "opacity": 0.7, "showlegend": False}


def _at_places(trace: dict[str, Any], places: dict[str, Any]) -> dict[str, Any]:
    """The line of a run over depth, whose hover names the place."""
    if trace.get("hoverinfo") == "skip":
        return trace
    return trace | places | {"hovertemplate": trace["hovertemplate"].replace("%{x}", "%{text}")}


def _beside(others: Sequence[Series], sites: Sequence[str], hue: str) -> list[dict[str, Any]]:
    """The lines that stand still; a net of another depth has as many sites of its own."""
    return [
        fixed_trace(over_depth(one.name, sites, len(one.values), one.role, hue), one.values, ghost=one.role == "ghost")
        for one in others
    ]


def _over_blocks(
    title: str, unit: str, sites: Sequence[str], traces: list[dict[str, Any]], hue: str, *, log: bool = True
) -> Figure:
    layout = frame_of(title, x="block", y=unit, ticks=site_ticks(sites), hue=hue)
    if log:
        layout["yaxis"] |= {"type": "log"}
    return {"data": traces, "layout": layout}


def _empty(trace: dict[str, Any]) -> dict[str, Any]:
    """A trace without its numbers, which the browser fills in."""
    return {key: value for key, value in trace.items() if key not in ("x", "y")}
