"""The outcome of a whole run in one of three words, and why, in a line made from its numbers."""

import math

import numpy as np

from models.insight.baseline import LEARNT
from models.insight.verdict import COLLAPSED, LAST
from models.insight.words import decades
from models.trace import Trace

LEARNS, BLOWS_UP, STAYS = "learns", "blows up", "gets stuck"
OUTCOMES = (LEARNS, BLOWS_UP, STAYS)
LATELY = 10  # consecutive rows whose mean loss counts in a run: one batch alone may be lucky
LOST = 2.0  # times the loss of guessing, above which it is lost
FADED = 0.1  # share of the signal or the gradient left over depth, below which it has faded


def outcome(trace: Trace, guessing: float) -> str:
    """One of OUTCOMES for a finished run; `guessing` is the loss of guessing."""
    if trace.divergence is not None or not (final := final_loss(trace)) <= LOST * guessing:
        return BLOWS_UP
    return LEARNS if final < LEARNT * guessing else STAYS


def final_loss(trace: Trace) -> float:
    """The mean of the last training losses; infinite after a divergence."""
    return math.inf if trace.divergence else float(np.mean(trace.loss[-LAST:], dtype=np.float64))


def recent_losses(loss: np.ndarray) -> np.ndarray:
    """The mean of every LATELY consecutive losses, (T,) -> (T - LATELY + 1,); empty if there are fewer."""
    return np.convolve(loss, np.full(LATELY, 1 / LATELY), "valid") if len(loss) >= LATELY else np.empty(0)


def because(trace: Trace, guessing: float) -> str:
    """Why a finished run had its outcome: what signal and gradient did before training, and where the loss went."""
    became, why = outcome(trace, guessing), fault(trace, guessing)
    if became == LEARNS:
        signal, gradient = (times(factor) for factor in through(trace))
        return (
            f"Before training the signal leaves {signal} as large, the gradient comes back {gradient} as large: every "
            "block hears what to change."
        )
    cost = (
        f"the loss is {trace.loss[0]:.3g} at step 0"
        if became == BLOWS_UP
        else f"the loss stays at {final_loss(trace):.2f}"
    )
    return f"{why[0].upper()}{why[1:]}: {cost}, chance is {guessing:.2f}."


def fault(trace: Trace, guessing: float) -> str:
    """What is wrong with a run that did not learn, as part of a sentence."""
    signal, gradient = through(trace)
    if outcome(trace, guessing) == BLOWS_UP:
        end = f", and at step {trace.divergence.step} the numbers overflow" if trace.divergence else ""
        return f"before training the signal leaves {times(signal)} as large{end}"
    if min(signal, gradient) < FADED:
        return (
            f"before training {share(signal)} of the signal comes through, {share(gradient)} of the gradient comes back"
        )
    if likeness(trace) > COLLAPSED:
        return f"any two digits come out pointing nearly the same way (cosine {likeness(trace):.2f})"
    return "nothing is wrong before training"


def through(trace: Trace) -> tuple[float, float]:
    """The factors by which the net changes the signal on its way in and the gradient on its way back, untrained."""
    ends = trace.act_rms[0, [0, -1]].astype(float), trace.grad_rms[0, [-1, 0]].astype(float)
    return tuple(float(last / first) if first else math.nan for first, last in ends)  # type: ignore[return-value]


def by_block(factor: float, depth: int) -> str:
    """The factor of each of `depth` equal blocks that together make `factor`, in three digits."""
    return f"{factor ** (1 / depth):.3g}"


def stream_change(trace: Trace) -> float:
    """Decades by which the stream's RMS changes over depth before training."""
    return decades(float(trace.act_rms[0, 0]), float(trace.act_rms[0, -1]))


def gradient_change(trace: Trace) -> float:
    """Decades by which the stream's gradient changes on its way back before training."""
    return decades(float(trace.grad_rms[0, -1]), float(trace.grad_rms[0, 0]))


def likeness(trace: Trace) -> float:
    """The mean cosine between different samples at the end of the untrained stream; NaN without a frame."""
    frame = trace.frame_at(0)
    return float(frame.sample_cosine[-1]) if frame else math.nan


def times(factor: float) -> str:
    """A factor in two digits, "490 times" or "0.7 times"."""
    return f"{float(f'{factor:.2g}'):,g} times"


def share(part: float) -> str:
    """A factor below 1 as "1/63,000", from a third on as a percentage; others as `times`."""
    if part == 0:
        return "nothing"
    if part >= 1:
        return times(part)
    if part > 1 / 3:
        return "all" if part >= 0.995 else f"{part:.0%}"
    return f"1/{float(f'{1 / part:.2g}'):,.0f}"
