"""The moving charts: figures over depth and steps with bindings, which the browser fills with numbers."""

from collections.abc import Sequence
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
from components.charts.depth import Series, cosine_figure, fixed_line, guessing_level, lines_over_places
from components.charts.parts import places
from models.insight.baseline import loss_of_guessing
from models.spec import RunConfig
from models.spec.plan import uses_batch_statistics

THIN_NOTE = " (thin lines: before training)"  # in titles
HUES = RECORDED_HUES | {"branch_rms": SIGNAL, "sample_cosine": SIGNAL, "loss": LOSS, "held_out_loss": LOSS}


def profile(title: str, track: str, sites: Sequence[str], *, others: Sequence[Series] = ()) -> Figure:
    """A vector of the row at the playhead over depth, on a log axis; `others` are fixed, for comparison."""
    lines = [*_fixed_lines(others), _line(STEP, "now", Row(track))]
    return lines_over_places(title, "RMS", HUES[track], sites, lines, x="block", axis="log")


def cosine(sites: Sequence[str], *, others: Sequence[Series] = (), title: str = "Sample cosine by depth") -> Figure:
    """The cosine between samples over depth, of the last frame at or before the playhead."""
    return cosine_figure(sites, [*_fixed_lines(others), _line(STEP, "now", AtFrame("sample_cosine"))], title)


def loss(cfg: RunConfig, *, run: int = 0) -> Figure:
    """The training loss up to the furthest step seen, the held-out loss at the frames, and crosses at divergences.

    With a batch norm the held-out loss is drawn in both modes.
    """
    guessing = loss_of_guessing(cfg.task)
    layout = layout_of("Loss", x="step", y="cross-entropy", hue=LOSS)
    layout["xaxis"] |= {"range": [0, cfg.steps]}
    traces = [
        _line("training", 0, Past("loss", run)),
        _line("held-out", "held-out", Frames("held_out_loss", run)),
        _line("diverged", "now", Crosses("loss", run)),
    ]
    if uses_batch_statistics(cfg):
        traces.append(_line("by batch", "formula", Frames("train_mode_loss", run)))
    guess: dict[str, Any] = {"chance": guessing, "guides": [guessing], "levels": guessing_level(cfg.task)}
    return figure_of(traces, layout, hue=LOSS, axis="loss", line="line", **guess)


def player_loss(cfg: RunConfig) -> Figure:
    """The loss behind the player's slider, without a title."""
    figure = loss(cfg)
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
    layout["bind"] |= {"empty": " "}  # no note: the step beside it says so
    return figure


def step_map(title: str, track: str, sites: Sequence[str], steps: int) -> Figure:
    """A vector of every row so far as colours over depth and steps."""
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
    """A vector of several runs over depth: the median of their seeds as a line, their range as a band.

    `sites` of the deepest net. `against`: as a ratio to the first run. `start`: also the nets before training, thin.
    """
    unit = "RMS, ratio to A" if against else "RMS"
    options: dict[str, Any] = {"fold": _fold(seeds), "against": 0 if against else None}
    lines = [_line(label, run, Row(track, run, **options)) for run, label in enumerate(labels)]
    if start:
        title += THIN_NOTE
        lines += [_thin_line(label, run, Row(track, run, first=True)) for run, label in enumerate(labels)]
    return lines_over_places(title, unit, HUES[track], sites, lines, x="block", axis="log")


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
    """The ratio of two vectors of several runs over depth, on a linear axis; `lines`: a label and a role per run.

    `entries`: `start` and `every` of `Row`, for a chart of some entries only.
    """
    traces = [_line(label, role, Row(track, run, over=over, **entries)) for run, (label, role) in enumerate(lines)]
    return lines_over_places(title, unit, HUES[track], sites, traces, x="block", axis="linear", guides=[0.0])


def losses(
    labels: Sequence[str],
    *,
    steps: int,
    task: str,
    seeds: int = 1,
    against: bool = False,
    held_out: bool = False,
) -> Figure:
    """The losses of several runs, with crosses at divergences; `against`: minus the loss of the first run.

    The loss of guessing in `task` is a level. `held_out`: the losses of the held-out split, at the frames.
    """
    guessing = loss_of_guessing(task)
    top = 1.6 * guessing
    title = "Held-out loss" if held_out else "Loss"
    layout = layout_of(title, x="step", y="loss minus A's" if against else "cross-entropy", hue=LOSS)
    layout["xaxis"] |= {"range": [0, steps]}
    layout["yaxis"] |= {"range": [-top, top] if against else [0, top]}
    options: dict[str, Any] = {"fold": _fold(seeds), "against": 0 if against else None}
    traces = [
        _line(label, run, Frames("held_out_loss", run, **options) if held_out else Past("loss", run, **options))
        for run, label in enumerate(labels)
    ]
    traces += [
        with_binding(crosses_of(run, label), Crosses("loss", run, seed))
        for run, label in enumerate(labels)
        for seed in range(seeds)
    ]
    levels = [] if against else guessing_level(task)
    return figure_of(
        traces, layout, hue=LOSS, line="line", top=top, guides=[0.0 if against else guessing], levels=levels
    )


def cosines(sites: Sequence[str], labels: Sequence[str], *, start: bool = False) -> Figure:
    """The cosine between samples of several runs over depth, of the last frame at or before the playhead.

    `sites` of the deepest net. `start`: also the nets before training, as thin lines.
    """
    title = "Sample cosine by depth"
    lines = [_line(label, run, AtFrame("sample_cosine", run)) for run, label in enumerate(labels)]
    if start:
        title += THIN_NOTE
        lines += [_thin_line(label, run, AtFrame("sample_cosine", run, first=True)) for run, label in enumerate(labels)]
    return cosine_figure(sites, lines, title)


def _line(name: str, role: str | int, binding: Binding) -> dict[str, Any]:
    """A bound line in the style of its role, or of its run's number."""
    return with_binding({"name": name, "role": role}, binding)


def _thin_line(label: str, run: int, binding: Binding) -> dict[str, Any]:
    """The line of a run before training, without markers and not in the legend."""
    return _line(f"{label}, step 0", run, binding) | {"thin": True}


def _fold(seeds: int) -> str:
    return "median" if seeds > 1 else ""


def _fixed_lines(others: Sequence[Series]) -> list[dict[str, Any]]:
    return [fixed_line(series, previous=series.role == "previous") for series in others]
