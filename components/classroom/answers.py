"""What the nets of a question have shown to be right."""

from components.stage.view import look
from models.insight.fate import fate
from models.lessons.lesson import Finding, Lesson
from models.lessons.lessons import LESSONS
from models.lessons.stops import OF_START
from models.service.client import trainer


def finding(lesson: Lesson, *, trained: bool = True) -> Finding | None:
    """What a lesson's nets show once they are `trained`, or before if its question is about that; None until then."""
    nets = list(lesson.nets.values())
    tapes = [trainer().tape(cfg) for cfg in nets]
    if trained and all(tape.done for tape in tapes):
        return lesson.found([trace for tape in tapes for trace in tape.traces()])
    if lesson.before is None:
        return None
    views = [view for cfg in nets if (view := look(cfg)[0])]
    return lesson.before([view.trace for view in views]) if len(views) == len(nets) else None


def right(question: str) -> str:
    """The option that is right at a key of QUESTIONS; empty until it is known."""
    if question in LESSONS:
        found = finding(LESSONS[question])
        return found.answer if found else ""
    view, _ = look(OF_START[question].net)
    return fate(view.trace.frames[0].picture) if view and view.trace.frames else ""
