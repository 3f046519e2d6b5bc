"""Charts over depth and over steps whose bindings tell the browser which numbers of a run to draw."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from addnorm.player.charts import HUES as RECORDED_HUES
from addnorm.player.declare import (
    STEP,
    AtFrame,
    Binding,
    Crosses,
    Figure,
    Frames,
    Map,
    Past,
    Row,
    crosses_of,
    figure_of,
    layout_of,
    map_of,
    with_binding,
)
from components.charts.colour import LOSS, SIGNAL
from components.charts.depth import cosine_figure, guessing_level, lines_over_places
from components.charts.parts import places
from models.insight.baseline import loss_of_guessing
from models.spec import RunConfig
from models.spec.plan import has_dropout, uses_batch_statistics

THIN_NOTE = " (thin lines: before training)"  # at the end of a title
LOSS_RANGE_FACTOR = 1.6  # upper end of a loss axis, times the loss of guessing
Beside = Sequence[tuple[str, str]]  # name and role of each run beside that of a chart, counted from 1
HUES = RECORDED_HUES | {"branch_rms": SIGNAL, "sample_cosine": SIGNAL, "loss": LOSS, "held_out_loss": LOSS}


def profile(title: str, track: str, sites: Sequence[str], *, beside: Beside = ()) -> Figure:
    """Returns a chart of a track at the playhead over depth, on a log axis. `sites`: of the deepest net."""
    lines = _lines_at_step(beside, partial(Row, track))
    return lines_over_places(title=title, unit="RMS", hue=HUES[track], sites=sites, lines=lines, x="block", axis="log")


def cosine(sites: Sequence[str], *, beside: Beside = (), title: str = "Sample cosine by depth") -> Figure:
    """Returns a chart of the cosine between samples over depth, from the last frame at or before the playhead."""
    lines = _lines_at_step(beside, partial(AtFrame, "sample_cosine"))
    return cosine_figure(sites, lines, title)


def loss(cfg: RunConfig, *, run: int = 0, beside: Beside = ()) -> Figure:
    """Returns a chart of a run's losses over steps, with crosses at divergences.

    The training loss ends at the furthest step that the playhead has reached; the held-out loss has a point per frame.
    With a batch norm or dropout, the held-out loss is drawn in both modes.
    """
    guessing = loss_of_guessing(cfg.task)
    layout = layout_of("Loss", x="step", y="cross-entropy", hue=LOSS)
    layout["xaxis"] |= {"range": [0, cfg.steps]}
    traces = [_line(name, role, Past("loss", other)) for other, (name, role) in enumerate(beside, start=1)]
    traces += [
        _line("training", 0, Past("loss", run)),
        _line("held-out", "held-out", Frames("held_out_loss", run)),
        _line("diverged", "now", Crosses("loss", run)),
    ]
    if uses_batch_statistics(cfg) or has_dropout(cfg):
        traces.append(_line("in train mode", "formula", Frames("train_mode_loss", run)))
    return figure_of(
        traces,
        layout,
        hue=LOSS,
        axis="loss",
        line="line",
        chance=guessing,
        guides=[guessing],
        levels=guessing_level(cfg.task),
    )


def player_loss(cfg: RunConfig, beside: Beside = ()) -> Figure:
    """Returns the chart of the loss that lies behind the player's slider, without titles."""
    figure = loss(cfg, beside=beside)
    layout = figure["layout"]
    del layout["title"], layout["bind"]["line"]  # the slider's handle replaces the line at the step
    layout |= {"margin": {"l": 50, "r": 60, "t": 16, "b": 18}}
    # With a free range, a drag that misses the slider's handle would stretch the axes.
    layout["xaxis"] |= {"title": {"text": ""}, "fixedrange": True}
    # Transparent ticks keep the numbers clear of the playhead's dot.
    layout["yaxis"] |= {
        "title": {"text": ""},
        "fixedrange": True,
        "nticks": 3,
        "ticks": "outside",
        "ticklen": 6,
        "tickcolor": "#0000",
    }
    layout["bind"] |= {"empty": " "}  # no note: the step beside the slider shows that nothing has been measured
    return figure


def step_map(title: str, track: str, sites: Sequence[str], steps: int) -> Figure:
    """Returns a map of a track over depth and steps: a colour for each number so far."""
    trace, layout = map_of(title, HUES[track], "RMS", y="block")
    layout["xaxis"] |= {"range": [0, steps]}
    return figure_of([with_binding(trace, Map(track))], layout, line="map", rows=places(sites))


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
    """Returns a chart of a track of several runs over depth: the median of the seeds as a line, their range as a band.

    `sites` are those of the deepest net, `labels` the names of the runs. `against` divides by the first run. `start`
    adds thin lines for the nets before training.
    """
    unit = "RMS, ratio to A" if against else "RMS"
    options: dict[str, Any] = {"fold": _fold(seeds), "against": 0 if against else None}
    lines = [_line(label, run, Row(track, run, **options)) for run, label in enumerate(labels)]
    if start:
        title += THIN_NOTE
        lines += [_thin_line(label, run, Row(track, run, first=True)) for run, label in enumerate(labels)]
    return lines_over_places(title=title, unit=unit, hue=HUES[track], sites=sites, lines=lines, x="block", axis="log")


def ratios(
    title: str,
    track: str,
    over: str,
    sites: Sequence[str],
    lines: Sequence[tuple[str, str]],
    *,
    unit: str,
    **entries: Any,
) -> Figure:
    """Returns a chart of the ratio `track` / `over` of several runs over depth, on a linear axis.

    `lines` has a label and a role for each run. `entries` are `start` and `every` of `Row`, which select some entries.
    """
    traces = [_line(label, role, Row(track, run, over=over, **entries)) for run, (label, role) in enumerate(lines)]
    return lines_over_places(
        title=title, unit=unit, hue=HUES[track], sites=sites, lines=traces, x="block", axis="linear", guides=[0.0]
    )


def losses(
    labels: Sequence[str],
    *,
    steps: int,
    task: str,
    seeds: int = 1,
    against: bool = False,
    held_out: bool = False,
) -> Figure:
    """Returns a chart of the losses of several runs over steps, with crosses at divergences.

    `against` subtracts the loss of the first run; without it, the loss of guessing in `task` is drawn as a level.
    `held_out` shows the losses of the held-out split at the frames instead of the training losses.
    """
    guessing = loss_of_guessing(task)
    top = LOSS_RANGE_FACTOR * guessing
    title = "Held-out loss" if held_out else "Loss"
    layout = layout_of(title, x="step", y="loss minus A's" if against else "cross-entropy", hue=LOSS)
    layout["xaxis"] |= {"range": [0, steps]}
    layout["yaxis"] |= {"range": [-top, top] if against else [0, top]}
    options: dict[str, Any] = {"fold": _fold(seeds), "against": 0 if against else None}
    traces = []
    for run, label in enumerate(labels):
        binding = Frames("held_out_loss", run, **options) if held_out else Past("loss", run, **options)
        traces.append(_line(label, run, binding))
    traces += [
        with_binding(crosses_of(run, label), Crosses("loss", run, seed))
        for run, label in enumerate(labels)
        for seed in range(seeds)
    ]
    guide = 0.0 if against else guessing
    levels = [] if against else guessing_level(task)
    return figure_of(traces, layout, hue=LOSS, line="line", top=top, guides=[guide], levels=levels)


def cosines(sites: Sequence[str], labels: Sequence[str], *, start: bool = False) -> Figure:
    """Returns a chart of the cosine between samples of several runs over depth.

    It shows the last frame at or before the playhead. `sites` are those of the deepest net, `labels` the names of the
    runs. `start` adds thin lines for the nets before training.
    """
    title = "Sample cosine by depth"
    lines = [_line(label, run, AtFrame("sample_cosine", run)) for run, label in enumerate(labels)]
    if start:
        title += THIN_NOTE
        lines += [_thin_line(label, run, AtFrame("sample_cosine", run, first=True)) for run, label in enumerate(labels)]
    return cosine_figure(sites, lines, title)


def _line(name: str, role: str | int, binding: Binding) -> dict[str, Any]:
    """Returns a line with a binding. `role` sets its style: a role of style.js, or the number of its run."""
    return with_binding({"name": name, "role": role}, binding)


def _lines_at_step(beside: Beside, bind: Callable[[int], Binding]) -> list[dict[str, Any]]:
    """Returns the lines of the runs beside that of a chart, and over them its own, at the playhead."""
    lines = [_line(f"{name}, {STEP}", role, bind(run)) for run, (name, role) in enumerate(beside, start=1)]
    return [*lines, _line(STEP, "now", bind(0))]


def _thin_line(label: str, run: int, binding: Binding) -> dict[str, Any]:
    """Returns the thin line of a run before training, without markers and without an entry in the legend."""
    return _line(f"{label}, step 0", run, binding) | {"thin": True}


def _fold(seeds: int) -> str:
    """Returns how a binding combines the seeds of a run; empty for a single seed."""
    return "median" if seeds > 1 else ""
