"""The text of the story's scenes: two sentences each, filled with the numbers of their runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from components.shell.naming import chance
from components.stage.view import View
from models.insight.outcome import LEARNS, by_block, final_loss, likeness, outcome, share, through, times
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
        ("Add and norm: they stay apart", _levels(levels, shallow, digit)),
        ("Break it yourself", _own(own)),
    ]


def _enters(seen: Seen, digit: int) -> str:
    first = (
        f"A handwritten {digit} enters as {seen.cfg.width} numbers x, and the block's layers F make new ones of them"
    )
    if not seen.before:
        return f"{first}."
    signal, _ = through(seen.before)
    first += f": about {by_block(signal, seen.cfg.depth)} of the signal is left after each plain block"
    if not seen.last:
        return f"{first}. {seen.cfg.depth} of them learn to read digits all the same."
    right = f"{seen.last.held_out_accuracy:.0%} of unseen digits"
    return f"{first}. {seen.cfg.depth} of them learn to read {right} all the same."


def _fades(seen: Seen) -> str:
    first = (
        "Ten digits pass through all blocks: the closer to the centre, the smaller the signal; each column below is a "
        "block, its signal above the line, its gradient below"
    )
    if not seen.before:
        return f"{first}."
    signal, gradient = through(seen.before)
    return (
        f"{first}. {share(signal)} of the signal comes out, {share(gradient)} of the gradient comes back, and nothing "
        "can be learned from that."
    )


def _grows(seen: Seen) -> str:
    first = "The residual carries x past the layers, and the block adds what they make of it, x + F(x)"
    if not seen.before:
        return f"{first}."
    signal, _ = through(seen.before)
    first += f": nothing fades, but the sum leaves the {seen.cfg.depth} blocks {times(signal)} as large"
    second = f"The loss starts at {seen.before.loss[0]:.3g}, and chance is {chance(seen.cfg):.2f}"
    if seen.whole and seen.whole.divergence:
        second += f"; train it, and at step {seen.whole.divergence.step} the numbers overflow"
    return f"{first}. {second}."


def _merges(seen: Seen) -> str:
    first = "A norm rescales what each block reads, F(norm(x)), and no residual"
    if not seen.before:
        return f"{first}."
    signal, _ = through(seen.before)
    first += f": the size holds, {times(signal)} that of the input"
    second = f"But the digits run together: the cosine between any two becomes {likeness(seen.before):.2f}"
    if seen.whole and seen.last:
        does = "learns" if outcome(seen.whole, chance(seen.cfg)) == LEARNS else "does not learn"
        right = f"{seen.last.held_out_accuracy:.0%} of unseen digits"
        second += f", and the net {does}: it reads {right} after {seen.cfg.steps} steps"
    return f"{first}. {second}."


def _levels(seen: Seen, shallow: Seen, digit: int) -> str:
    first = "Both, x + F(norm(x)): every block adds a little to a stream that keeps what it carries"
    if not seen.before:
        return f"{first}."
    signal, gradient = through(seen.before)
    first += f": the signal leaves {times(signal)} as large, and the gradient comes back {times(gradient)} as large"
    if not (seen.whole and seen.last):
        return f"{first}. Every block gets a usable gradient: watch the loss."
    answer = seen.last.picture["ten_guess"][digit]
    learns = "learns" if outcome(seen.whole, chance(seen.cfg)) == LEARNS else "does not learn"
    read = f"reads {seen.last.held_out_accuracy:.0%} of unseen digits, and our {digit} as {answer}"
    if shallow.last:
        read += (
            f"; {shallow.cfg.depth} plain blocks read {shallow.last.held_out_accuracy:.0%}, since digits this small "
            "need no depth: add and norm make it possible"
        )
    return f"{first}. This net {learns}: after {seen.cfg.steps} steps it {read}."


def _own(seen: Seen) -> str:
    first = "Drag the depth, take the residual or the norm away, and train"
    if not seen.before:
        return f"{first}."
    signal, gradient = through(seen.before)
    first += (
        f": before training {_said('signal', 'leaves', signal)} in your net, and "
        f"{_said('gradient', 'comes back', gradient)}"
    )
    if not seen.whole:
        return f"{first}. Where does it stop learning?"
    became, fate, cost = (
        outcome(seen.whole, chance(seen.cfg)),
        seen.whole.divergence,
        f"chance is {chance(seen.cfg):.2f}",
    )
    how = (
        f"at step {fate.step} the numbers overflow"
        if fate
        else f"the loss is {final_loss(seen.whole):.2g} in the end, {cost}"
    )
    return f"{first}. Trained, it {became}: {how}."


def _said(what: str, does: str, factor: float) -> str:
    return f"{share(factor)} of the {what} {does}" if factor < 1 else f"the {what} {does} {times(factor)} as large"
