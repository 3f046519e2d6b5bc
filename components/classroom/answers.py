"""Right options of a class's questions, read from what the nets show."""

from components.player.view import view_at
from models.experiment import Finding
from models.insight.path_outcome import path_outcome
from models.lessons.lessons import LESSONS, Lesson
from models.lessons.stops import START_POLLS
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
    views = {name: view_at(cfg)[0] for name, cfg in lesson.nets.items()}
    traces = {name: view.trace for name, view in views.items() if view}
    return lesson.finding(traces, trained=False) if len(traces) == len(logs) else None


def right_option(question: str) -> str:
    """Right option of a question, a key of QUESTIONS; empty until the nets show it."""
    if question in LESSONS:
        measured = finding(LESSONS[question])
        return measured.answer if measured else ""
    view, _ = view_at(START_POLLS[question].net)
    return path_outcome(view.trace.frames[0].picture) if view and view.trace.frames else ""
