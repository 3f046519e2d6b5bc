"""The moving charts: figures over depth and steps with bindings, whose numbers the browser fills in."""

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
from components.charts.depth import Series, cosines_over, fixed_line, guessing_level, over_places
from components.charts.parts import places
from models.insight.baseline import loss_of_guessing
from models.spec import RunConfig
from models.spec.plan import normed_over_batch

THIN = " (thin lines: before training)"  # of a title: the nets before training are thin lines
HUES = RECORDED_HUES | {"branch_rms": SIGNAL, "sample_cosine": SIGNAL, "loss": LOSS, "held_out_loss": LOSS}


def profile(title: str, track: str, sites: Sequence[str], *, others: Sequence[Series] = ()) -> Figure:
    """A vector of the row at the playhead over depth, on a log axis; `others` stand still, to compare with."""
    now = _line(STEP, "now", Row(track))
    return over_places(title, "RMS", HUES[track], sites, [*_beside(others), now], x="block", axis="log")


def cosine(sites: Sequence[str], *, others: Sequence[Series] = (), title: str = "Sample cosine by depth") -> Figure:
    """The cosine between samples over depth, of the last frame at or before the playhead."""
    return cosines_over(sites, [*_beside(others), _line(STEP, "now", AtFrame("sample_cosine"))], title)


def loss(cfg: RunConfig, *, run: int = 0) -> Figure:
    """The training loss up to the furthest step seen, the held-out loss at the frames, crosses where it diverged.

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
    if normed_over_batch(cfg):
        traces.append(_line("by batch", "formula", Frames("train_mode_loss", run)))
    how: dict[str, Any] = {"chance": guessing, "guides": [guessing], "levels": guessing_level(cfg.task)}
    return figure_of(traces, layout, hue=LOSS, axis="loss", line="line", **how)


def in_player(cfg: RunConfig) -> Figure:
    """The loss in the player: without title."""
    figure = loss(cfg)
    layout = figure["layout"]
    del layout["title"], layout["bind"]["line"]  # the slider's handle is that line
    layout |= {"margin": {"l": 50, "r": 60, "t": 16, "b": 18}}
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
    return figure


def step_map(title: str, track: str, sites: Sequence[str], steps: int) -> Figure:
    """A vector of every row so far, as colours over depth and over all steps of the run."""
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

    `against`: divided by that of the first run. `start`: with the nets before training as thin lines. `sites`: those of
    the deepest net.
    """
    unit = "RMS, ratio to A" if against else "RMS"
    how: dict[str, Any] = {"fold": _fold(seeds), "against": 0 if against else None}
    lines = [_line(label, run, Row(track, run, **how)) for run, label in enumerate(labels)]
    if start:
        title += THIN
        lines += [_thin(label, run, Row(track, run, first=True)) for run, label in enumerate(labels)]
    return over_places(title, unit, HUES[track], sites, lines, x="block", axis="log")


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

    `entries`: `start` and `every` of `Row`, where it is of some entries alone.
    """
    traces = [_line(label, role, Row(track, run, over=over, **entries)) for run, (label, role) in enumerate(lines)]
    return over_places(title, unit, HUES[track], sites, traces, x="block", axis="linear", guides=[0.0])


def losses(
    labels: Sequence[str],
    *,
    steps: int,
    task: str,
    seeds: int = 1,
    against: bool = False,
    held_out: bool = False,
) -> Figure:
    """The losses of several runs, with crosses where they diverged; `against`: minus that of the first run.

    `task`: whose loss of guessing is a level. `held_out`: the losses of the held-out split, at the frames.
    """
    guessing = loss_of_guessing(task)
    top = 1.6 * guessing
    title = "Held-out loss" if held_out else "Loss"
    layout = layout_of(title, x="step", y="loss minus A's" if against else "cross-entropy", hue=LOSS)
    layout["xaxis"] |= {"range": [0, steps]}
    layout["yaxis"] |= {"range": [-top, top] if against else [0, top]}
    of, track = (Frames, "held_out_loss") if held_out else (Past, "loss")
    how: dict[str, Any] = {"fold": _fold(seeds), "against": 0 if against else None}
    traces = [_line(label, run, of(track, run, **how)) for run, label in enumerate(labels)]
    traces += [
        with_binding(crosses_of(run, label), Crosses("loss", run, seed))
        for run, label in enumerate(labels)
        for seed in range(seeds)
    ]
    how = {"guides": [0.0 if against else guessing], "levels": [] if against else guessing_level(task)}
    return figure_of(traces, layout, hue=LOSS, line="line", top=top, **how)


def cosines(sites: Sequence[str], labels: Sequence[str], *, start: bool = False) -> Figure:
    """The cosine between samples of several runs over depth, of the last frame at or before the playhead.

    `sites`: those of the deepest net; `start`: with the nets before training as thin lines.
    """
    title = "Sample cosine by depth"
    lines = [_line(label, run, AtFrame("sample_cosine", run)) for run, label in enumerate(labels)]
    if start:
        title += THIN
        lines += [_thin(label, run, AtFrame("sample_cosine", run, first=True)) for run, label in enumerate(labels)]
    return cosines_over(sites, lines, title)


def _line(name: str, role: str | int, binding: Binding) -> dict[str, Any]:
    """A line in the look of its role, or of its run among several."""
    return with_binding({"name": name, "role": role}, binding)


def _thin(label: str, run: int, binding: Binding) -> dict[str, Any]:
    """The thin line of a run before training, without markers and not in the legend."""
    return _line(f"{label}, step 0", run, binding) | {"thin": True}


def _fold(seeds: int) -> str:
    return "median" if seeds > 1 else ""


def _beside(others: Sequence[Series]) -> list[dict[str, Any]]:
    """The lines that stand still; a net of another depth has as many sites of its own."""
    return [fixed_line(one, previous=one.role == "previous") for one in others]
