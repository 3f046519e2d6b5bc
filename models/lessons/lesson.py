"""What a lesson is: a question, guesses, nets to train, what
their numbers say, why, a challenge and the code that did it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from models.lessons.challenges import Challenge
from models.spec import RunConfig
from models.trace import Trace


@dataclass(frozen=True)
class Finding:
    """What finished runs say: which option of the lesson the numbers bear out, and the sentence with these numbers."""

    answer: str
    sentence: str


@dataclass(frozen=True)
class Code:
    """Where the code stands that did it: a file of the repository
    and the class or function in it, as "Class.method".
    """

    path: str
    name: str


@dataclass(frozen=True)
class Lesson:
    """One lesson; `nets` by the name they have on the page, one
    to four of them; `charts` are keys of the page's charts.

    `found` takes the traces of the finished runs in the order of `nets` and decides which option they bear out.
    `sources` are arXiv numbers, or other addresses, by the name of the paper.
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
