"""The text of the story's scenes: two sentences each, filled with the numbers of their runs."""

from dataclasses import dataclass

from components.shell.naming import chance
from components.stage.view import View
from models.insight.outcome import LEARNS, by_block, final_loss, outcome, share, through, times
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


def scenes(shallow: Seen, fades: Seen, grows: Seen, levels: Seen, own: Seen, *, digit: int) -> list[tuple[str, str]]:
    """Title and text of each scene; a number that is still missing is left out of its sentence."""
    return [
        ("The digit enters", _enters(shallow, digit)),
        (f"{fades.cfg.depth} plain blocks fade it", _fades(fades, shallow)),
        ("Add the residual: it blows up", _grows(grows)),
        ("Add the norm: it levels", _levels(levels, shallow, digit)),
        ("Break it yourself", _own(own)),
    ]


def _enters(seen: Seen, digit: int) -> str:
    first = f"A handwritten {digit} enters as 64 numbers"
    if seen.last:
        right = f"{seen.last.held_out_accuracy:.0%}"
        first += f", and {seen.cfg.depth} plain blocks learn to read {right} of unseen digits"
    else:
        first += f", and {seen.cfg.depth} plain blocks learn to read it"
    return (
        f"{first}. Each column is a block: above the line the size of the signal that leaves it, below the line the "
        "size of the gradient."
    )


def _fades(seen: Seen, shallow: Seen) -> str:
    first = f"Now {seen.cfg.depth} of these blocks instead of {shallow.cfg.depth}, each of which turns x into F(x)"
    if not seen.before:
        return f"{first}."
    signal, gradient = through(seen.before)
    first += (
        f": before training a block passes on about {by_block(signal, seen.cfg.depth)} of the signal, so that "
        f"{seen.cfg.depth} in a row leave {share(signal)}, and {share(gradient)} of the gradient comes back"
    )
    frame = seen.before.frame_at(0)
    answers = len(set(frame.picture["ten_guess"])) if frame and "ten_guess" in frame.picture else 0
    alike = "the same answer" if answers == 1 else f"{answers} different answers"
    return f"{first}. " + (f"For ten different digits the net gives {alike}." if answers else "")


def _grows(seen: Seen) -> str:
    first = (
        "The residual, the blue band, carries the stream past every block, and the block's output is added to it, x + "
        "F(x)"
    )
    if not seen.before:
        return f"{first}."
    signal, _ = through(seen.before)
    first += (
        f": nothing fades, but each block makes the sum about {by_block(signal, seen.cfg.depth)} times as large, all "
        f"{seen.cfg.depth} together {times(signal)}"
    )
    second = f"The loss starts at {seen.before.loss[0]:.3g}, and chance is {chance(seen.cfg):.2f}"
    if seen.whole and seen.whole.divergence:
        second += f"; train it, and at step {seen.whole.divergence.step} the numbers overflow"
    return f"{first}. {second}."


def _levels(seen: Seen, shallow: Seen, digit: int) -> str:
    first = "A norm before every block, the dots, rescales what the block reads, x + F(norm(x))"
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
