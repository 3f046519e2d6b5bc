"""An experiment on a page: values from numpy and the trainer, and the charts and table of its finding."""

from itertools import pairwise
from typing import Any

import numpy as np

from components.charts.colour import GRADIENT, LOSS, SIGNAL
from components.charts.depth import depth_profile, named_series
from components.charts.maps import plane_figure
from components.charts.parts import Figure
from components.player.answer import WAIT_SECONDS, Reply, answer
from components.player.view import as_sentence
from components.shell.static_chart import static_chart
from components.shell.text import named_table, number
from components.shell.visitor import owner
from models.experiment import Answered, Computed, Experiment, Finding, Lines, Source, Trained
from models.service.client import Requester, trainer
from models.spec.plan import block_name

ROLES = ("now", "other", "formula", "initial", "held-out")
HUES = {"Gradient": GRADIENT, "Loss": LOSS}  # by the first word of a chart's title; SIGNAL for other words
PLANE_HEIGHT = 340  # pixels
MEETING = 0.1  # relative distance between the ends of two lines that meet there


def source_values(experiment: Experiment, name: str) -> tuple[bool, dict[str, Any] | None]:
    """Whether a source is still at work, and the values by source once all have arrived.

    Draws the progress, or the refusal of a source: then it returns (False, None).
    """
    progress, values = gather(experiment, name)
    if values is None:
        progress.show("Running")
    return progress.is_waiting, values


def gather(experiment: Experiment, name: str) -> tuple[Reply[Any], dict[str, Any] | None]:
    """How far the sources are, or a refusal of one, and the values by source once all have arrived; draws nothing."""
    trained = [source for source in experiment.sources.values() if isinstance(source, Trained)]
    requester = owner(name, *(source.cfg for source in trained), seeds=trained[0].seeds if trained else 1)
    requester = requester._replace(screen=f"{name} {experiment.key}")  # another experiment cancels these requests
    replies: dict[str, Reply[Any]] = {}
    for part, source in experiment.sources.items():
        is_waiting = any(reply.is_waiting for reply in replies.values())
        wait = 0.0 if is_waiting else WAIT_SECONDS  # a card may have a hundred sources
        replies[part] = _source_reply(source, requester._replace(part=part), wait)
    refusal = next((f"{part}: {reply.refusal}" for part, reply in replies.items() if reply.refusal), "")
    is_running = not refusal and any(reply.is_waiting for reply in replies.values())
    if is_running or refusal:
        done = sum(reply.share if reply.is_waiting else 1.0 for reply in replies.values()) / len(replies)
        return Reply(refusal=refusal, share=done), None
    values = {part: reply.value for part, reply in replies.items()}
    return Reply(values), values


def _source_reply(source: Source, requester: Requester, wait: float) -> Reply[Any]:
    if isinstance(source, Computed):
        return Reply(source.value())
    if isinstance(source, Answered):
        return answer(source.question, source.cfg, owner=requester, wait=wait, **source.args)
    log = trainer().request_rows(source.cfg, source.cfg.steps, seeds=source.seeds, owner=requester)
    if log.error:
        return Reply(refusal=as_sentence(log.error))
    if not log.done:
        return Reply(share=log.length / source.cfg.steps)
    return Reply(log.trace() if source.seeds == 1 else log.traces())


def draw_finding(finding: Finding, title: str, key: str) -> None:
    """Draws the charts of a finding, if it has any, and its numbers as a table with a title."""
    if finding.lines is not None:
        static_chart(lines_figure(finding.lines), finding.lines.title, f"{key}_lines")
    if finding.plane is not None:
        static_chart(plane_figure(finding.plane), finding.plane.title, f"{key}_plane", PLANE_HEIGHT)
    cells = {
        name: [value if isinstance(value, str) else number(float(value)) for value in column]
        for name, column in finding.table.items()
    }
    named_table(title, cells)


def lines_figure(lines: Lines) -> Figure:
    """The lines of a finding over depth, or over its own places."""
    longest = max(len(values) for values in lines.values.values())
    ends = sorted(float(values[-1]) for values in lines.values.values())
    meet = any(np.isclose(first, second, rtol=MEETING) for first, second in pairwise(ends))
    sites = lines.places or ("x0", *(block_name(block) for block in range(1, longest)))
    return depth_profile(
        title=lines.title,
        unit=lines.unit,
        hue=HUES.get(lines.title.split()[0], SIGNAL),
        sites=sites,
        series=named_series(lines.values, ROLES),
        axis=lines.axis,
        x=lines.x or None,
        guides=lines.guides,
        legend=meet,  # names at the ends would be stacked where lines meet
    )
