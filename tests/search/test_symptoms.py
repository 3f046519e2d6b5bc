"""Symptoms: each net shows its own, trained here, and its remedy takes it away; each leads to an instrument that fits."""

from collections.abc import Callable, Iterator
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest

from components.instruments import INSTRUMENTS
from components.player.view import View
from components.search import index
from components.search.index import Findable
from models.experiment import QUESTIONS, Answered
from models.insight.baseline import loss_of_guessing
from models.insight.outcome import final_loss
from models.spec import RunConfig
from models.spec.query import slug
from models.trace import Trace
from models.training import Run
from tests.experiments import value


def symptoms() -> Iterator[Findable]:
    return (entry for entry in index._index()[""].entries if entry.kind == "symptom")


def trained(cfg: RunConfig, steps: int = 0) -> Trace:
    run = Run(cfg)
    run.advance(steps or cfg.steps)
    return run.trace()


def shallow_is_better(cfg: RunConfig, trace: Trace) -> bool:
    shallow = RunConfig(**vars(cfg) | {"depth": 1, "overrides": ()})
    return final_loss(trace) > 2 * final_loss(trained(shallow))


def spikes(cfg: RunConfig, trace: Trace) -> bool:
    return bool(trace.grad_norm.max() > 10 * np.median(trace.grad_norm))


def evaluates_worse(cfg: RunConfig, trace: Trace) -> bool:
    """The same held-out samples, by running averages and by statistics of batches as large as in training."""
    frame = trace.frames[-1]
    return bool(frame.held_out_loss > 1.5 * frame.train_mode_loss)


def is_stuck(cfg: RunConfig, trace: Trace) -> bool:
    return abs(final_loss(trace) - loss_of_guessing(cfg.task)) < 0.05


def is_collapsed(cfg: RunConfig, trace: Trace) -> bool:
    return bool(value(Answered(QUESTIONS["collapse"], cfg, {"step": 0})).cosine[-1] > 0.99)


SHOWS: dict[str, tuple[Callable[[RunConfig, Trace], bool], int]] = {  # the bound, and steps where not all are needed
    "The loss is NaN": (lambda cfg, trace: trace.divergence is not None, 0),
    "Two layers are worse than one": (shallow_is_better, 0),
    "grad_norm spikes": (spikes, 0),
    "Eval is worse than train": (evaluates_worse, 0),
    "The loss is stuck at ln(classes)": (is_stuck, 0),
    "All tokens look alike": (is_collapsed, 1),
}


def nets(entry: Findable) -> list[RunConfig]:
    """The net that shows it, the same as the comparison's first, and the healthy one."""
    shown = dict(parse_qsl(urlsplit(entry.href).query))
    compared = dict(parse_qsl(urlsplit(entry.remedy).query, keep_blank_values=True))
    sick, *columns = (
        RunConfig.from_query(fields) for fields in (shown, *(dict(parse_qsl(compared[letter])) for letter in "ab"))
    )
    assert sick == columns[0]
    assert [notes for _, notes in columns] == [[], []]
    return [sick[0], columns[1][0]]


def test_every_symptom_has_its_bound() -> None:
    assert {entry.title for entry in symptoms()} == set(SHOWS)


@pytest.mark.full
@pytest.mark.parametrize("title", SHOWS)
def test_the_net_shows_it_and_the_remedy_helps(title: str) -> None:
    (entry,) = (entry for entry in symptoms() if entry.title == title)
    shows, steps = SHOWS[title]
    sick, healthy = nets(entry)
    trace = trained(sick, steps)
    assert shows(sick, trace)
    assert not shows(healthy, trained(healthy, steps))
    asked = dict(parse_qsl(urlsplit(entry.href).query))["instrument"]
    (instrument,) = (one for name, one in INSTRUMENTS.items() if slug(name) == asked)
    assert not instrument.unfit(View(sick, trace, len(trace) - 1))
