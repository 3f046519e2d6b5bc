"""A card of Common errors: a claim, the truth, what is measured, and how the numbers judge the claim."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from models.answers import OF_TORCH, SIGNAL, Question, SignalAtInit
from models.insight.formula import geometric_mean
from models.insight.words import number
from models.spec import RunConfig

HOLDS, FAILS, PARTLY = "the claim holds", "the claim fails", "the claim holds only"
TOPICS = ("norms", "batch norm", "placement", "skip", "initialisation", "attention", "training", "reading charts")


def topic_in_words(topic: str) -> str:
    """A topic's name, which holds another word in addresses."""
    return "residual" if topic == "skip" else topic


@dataclass(frozen=True)
class Computed:
    """Numbers computed by numpy, by a function of `models.claims.numbers`."""

    numbers: Callable[[], dict[str, Any]]


@dataclass(frozen=True)
class Asked:
    """The trainer's answer to a question about a net, with arguments."""

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
    """Values over depth, (S,) by name, for a log axis."""

    title: str
    unit: str
    values: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Judgement:
    """What the numbers say: HOLDS, FAILS or PARTLY, a sentence, a table by column, a condition ("if ..."), a chart."""

    verdict: str
    sentence: str
    table: Mapping[str, Any]
    condition: str = ""
    lines: Lines | None = None


@dataclass(frozen=True)
class Card:
    """One common claim.

    `setup` says what Run does; `needs` names the sources whose values `judge` takes by the same names. `sources`:
    address by name. `badge`: measured, or formula where neither a net nor random numbers are involved.
    """

    key: str
    topic: str
    claim: str
    truth: str
    sources: Mapping[str, str]
    setup: str
    needs: Mapping[str, Source]
    judge: Callable[[Values], Judgement]
    badge: str = "measured"

    @property
    def nets(self) -> dict[str, RunConfig]:
        """The nets involved, by name; none where the card needs only numbers or torch's own layers."""
        found: dict[str, RunConfig] = {}
        for name, one in self.needs.items():
            of_net = isinstance(one, Trained) or (isinstance(one, Asked) and one.question not in OF_TORCH)
            if of_net and not isinstance(one, Computed) and one.cfg not in found.values():
                found[name] = one.cfg
        return found


def verdict(fates: Sequence[bool]) -> str:
    """HOLDS if a claim holds in all cases tried, FAILS if in none, else PARTLY."""
    return HOLDS if all(fates) else PARTLY if any(fates) else FAILS


def untrained(cfg: RunConfig) -> Asked:
    """Signal and gradient of a net before training, over six seeds."""
    return Asked(SIGNAL, cfg, {"step": 0})


def in_words(found: Mapping[str, float]) -> str:
    """Numbers by name, as text: "no residual: 0.25; residual: 1.5"; one that is not finite has diverged."""
    return "; ".join(
        f"{name}: {number(one)}" if np.isfinite(one) else f"{name}: diverged" for name, one in found.items()
    )


def arxiv(**papers: str) -> dict[str, str]:
    """Addresses by name, from arXiv numbers; underscores in names become spaces."""
    return {name.replace("_", " "): f"https://arxiv.org/abs/{number}" for name, number in papers.items()}


def growth(signal: SignalAtInit) -> float:
    """The stream's mean square at its end over that at its start, mean over seeds."""
    square = geometric_mean(signal.mean_square)
    return float(square[-1] / square[0])


def gradient(signal: SignalAtInit) -> float:
    """The gradient at the stream's start over that at its end, mean over seeds."""
    norm = geometric_mean(signal.grad_norm)
    return float(norm[0] / norm[-1])


def size_lines(signals: Mapping[str, SignalAtInit]) -> Lines:
    """The mean square of the stream over depth, by net."""
    return Lines(
        "Mean square of the stream",
        "mean square",
        {name: geometric_mean(one.mean_square) for name, one in signals.items()},
    )


def gradient_lines(signals: Mapping[str, SignalAtInit]) -> Lines:
    """The gradient over that at the stream's end, by net."""
    return Lines("Gradient over its end", "ratio", {name: lengths(one) for name, one in signals.items()})


def lengths(signal: SignalAtInit) -> np.ndarray:
    """The gradient over that at the stream's end (S,), mean over seeds."""
    norm = geometric_mean(signal.grad_norm)
    return np.asarray(norm / norm[-1])
