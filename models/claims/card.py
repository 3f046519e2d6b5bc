"""Cards of common errors: a claim, the truth, what is measured, and how the numbers decide between the two."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from models.answers import OF_TORCH, Question, Signal
from models.insight.formula import middle
from models.spec import RunConfig

HOLDS, FAILS, PARTLY = "the claim holds", "the claim fails", "the claim holds only if"
TOPICS = ("norms", "batch norm", "placement", "skip", "initialisation", "attention", "training", "reading charts")


@dataclass(frozen=True)
class Computed:
    """Numbers that numpy computes here, by their key in `numbers`."""

    name: str


@dataclass(frozen=True)
class Asked:
    """An answer of the trainer to a question about a net, with arguments."""

    question: Question[Any]
    cfg: RunConfig = field(default_factory=RunConfig)
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Trained:
    """The finished tape of a run."""

    cfg: RunConfig


Source = Computed | Asked | Trained
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Lines:
    """A chart of values over depth, (S,) each by name, on a log axis."""

    title: str
    unit: str
    values: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Outcome:
    """What the numbers say: one of HOLDS, FAILS, PARTLY, a sentence, a table by column, a condition, a chart."""

    verdict: str
    sentence: str
    table: Mapping[str, Any]
    condition: str = ""
    lines: Lines | None = None


@dataclass(frozen=True)
class Card:
    """One claim that is often made.

    `setup` says what the button Run does. `needs` names what is gathered, and `judge` takes it under these names.
    `sources`: addresses by name. `badge`: "measured", or "formula" if neither a net nor a random draw is involved.
    """

    key: str
    topic: str
    claim: str
    truth: str
    sources: Mapping[str, str]
    setup: str
    needs: Mapping[str, Source]
    judge: Callable[[Values], Outcome]
    badge: str = "measured"

    @property
    def nets(self) -> dict[str, RunConfig]:
        """The nets involved, by name; none if only numbers or torch's own layers are."""
        nets: dict[str, RunConfig] = {}
        for name, need in self.needs.items():
            of_net = isinstance(need, Trained) or (isinstance(need, Asked) and need.question not in OF_TORCH)
            if of_net and not isinstance(need, Computed) and need.cfg not in nets.values():
                nets[name] = need.cfg
        return nets


def verdict(fates: Sequence[bool]) -> str:
    """HOLDS if a claim holds in every case, FAILS if it holds in none, else PARTLY."""
    return HOLDS if all(fates) else PARTLY if any(fates) else FAILS


def arxiv(**papers: str) -> dict[str, str]:
    """Addresses by name, from arXiv numbers; an underscore in a name stands for a space."""
    return {name.replace("_", " "): f"https://arxiv.org/abs/{number}" for name, number in papers.items()}


def growth(signal: Signal) -> float:
    """The stream's mean square at the end over that at the start, as the geometric mean over seeds."""
    square = middle(signal.mean_square)
    return float(square[-1] / square[0])


def gradient(signal: Signal) -> float:
    """The gradient at the stream's start over that at its end, as the geometric mean over seeds."""
    norm = middle(signal.grad_norm)
    return float(norm[0] / norm[-1])


def lengths(signal: Signal) -> np.ndarray:
    """The gradient over that at the stream's end, (S,), as the geometric mean over seeds."""
    norm = middle(signal.grad_norm)
    return norm / norm[-1]
