"""The parts of a lesson: question, options, nets to train, finding, explanation, challenge and code."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from models.lessons.challenges import Challenge
from models.spec import RunConfig
from models.trace import Trace


@dataclass(frozen=True)
class Finding:
    """What the finished runs show: the option that was right, and a sentence with the numbers."""

    answer: str
    sentence: str


@dataclass(frozen=True)
class Code:
    """The code that a lesson is about: a file of the repository and a class or function in it, as "Class.method"."""

    path: str
    name: str


@dataclass(frozen=True)
class Lesson:
    """One lesson: one to four `nets` by their name on the page; `charts` are keys of the page's charts,
    first the one that answers.

    `found` takes the traces of the finished runs in the order of `nets` and decides which option is right. `before`,
    where the question is about the nets before training, decides it from row 0 alone. `sources` are addresses by the
    name of the paper.
    """

    key: str
    title: str
    question: str
    options: tuple[str, ...]
    nets: Mapping[str, RunConfig]
    charts: tuple[str, ...]
    found: Callable[[Sequence[Trace]], Finding]
    why: str
    sources: Mapping[str, str]
    code: Code
    challenge: Challenge
    before: Callable[[Sequence[Trace]], Finding] | None = None
