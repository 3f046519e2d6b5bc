"""The sentences on the health of training: the size of updates, and the noise of the gradient."""

import math

import numpy as np

from addnorm.findings import SMALL_UPDATE, VANISHING
from models.insight.verdict import LARGE_UPDATE
from models.insight.words import change_in_words, decades, number
from models.trace import Trace

USUAL_UPDATE = 1e-3  # of a block's weights in one step (Karpathy)
FAR = 3.0  # factor from the usual update, or between batch and noise scale, from which two are clearly apart


def last_update(trace: Trace, row: int) -> tuple[int, np.ndarray] | None:
    """The last measured update before `row`: its step, and |change| / |weights| by block (depth,)."""
    measured = [
        (frame.step, frame.update_to_weight)
        for frame in trace.frames
        if frame.step < row and not np.isnan(frame.update_to_weight).all()
    ]
    return measured[-1] if measured else None


def update_sentence(trace: Trace, row: int) -> str:
    """How large the last measured update before `row` was beside the weights, by block."""
    update = last_update(trace, row)
    if update is None:
        return "No update has been measured yet."
    step, ratios = update
    known = ratios[~np.isnan(ratios)]
    if not np.isfinite(known).all():
        return f"The update of step {step} is not finite."
    least, most = float(known.min()), float(known.max())
    smallest, largest = int(np.nanargmin(ratios)) + 1, int(np.nanargmax(ratios)) + 1
    span = (
        f"{number(least, 2)} (block {smallest}) to {number(most, 2)} (block {largest})"
        if len(known) > 1
        else number(most, 2)
    )
    sentences = [f"The update of step {step} changed the blocks' weights by {span} of their size{_size(least, most)}."]
    gradient = decades(float(trace.grad_rms[row, -1]), float(trace.grad_rms[row, 0]))
    if gradient < -math.log10(VANISHING):
        sentences.append(f"{change_in_words('The gradient behind it', gradient, 'on the way back')}.")
    return " ".join(sentences)


def _size(least: float, most: float) -> str:
    """How sizes from `least` to `most` compare with what is usual, as the end of a sentence; empty between words."""
    if most > LARGE_UPDATE:
        return f": more than {LARGE_UPDATE:.0%}"
    if least < SMALL_UPDATE:
        return ": next to nothing" if most < SMALL_UPDATE else ": some next to nothing"
    usual = least >= USUAL_UPDATE / FAR and most <= USUAL_UPDATE * FAR
    return f": about the usual {USUAL_UPDATE:g}" if usual else ""


def noise_sentence(batch: int, parts: int, gradient_square: float, noise_trace: float) -> str:
    """Whether the step's batch is small or large against the gradient noise scale."""
    if parts == 0:
        return "The batch is too small to be split, so the gradient's noise cannot be told."
    if not (math.isfinite(gradient_square) and math.isfinite(noise_trace)):
        return "The gradient is not finite."
    if noise_trace == 0 and gradient_square == 0:
        return "The gradient is exactly 0."
    if gradient_square <= 0:
        return "The gradient cannot be told from its noise with this batch: the noise scale is beyond what it can tell."
    scale = max(0.0, noise_trace / gradient_square)
    if scale > FAR * batch:
        judged = "the step is mostly noise, and a larger batch would still pay off"
    elif scale < batch / FAR:
        judged = "the gradient is clear, and a larger batch would change little"
    else:
        judged = "the two are about balanced"
    return f"The gradient noise scale is about {number(scale, 2)} samples and the batch {batch}: {judged}."
