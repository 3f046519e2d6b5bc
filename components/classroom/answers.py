"""What the nets of a question have shown to be right."""

from components.player.view import view_at
from models.experiment import Finding
from models.insight.path_outcome import path_outcome
from models.lessons.lessons import LESSONS, Lesson
from models.lessons.stops import OF_START
from models.service.client import trainer


def finding(lesson: Lesson, *, trained: bool = True) -> Finding | None:
    """What a lesson's nets show once they are `trained`, or before if its question is about that; None until then."""
    logs = {name: trainer().log(cfg) for name, cfg in lesson.nets.items()}
    if trained and all(log.done for log in logs.values()):
        return lesson.finding({name: log.trace() for name, log in logs.items()})
    if not lesson.early:
        return None
    views = {name: view.trace for name, cfg in lesson.nets.items() if (view := view_at(cfg)[0])}
    return lesson.finding(views, trained=False) if len(views) == len(logs) else None


def right(question: str) -> str:
    """The option that is right at a key of QUESTIONS; empty until it is known."""
    if question in LESSONS:
        measured = finding(LESSONS[question])
        return measured.answer if measured else ""
    view, _ = view_at(OF_START[question].net)
    return path_outcome(view.trace.frames[0].picture) if view and view.trace.frames else ""
