"""The outcome of a finished run as one of three words, and the numbers it rests on."""

import math

import numpy as np

from models.insight.baseline import BETTER_BELOW, LEARNED_BELOW
from models.insight.verdict import LAST_ROWS
from models.insight.words import decades, number
from models.trace import Trace

LEARNS, BLOWS_UP, STAYS = "learns", "blows up", "gets stuck"
OUTCOMES = (LEARNS, BLOWS_UP, STAYS)
RECENT_ROWS = 10  # consecutive rows over which a loss is averaged, because a single batch may be lucky
MAX_STUCK_LOSS = 2.0  # times the loss of guessing; a final loss above it counts as blown up


def outcome(trace: Trace, guessing: float) -> str:
    """One of OUTCOMES for a finished run; `guessing` is the loss of guessing."""
    if not final_loss(trace) <= MAX_STUCK_LOSS * guessing:
        return BLOWS_UP
    return LEARNS if has_learned(trace, guessing) else STAYS


def has_learned(trace: Trace, guessing: float) -> bool:
    """Whether a finished run's loss, or its held-out loss, is below LEARNED_BELOW * guessing.

    The held-out loss, if it was measured, is below BETTER_BELOW * guessing too. It counts alone because the losses of
    small batches are mostly noise.
    """
    loss = final_loss(trace)
    tested = bool(trace.frames) and trace.frames[-1].step > 0  # a frame of step 0 says nothing of the end
    held_out = trace.frames[-1].held_out_loss if tested else math.nan
    if math.isnan(held_out) or trace.divergence:
        return loss < LEARNED_BELOW * guessing
    return held_out < BETTER_BELOW * guessing and (
        loss < LEARNED_BELOW * guessing or held_out < LEARNED_BELOW * guessing
    )


def final_loss(trace: Trace) -> float:
    """Mean of the last LAST_ROWS training losses; infinite after a divergence."""
    return math.inf if trace.divergence else float(np.mean(trace.loss[-LAST_ROWS:], dtype=np.float64))


def recent_losses(loss: np.ndarray) -> np.ndarray:
    """Mean over every RECENT_ROWS consecutive losses, (T,) -> (T - RECENT_ROWS + 1,); empty if T < RECENT_ROWS."""
    if len(loss) < RECENT_ROWS:
        return np.empty(0)
    return np.convolve(loss, np.full(RECENT_ROWS, 1 / RECENT_ROWS), "valid")


def gradient_change(trace: Trace) -> float:
    """Decades by which the stream's gradient changes on its way back before training."""
    return decades(float(trace.grad_rms[0, -1]), float(trace.grad_rms[0, 0]))


def final_cosine(trace: Trace) -> float:
    """Mean cosine between different samples at the end of the untrained stream; NaN without a frame."""
    frame = trace.frame_at(0)
    return float(frame.sample_cosine[-1]) if frame else math.nan


def times_in_words(factor: float) -> str:
    """A factor with two digits: "490 times" or "0.7 times"."""
    return f"{number(factor, 2)} times"


def share_in_words(share: float) -> str:
    """A share as "nothing", a fraction such as "1/63,000" up to a third, a percentage, "all", or "1.5 times"."""
    if share == 0:
        return "nothing"
    if share >= 1:
        return times_in_words(share)
    if share > 1 / 3:
        return "all" if share >= 0.995 else f"{share:.0%}"
    return f"1/{number(1 / share, 2)}"
