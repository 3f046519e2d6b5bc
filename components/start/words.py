"""What the four runs have shown, in two sentences."""

from dataclasses import dataclass
from functools import cached_property

from components.shell.naming import chance
from models.content import Texts, phrase
from models.insight import path_outcome
from models.insight.outcome import LEARNS, outcome
from models.spec import RunConfig
from models.trace import Trace

TEXTS = Texts("start")


@dataclass(frozen=True)
class Ended:
    """A finished run: its title, its configuration and its whole log."""

    title: str
    cfg: RunConfig
    trace: Trace

    @cached_property
    def outcome(self) -> str:
        """One of OUTCOMES."""
        return outcome(self.trace, chance(self.cfg))

    @cached_property
    def path_outcome(self) -> str:
        """What becomes of ten digits before training, one of PATH_OUTCOMES."""
        return path_outcome.path_outcome(self.trace.frames[0].picture)


def conclusion(neither: Ended, residual: Ended, norm: Ended, both: Ended) -> str:
    """Which of the four have learned, and what became of ten digits in each before that."""
    ends = (neither, residual, norm, both)
    learned = [end.title for end in ends if end.outcome == LEARNS]
    if learned == [both.title]:
        sentence = TEXTS("only both", share=both.trace.frames[-1].held_out_accuracy)
    elif learned:
        sentence = TEXTS("some learn", count=len(learned), nets=len(ends), titles="; ".join(learned))
    else:
        sentence = TEXTS("none learns", count=0, nets=len(ends))
    outcomes = {"neither": neither, "residual": residual, "norm": norm, "both": both}
    return TEXTS("conclusion", learned=sentence, **{name: phrase(end.path_outcome) for name, end in outcomes.items()})
