"""Papers' numbers: as they are gathered, made up, and what is judged of them."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from components.player.experiment import lines_figure
from exhibits.instruments.surgery.answer import Lesions
from models.answers import SignalAtInit
from models.experiment import Finding
from models.papers.judging import HOLDS
from models.papers.papers import PAPERS
from models.spec import RunConfig
from models.trace import Trace
from models.training import SeedRuns
from tests.drawn import drawn
from tests.experiments import value

PLAIN = RunConfig(
    residual=False, norm="none", task="spiral", depth=2, width=8, layers_per_branch=1, activation="tanh", steps=60
)


@cache
def gathered(key: str) -> dict[str, Any]:
    return {name: value(source) for name, source in PAPERS[key].sources.items()}


def outcome(key: str, change: Callable[[dict[str, Any]], None] = lambda values: None) -> Finding:
    values = dict(gathered(key))
    change(values)
    return PAPERS[key].finding(values)


def comes_out(key: str, answer: str) -> None:
    """What is measured gives this verdict, and its figure has a line for everything that is compared."""
    said = outcome(key)
    assert said.answer == answer, said.condition
    assert (said.condition == "") == (said.answer == HOLDS)
    assert len({len(column) for column in said.table.values()}) == 1
    assert set(PAPERS[key].judge.numbers) <= set(PAPERS[key].judge.function(gathered(key)).numbers)
    assert said.lines is not None
    figure = drawn(lines_figure(said.lines))
    assert {trace["name"] for trace in figure["data"] if trace["mode"] != "markers"} >= set(said.lines.values)


def contradicted(key: str, changes: list[tuple[str, Callable[[dict[str, Any]], None]]]) -> None:
    """The numbers after each change give the verdict beside it."""
    for wanted, change in changes:
        other = outcome(key, change)
        assert other.answer == wanted, other.condition
        assert (other.condition == "") == (wanted == HOLDS)


def verdict(key: str, values: dict[str, Any]) -> str:
    assert set(values) == set(PAPERS[key].sources)
    said = PAPERS[key].finding(values)
    assert (said.condition == "") == (said.answer == HOLDS)
    return said.answer


@cache
def short(depth: int) -> Trace:
    runs = SeedRuns(RunConfig(depth=depth, width=16, batch=16, steps=25), [0])
    runs.advance(25)
    trace: Trace = runs.traces()[0]
    return trace


def ending(*losses: float) -> list[Trace]:
    return [replace(short(2), loss=np.full_like(short(2).loss, loss)) for loss in losses]


def learning(late: int) -> list[Trace]:
    """Ten losses that fall from 2 to 1 after so many of 25 steps."""
    return [replace(short(2), loss=np.where(np.arange(25) < late, 2.0, 1.0))] * 10


def fed(factor: float) -> SignalAtInit:
    """A signal of 30 layers that grows by this factor a layer, forward and back."""
    squares = np.tile(factor ** np.arange(31.0), (6, 1))
    return SignalAtInit(tuple(range(6)), squares, np.sqrt(squares[:, ::-1]), np.ones((6, 30)), np.ones((6, 30)))


def lesions(*accuracies: float, loss: float = 0.3) -> Lesions:
    """The intact net has an accuracy of 0.9 and a loss of 0.3."""
    left, losses = np.array(accuracies), np.full(len(accuracies), loss)
    return Lesions(0.3, 0.9, losses, left, losses, left)
