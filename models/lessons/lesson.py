"""A lesson: a question, guesses, nets to train, what their numbers say, why, a challenge, and the code behind it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from models.lessons.challenges import Challenge
from models.spec import RunConfig
from models.trace import Trace


@dataclass(frozen=True)
class Finding:
    """The option of a lesson that the finished runs confirm, and the sentence with their numbers."""

    answer: str
    sentence: str


@dataclass(frozen=True)
class Code:
    """The code behind a lesson: a file of the repository, and a class or function in it, as "Class.method"."""

    path: str
    name: str


@dataclass(frozen=True)
class Lesson:
    """One lesson, with one to four `nets` by their names on the page; `charts` are keys of the page's charts.

    `finding` takes the traces of the finished runs, in the order of `nets`, and returns the option they confirm.
    `sources`: arXiv numbers or addresses, by the name of the paper.
    """

    key: str
    title: str
    question: str
    options: tuple[str, ...]
    nets: Mapping[str, RunConfig]
    charts: tuple[str, ...]
    finding: Callable[[Sequence[Trace]], Finding]
    why: str
    sources: Mapping[str, str]
    code: Code
    challenge: Challenge
