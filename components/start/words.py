"""The conclusion from Start's four runs, in two sentences."""

from dataclasses import dataclass
from functools import cached_property

from components.shell.naming import guessing_loss
from models.content import Texts, phrase
from models.insight import path_outcome
from models.insight.outcome import LEARNS, outcome
from models.spec import RunConfig
from models.trace import Trace

TEXTS = Texts("start")


@dataclass(frozen=True)
class FinishedRun:
    """A finished run of one of the four nets."""

    title: str
    cfg: RunConfig
    trace: Trace

    @cached_property
    def outcome(self) -> str:
        """One of OUTCOMES."""
        return outcome(self.trace, guessing_loss(self.cfg))

    @cached_property
    def path_outcome(self) -> str:
        """What becomes of ten digits before training, one of PATH_OUTCOMES."""
        return path_outcome.path_outcome(self.trace.frames[0].picture)


def conclusion(neither: FinishedRun, residual: FinishedRun, norm: FinishedRun, both: FinishedRun) -> str:
    """Which of the four nets have learned, and what became of ten digits in each before training."""
    runs = {"neither": neither, "residual": residual, "norm": norm, "both": both}
    learned = [run.title for run in runs.values() if run.outcome == LEARNS]
    if learned == [both.title]:
        sentence = TEXTS("only both", share=both.trace.frames[-1].held_out_accuracy)
    elif learned:
        sentence = TEXTS("some learn", count=len(learned), nets=len(runs), titles="; ".join(learned))
    else:
        sentence = TEXTS("none learns", count=0, nets=len(runs))
    return TEXTS("conclusion", learned=sentence, **{name: phrase(run.path_outcome) for name, run in runs.items()})
