"""What the four runs have shown, in sentences filled with their numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from components.shell.naming import chance
from models.insight.outcome import BLOWS_UP, LEARNS, STAYS, because, fault, outcome, share, through, times
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
    def why(self) -> str:
        """The reason, in one line."""
        return because(self.trace, chance(self.cfg))

    @property
    def growth(self) -> str:
        """How much larger the signal leaves than it entered, as part of a sentence."""
        return f"the signal leaves {times(through(self.trace)[0])} as large"

    @property
    def left(self) -> str:
        """How much of the signal is left after all blocks."""
        return share(through(self.trace)[0])

    @property
    def fault(self) -> str:
        """Why it has not learned, as part of a sentence."""
        return fault(self.trace, chance(self.cfg))


def conclusion(both: Ended, norm: Ended, residual: Ended, neither: Ended) -> str:
    """What the four have shown, in two sentences."""
    ends = (both, norm, residual, neither)
    accuracy = f"{both.trace.frames[-1].held_out_accuracy:.0%} of unseen digits right"
    if [end.outcome for end in ends] == [LEARNS, STAYS, BLOWS_UP, STAYS]:
        return (
            f"**Only the net with both learns: {accuracy}.** At this depth and initialisation, with the residual alone "
            f"{residual.growth}; with the norm alone it keeps its size, but {norm.fault}; with neither, {neither.left} "
            "of it is left."
        )
    return (
        f"**{_counted(ends)}.** "
        + "; ".join(f"{end.title}: {end.fault}" for end in ends if end.outcome != LEARNS)
        + "."
    )


def _counted(ends: Sequence[Ended]) -> str:
    learned = [end.title for end in ends if end.outcome == LEARNS]
    return f"{len(learned)} of {len(ends)} learn" + (f": {'; '.join(learned)}" if learned else "")
