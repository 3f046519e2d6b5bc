"""The outcome of a whole run in one of three words, and its numbers in words."""

import math

import numpy as np

from models.insight.baseline import LEARNT
from models.insight.verdict import LAST
from models.insight.words import decades, number
from models.trace import Trace

LEARNS, BLOWS_UP, STAYS = "learns", "blows up", "gets stuck"
OUTCOMES = (LEARNS, BLOWS_UP, STAYS)
LATELY = 10  # consecutive rows whose mean loss counts in a run: one batch alone may be lucky
LOST = 2.0  # times the loss of guessing, above which it is lost


def outcome(trace: Trace, guessing: float) -> str:
    """One of OUTCOMES for a finished run; `guessing` is the loss of guessing."""
    if not final_loss(trace) <= LOST * guessing:
        return BLOWS_UP
    return LEARNS if learned(trace, guessing) else STAYS


def learned(trace: Trace, guessing: float) -> bool:
    """Whether a finished run ends below LEARNT of the loss of guessing, and on held-out samples below all of it."""
    held_out = trace.frames[-1].held_out_loss if trace.frames else math.nan
    return final_loss(trace) < LEARNT * guessing and not held_out >= guessing


def final_loss(trace: Trace) -> float:
    """The mean of the last training losses; infinite after a divergence."""
    return math.inf if trace.divergence else float(np.mean(trace.loss[-LAST:], dtype=np.float64))


def recent_losses(loss: np.ndarray) -> np.ndarray:
    """The mean of every LATELY consecutive losses, (T,) -> (T - LATELY + 1,); empty if there are fewer."""
    return np.convolve(loss, np.full(LATELY, 1 / LATELY), "valid") if len(loss) >= LATELY else np.empty(0)


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
    return f"{number(factor, 2)} times"


def share(part: float) -> str:
    """A factor below 1 as "1/63,000", from a third on as a percentage; others as `times`."""
    if part == 0:
        return "nothing"
    if part >= 1:
        return times(part)
    if part > 1 / 3:
        return "all" if part >= 0.995 else f"{part:.0%}"
    return f"1/{number(1 / part, 2)}"
