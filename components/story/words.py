"""The text of the story's scenes: two sentences each, filled with the numbers of their runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from components.shell.naming import chance
from components.stage.view import View
from models.insight.baseline import LEARNT
from models.insight.fate import growth
from models.insight.outcome import BLOWS_UP, LEARNS, final_loss, outcome, share, times
from models.insight.words import number
from models.service.client import WantedLog
from models.spec import RunConfig
from models.trace import Frame, Trace


@dataclass(frozen=True)
class Seen:
    """What the server has of a run: the net before training, and its tape."""

    cfg: RunConfig
    view: View | None
    tape: WantedLog

    @property
    def before(self) -> Trace | None:
        """The net before training."""
        return self.view.trace if self.view else None

    @property
    def growth(self) -> float | None:
        """How much larger ten digits leave the net before training than they enter it, as their picture says."""
        return growth(self.before.frames[0].picture) if self.before and self.before.frames else None

    @property
    def cosine(self) -> str:
        """The mean cosine between ten digits after the last block before training; empty until it is known."""
        before = self.before
        return f"{before.frames[0].picture['ten_cosine'][-1]:.2f}" if before and before.frames else ""

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
    shallow, fades, grows, merges, levels = seen[:5]
    return [
        ("A digit enters a block", _enters(shallow, digit)),
        (f"{fades.cfg.depth} plain blocks: the digits vanish", _fades(fades)),
        ("Add alone: they fly out", _grows(grows)),
        ("Norm alone: they merge", _merges(merges)),
        ("Add and norm: they stay distinct", _levels(levels, merges, shallow)),
        (
            "Break it yourself",
            "Drag the depth, take the residual or the norm away, and train: where does it stop learning?",
        ),
    ]


def _enters(seen: Seen, digit: int) -> str:
    size = seen.cfg.width
    first = f"A handwritten {digit} enters as {size} numbers, x. The block's layers, F, turn them into {size} new ones."
    return f"{first} A net of {seen.cfg.depth} such blocks learns to recognise {_right(seen) or 'digits'}."


def _fades(seen: Seen) -> str:
    first = "Ten digits pass through: the closer to the centre, the smaller the signal."
    if seen.growth is None:
        return first
    depth = seen.cfg.depth
    return (
        f"{first} Before training each block keeps about {seen.growth ** (1 / depth):.1%} of it; after {depth}, "
        f"{share(seen.growth)} is left: too little to learn from."
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
    second += f" (mean cosine {seen.cosine})" if seen.cosine else ""
    if seen.whole and seen.last:
        does = "learns" if outcome(seen.whole, chance(seen.cfg)) == LEARNS else "does not learn"
        second += f", and the net {does}: after {seen.cfg.steps} steps it recognises {_right(seen)}"
    return f"{first} {second}."


def _levels(seen: Seen, merged: Seen, shallow: Seen) -> str:
    first = "Both: x + F(norm(x))."
    if not (seen.whole and seen.last):
        if not (seen.cosine and merged.cosine):
            return f"{first} Each block adds to what it carries, later ones ever less: watch the loss."
        alike = f"mean cosine {seen.cosine}, with the norm alone {merged.cosine}"
        return f"{first} The ten stay distinct ({alike}): watch the loss."
    learns = "learns" if outcome(seen.whole, chance(seen.cfg)) == LEARNS else "does not learn"
    second = f"This net {learns}: after {seen.cfg.steps} steps it recognises {_right(seen)}"
    if shallow.last:
        second += (
            f". {shallow.cfg.depth} plain blocks recognise {shallow.last.held_out_accuracy:.0%}: digits this small do "
            "not need depth; add and norm make depth possible"
        )
    return f"{first} {second}."


def after(seen: Seen) -> str:
    """What became of the reader's own net in training; empty until its run is over."""
    if not seen.whole:
        return ""
    if seen.whole.divergence:
        return f"In training its numbers overflow at step {seen.whole.divergence.step}."
    guessing, loss, became = chance(seen.cfg), final_loss(seen.whole), outcome(seen.whole, chance(seen.cfg))
    if became == LEARNS:
        return f"After training, this net has learned: its loss is {number(loss, 2)}; chance is {guessing:.2f}."
    if became == BLOWS_UP:
        return f"After training, this net is lost: its loss is {number(loss)}, worse than chance ({guessing:.2f})."
    near = f"not below {LEARNT:.0%} of chance" if loss < guessing else "no better than chance"
    return f"After training, this net is stuck: its loss is {loss:.2f}, {near} ({guessing:.2f})."


def _right(seen: Seen) -> str:
    """What a finished run recognises, once it is known."""
    return f"{seen.last.held_out_accuracy:.0%} of unseen digits" if seen.last else ""
