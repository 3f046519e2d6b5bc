"""The text of the story's scenes: two sentences each, filled with the numbers of their runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from components.shell.naming import chance
from components.stage.view import View
from models.insight.fate import growth
from models.insight.outcome import LEARNS, by_block, final_loss, outcome, share, times
from models.service.client import RunHistory
from models.spec import RunConfig
from models.trace import Frame, Trace


@dataclass(frozen=True)
class Seen:
    """What the server has of a run: the net before training, and its tape."""

    cfg: RunConfig
    view: View | None
    tape: RunHistory

    @property
    def before(self) -> Trace | None:
        """The net before training."""
        return self.view.trace if self.view else None

    @property
    def growth(self) -> float | None:
        """How much larger ten digits leave the net before training than they enter it, as their picture says."""
        return growth(self.before.frames[0].picture) if self.before and self.before.frames else None

    @property
    def whole(self) -> Trace | None:
        """The run once it is over."""
        trace = self.tape.trace() if self.tape.done else None
        return trace if trace is not None and len(trace) else None

    @property
    def last(self) -> Frame | None:
        """The last frame of a finished run."""
        return self.whole.frames[-1] if self.whole and self.whole.frames else None


def scenes(seen: Sequence[Seen], *, digit: int) -> list[tuple[str, str]]:
    """Title and text of each scene, in their order; a number that is still missing is left out of its sentence."""
    shallow, fades, grows, merges, levels, own = seen
    return [
        ("A digit enters a block", _enters(shallow, digit)),
        (f"{fades.cfg.depth} plain blocks: the digits vanish", _fades(fades)),
        ("Add alone: they fly out", _grows(grows)),
        ("Norm alone: they merge", _merges(merges)),
        ("Add and norm: they stay apart", _levels(levels, shallow)),
        ("Break it yourself", _own(own)),
    ]


def _enters(seen: Seen, digit: int) -> str:
    first = f"A handwritten {digit} enters as {seen.cfg.width} numbers x, of which the block's layers F make new ones."
    return f"{first} {seen.cfg.depth} such blocks learn to read {_right(seen) or 'digits'}."


def _fades(seen: Seen) -> str:
    first = "Ten digits pass through: the closer to the centre, the smaller the signal."
    if seen.growth is None:
        return first
    left = by_block(seen.growth, seen.cfg.depth)
    return (
        f"{first} Before training each block leaves about {left} of it, {seen.cfg.depth} leave {share(seen.growth)}: "
        "too little to learn from."
    )


def _grows(seen: Seen) -> str:
    first = "The residual carries x past the layers: x + F(x)."
    if seen.growth is None:
        return first
    second = f"Nothing fades, but the sum leaves {seen.cfg.depth} blocks {times(seen.growth)} as large"
    if seen.whole and seen.whole.divergence:
        second += f"; train it, and at step {seen.whole.divergence.step} the numbers overflow"
    return f"{first} {second}."


def _merges(seen: Seen) -> str:
    first = "A norm rescales what each block reads: F(norm(x))."
    second = "The size holds, but all ten end up pointing one way"
    if seen.whole and seen.last:
        does = "learns" if outcome(seen.whole, chance(seen.cfg)) == LEARNS else "does not learn"
        second += f", and the net {does}: after {seen.cfg.steps} steps it reads {_right(seen)}"
    return f"{first} {second}."


def _levels(seen: Seen, shallow: Seen) -> str:
    first = "Both: x + F(norm(x))."
    if not (seen.whole and seen.last):
        return f"{first} Every block adds a little to what it carries: watch the loss."
    learns = "learns" if outcome(seen.whole, chance(seen.cfg)) == LEARNS else "does not learn"
    second = f"This net {learns}: after {seen.cfg.steps} steps it reads {_right(seen)}"
    if shallow.last:
        second += (
            f". {shallow.cfg.depth} plain blocks read {shallow.last.held_out_accuracy:.0%}: digits this small need no "
            "depth, add and norm make it possible"
        )
    return f"{first} {second}."


def _own(seen: Seen) -> str:
    first = "Drag the depth, take the residual or the norm away, and train: where does it stop learning?"
    if not seen.whole:
        return first
    fate = seen.whole.divergence
    end = f"at step {fate.step} the numbers overflow" if fate else f"the loss ends at {final_loss(seen.whole):.2g}"
    return (
        f"{first} Trained, this net {outcome(seen.whole, chance(seen.cfg))}: {end}, chance is {chance(seen.cfg):.2f}."
    )


def _right(seen: Seen) -> str:
    """What a finished run reads, once it is known."""
    return f"{seen.last.held_out_accuracy:.0%} of unseen digits" if seen.last else ""
