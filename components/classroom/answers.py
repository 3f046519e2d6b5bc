"""Right options of a class's questions, read from what the nets show."""

from components.player import experiment
from components.player.view import view_at, views_at
from models.claims.claims import CLAIMS
from models.claims.judging import GUESSES
from models.experiment import Finding
from models.insight.path_outcome import path_outcome
from models.lessons.lessons import LESSONS, Lesson
from models.lessons.questions import OwnQuestion
from models.lessons.stops import OutcomePoll, claim_of, poll_of
from models.service.client import trainer


def finding(lesson: Lesson, *, trained: bool = True) -> Finding | None:
    """Finding of a lesson's nets, or None while they show nothing yet.

    It reads the trained nets once all have finished. Before that, or without `trained`, it reads the untrained nets,
    if the lesson's question is about them.
    """
    logs = {name: trainer().log(cfg) for name, cfg in lesson.nets.items()}
    if trained and all(log.done for log in logs.values()):
        return lesson.finding({name: log.trace() for name, log in logs.items()})
    if not lesson.early_text:
        return None
    views = views_at(list(lesson.nets.values()))
    traces = {name: view.trace for name, (view, _) in zip(lesson.nets, views, strict=True) if view}
    return lesson.finding(traces, trained=False) if len(traces) == len(logs) else None


def right_option(question: str) -> str:
    """Right option of a question; empty until the nets show it, and of a teacher's own question that has none."""
    poll = poll_of(question)
    if isinstance(poll, OwnQuestion):
        return poll.right
    if isinstance(poll, OutcomePoll):
        view, _ = view_at(poll.net)
        return path_outcome(view.trace.frames[0].picture) if view and view.trace.frames else ""
    if question in LESSONS:
        measured = finding(LESSONS[question])
        return measured.answer if measured else ""
    claim = CLAIMS[claim_of(question)]
    _, values = experiment.gather(claim, "claim")
    return option_of(claim.finding(values)) if values is not None else ""


def option_of(finding: Finding | None) -> str:
    """The option of a claim's question that a finding bears out; empty without one."""
    return next((option for option, verdict in GUESSES.items() if finding and verdict == finding.answer), "")
