"""What the sources of an experiment give, without a trainer beside: as the worker computes it."""

from typing import Any

from models.experiment import Computed, Source, Trained
from models.instruments import INSTRUMENTS
from models.service.questions import QUESTIONS
from models.training import Replays
from models.training import result_of as finished_work
from tests.traces import finished, finished_seeds, kept


def value(source: Source) -> Any:
    """The numbers, the trace or traces, or the answer."""
    if isinstance(source, Computed):
        return source.numbers()
    if isinstance(source, Trained):
        return finished(source.cfg) if source.seeds == 1 else finished_seeds(source.cfg, range(source.seeds))
    return kept((source.question.name, source.cfg.to_query(), sorted(source.args.items())), lambda: answer(source))


def answer(source: Source) -> Any:
    """What an instrument or a question says."""
    if source.question.name in QUESTIONS:
        return QUESTIONS[source.question.name](source.cfg, dict(source.args))
    return finished_work(INSTRUMENTS[source.question.name](Replays(), source.cfg, **source.args))
