"""What the four runs have shown, in two sentences."""

from dataclasses import dataclass
from functools import cached_property

from components.shell.naming import chance
from models.insight import fate
from models.insight.outcome import LEARNS, outcome
from models.spec import RunConfig
from models.trace import Trace


@dataclass(frozen=True)
class Ended:
    """A finished run: its title, its configuration and its whole tape."""

    title: str
    cfg: RunConfig
    trace: Trace

    @cached_property
    def outcome(self) -> str:
        """One of OUTCOMES."""
        return outcome(self.trace, chance(self.cfg))

    @cached_property
    def fate(self) -> str:
        """What becomes of ten digits before training, one of FATES."""
        return fate.fate(self.trace.frames[0].picture)


def conclusion(neither: Ended, residual: Ended, norm: Ended, both: Ended) -> str:
    """Which of the four have learned, and what became of ten digits in each before that."""
    ends = (neither, residual, norm, both)
    learned = [end.title for end in ends if end.outcome == LEARNS]
    found = f"{len(learned)} of {len(ends)} learn" + (f": {'; '.join(learned)}" if learned else "")
    if learned == [both.title]:
        found = f"Only the net with both learns: {both.trace.frames[-1].held_out_accuracy:.0%} of unseen digits right"
    return (
        f"**{found}.** Before training, digits {neither.fate} with neither; with the residual alone they "
        f"{residual.fate}, with the norm alone they {norm.fate}, with both they {both.fate}."
    )
