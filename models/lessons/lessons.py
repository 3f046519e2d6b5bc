"""The lessons, each building on those before, as `content/en/lessons/` has them."""

import re
from dataclasses import dataclass

from models.content import Content, Document
from models.experiment import ROOT, Experiment, all_is_said, links, net, parts, stated
from models.lessons import judges  # noqa: F401 (they decide)
from models.lessons.challenges import GOALS, Challenge

CHARTS = ("loss", "act_rms", "grad_rms", "sample_cosine")


@dataclass(frozen=True)
class Code:
    """The code that a lesson is about: a file of the repository and a class or function in it, as "Class.method"."""

    path: str
    name: str


@dataclass(frozen=True, kw_only=True)
class Lesson(Experiment):
    """An experiment on one to four nets; `charts` are keys of the page's charts, first the one that answers."""

    charts: tuple[str, ...]
    code: Code
    challenge: Challenge


def lesson(text: Document) -> Lesson:
    """A lesson from its file, or a fault."""
    stated(text)
    options = text.front.pop("options", ())
    path, _, name = text.take("code", str).partition(" ")
    made = Lesson(
        question=text.section("Question"),
        charts=tuple(text.take("charts", list)),
        code=Code(path, name),
        challenge=_challenge(text),
        **parts(text, options, says="What happened", early="Before training"),
    )
    text.end()
    for chart in set(made.charts) - set(CHARTS):
        raise text.fault(f"there is no chart “{chart}”; there is {', '.join(CHARTS)}", "charts")
    source = ROOT / path
    if not (source.is_file() and re.search(rf"(def|class) {name.rpartition('.')[2]}\b", source.read_text("utf-8"))):
        raise text.fault(f"{path} has no {name}", "code")
    learning = options.values() if isinstance(options, dict) else ()
    for name in {name for nets in learning for name in nets} - {*made.nets}:
        raise text.fault(f"there is no net “{name}”", name)
    links(text, made.question, made.challenge.text)
    return made


def _challenge(text: Document) -> Challenge:
    challenge = text.take("challenge", dict)
    goals = []
    for name, settings in challenge.pop("goals", {}).items():
        if name not in GOALS:
            raise text.fault(f"there is no goal “{name}”; there is {', '.join(GOALS)}", name)
        try:
            goals.append(GOALS[name](**settings))
        except TypeError as error:
            raise text.fault(str(error), name) from None
    base = net(text, challenge.pop("net", {}), "[challenge]")
    fields, limits = tuple(challenge.pop("change", ())), challenge.pop("limits", {})
    for name in challenge:
        raise text.fault(f"a challenge has no “{name}”", name)
    return Challenge(
        text.section("Challenge"), base, fields, tuple(goals), tuple((of, *ends) for of, ends in limits.items())
    )


def _lessons(texts: list[Document]) -> dict[str, Lesson]:
    lessons = {text.key: lesson(text) for text in texts}
    all_is_said(lessons.values())
    return lessons


LESSONS: Content[Lesson] = Content("lessons/*.md", _lessons)
