"""Instruments: measurements of a net at one step of its run, with torch.

An instrument takes the replays, a configuration and plain arguments. It yields the share of its work that is done, and
returns the answer class that its question names. Those of one exhibit are in its `measure.py`, imported when asked.
"""

from collections.abc import Callable, Generator
from typing import Any

from models.answers import Question
from models.exhibits import part, questions
from models.instruments.covariate import covariate_shift
from models.instruments.generation import continuation, refinement, replacement, revision
from models.instruments.lens import lens
from models.instruments.signal import signal
from models.instruments.trial import trial
from models.instruments.update import update
from models.spec import RunConfig
from models.training import Replays, Snapshot, Work, chain

Instrument = Callable[..., Work[Any]]


def on_snapshot(measure: Callable[..., Any]) -> Instrument:
    """Makes an instrument of a measurement of one snapshot: `step` selects it, other arguments go to `measure`."""

    def instrument(replays: Replays, cfg: RunConfig, *, step: int, **args: Any) -> Work[Any]:
        def measure_snapshot(snapshot: Snapshot) -> Work[Any]:
            result = measure(snapshot, **args)
            return (yield from result) if isinstance(result, Generator) else result

        return (yield from chain(replays.snapshot(cfg, min(max(0, int(step)), cfg.steps)), measure_snapshot))

    return instrument


INSTRUMENTS: dict[str, Instrument] = {
    "signal": signal,
    "lens": on_snapshot(lens),
    "continuation": on_snapshot(continuation),
    "revision": on_snapshot(revision),
    "replacement": on_snapshot(replacement),
    "refinement": on_snapshot(refinement),
    "trial": trial,
    "update": update,
    "covariate shift": covariate_shift,
}


def _of_exhibit(question: Question[Any], kind: str, name: str) -> Instrument:
    """The instrument in a folder of `exhibits/` that answers a question."""

    def instrument(replays: Replays, cfg: RunConfig, **args: Any) -> Work[Any]:
        return (yield from part(kind, name, "measure").MEASURES[question](replays, cfg, **args))

    return instrument


INSTRUMENTS |= {
    question.name: _of_exhibit(question, *exhibit) for question, exhibit in questions().items() if not question.of_torch
}
