"""An experiment on a page: its sources ask numpy and the trainer, and its finding becomes charts and a table."""

from typing import Any

from components.charts.colour import GRADIENT, LOSS, SIGNAL
from components.charts.depth import by_name, depth_profile
from components.charts.maps import plane
from components.charts.parts import Figure
from components.player.answer import Reply, answer
from components.player.view import sentence
from components.shell.static_chart import static_chart
from components.shell.text import named_table, number
from components.shell.visitor import owner
from models.experiment import Asked, Computed, Experiment, Finding, Lines, Source, Trained
from models.service.client import Requester, trainer
from models.spec.plan import block_name

ROLES = ("now", "other", "formula", "initial")
HUES = {"Gradient": GRADIENT, "Loss": LOSS}  # by the first word of a chart's title; the others have that of the signal
PLANE_HEIGHT = 340


def gathered(experiment: Experiment, name: str) -> tuple[bool, dict[str, Any] | None]:
    """Whether a source still works, which is drawn as progress, and all values once they are there.

    Without either, a source was refused, and the reason stands there.
    """
    trained = [source for source in experiment.sources.values() if isinstance(source, Trained)]
    who = owner(name, *(source.cfg for source in trained), seeds=trained[0].seeds if trained else 1)
    who = who._replace(screen=f"{name} {experiment.key}")  # opening another one cancels this one's requests
    replies = {part: gather(source, who._replace(part=part)) for part, source in experiment.sources.items()}
    refusal = next((f"{part}: {reply.refusal}" for part, reply in replies.items() if reply.refusal), "")
    running = not refusal and any(reply.waiting for reply in replies.values())
    if running or refusal:
        done = sum(reply.share if reply.waiting else 1.0 for reply in replies.values()) / len(replies)
        Reply(refusal=refusal, share=done).show("Running")
        return running, None
    return False, {part: reply.value for part, reply in replies.items()}


def gather(source: Source, who: Requester) -> Reply[Any]:
    """What a source gives, or how far it is."""
    if isinstance(source, Computed):
        return Reply(source.value())
    if isinstance(source, Asked):
        return answer(source.question, source.cfg, owner=who, **source.args)
    log = trainer().request_rows(source.cfg, source.cfg.steps, seeds=source.seeds, owner=who)
    if log.error:
        return Reply(refusal=sentence(log.error))
    if not log.done:
        return Reply(share=log.length / source.cfg.steps)
    return Reply(log.trace() if source.seeds == 1 else log.traces())


def draw(outcome: Finding, title: str, key: str) -> None:
    """The outcome's charts, if it has any, and its numbers under a title."""
    if outcome.lines is not None:
        static_chart(chart(outcome.lines), outcome.lines.title, f"{key}_lines")
    if outcome.plane is not None:
        static_chart(plane(outcome.plane), outcome.plane.title, f"{key}_plane", PLANE_HEIGHT)
    cells = {
        name: [one if isinstance(one, str) else number(float(one)) for one in column]
        for name, column in outcome.table.items()
    }
    named_table(title, cells)


def chart(lines: Lines) -> Figure:
    """The lines of an outcome over depth, or over its own places."""
    longest = max(len(one) for one in lines.values.values())
    sites = lines.places or ("x0", *(block_name(at) for at in range(1, longest)))
    return depth_profile(
        title=lines.title,
        unit=lines.unit,
        hue=HUES.get(lines.title.split()[0], SIGNAL),
        sites=sites,
        series=by_name(lines.values, ROLES),
        axis=lines.axis,
        x=lines.x or None,
        guides=lines.guides,
    )
