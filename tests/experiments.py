"""What the sources of an experiment give, without a trainer beside: as the worker computes it, or the script."""

import math
from functools import cache
from typing import Any

import numpy as np

from models.experiment import Computed, Source, Trained
from models.instruments import INSTRUMENTS
from models.service.questions import QUESTIONS
from models.spec import RunConfig
from models.training import Replays
from models.training import result_of as finished_work
from tests.export.test_script import numbers, printed_here
from tests.traces import finished, finished_seeds, kept

LAST = 20  # steps whose mean is a final loss
TRAINED = {"rel": 0.1, "abs": 0.02}  # training makes more of the last digit, in which two programs may differ


def value(source: Source) -> Any:
    """The numbers, the trace or traces, or the answer."""
    if isinstance(source, Computed):
        of, depth = getattr(source.numbers, "func", source.numbers), getattr(source.numbers, "args", ())
        return kept((of.__module__, of.__qualname__, depth), source.numbers)
    if isinstance(source, Trained):
        seeds = range(source.cfg.seed, source.cfg.seed + source.seeds)
        return finished(source.cfg) if source.seeds == 1 else finished_seeds(source.cfg, seeds)
    return kept((source.question.name, source.cfg.to_query(), sorted(source.args.items())), lambda: answer(source))


def answer(source: Source) -> Any:
    """What an instrument or a question says."""
    if source.question.name in QUESTIONS:
        return QUESTIONS[source.question.name](source.cfg, dict(source.args))
    return finished_work(INSTRUMENTS[source.question.name](Replays(), source.cfg, **source.args))


@cache
def trained(cfg: RunConfig) -> dict[str, Any]:
    """What the stand-alone script prints at every step."""
    return numbers(printed_here(cfg))


def last_loss(cfg: RunConfig) -> float:
    losses = trained(cfg)["loss"]
    return float(losses[-LAST:].astype(float).mean()) if np.isfinite(losses).all() else math.inf
