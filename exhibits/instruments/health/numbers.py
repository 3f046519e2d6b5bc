"""Sentences on the health of training: the size of updates, and the noise of the gradient."""

import math

import numpy as np

from addnorm.findings import VANISHING as VANISHING_FACTOR
from addnorm.updates import SMALL_UPDATE
from models.insight.verdict import LARGE_UPDATE
from models.insight.words import change_in_words, decades, number
from models.trace import Trace

USUAL_UPDATE = 1e-3  # |change| / |weights| of a block in one step (Karpathy)
CLEAR_FACTOR = 3.0  # between two updates, or between batch and noise scale, from which they clearly differ


def last_update(trace: Trace, row: int) -> tuple[int, np.ndarray] | None:
    """Step of the last measured update before `row`, and its |change| / |weights| by block, (depth,)."""
    measured = [
        (frame.step, frame.update_to_weight)
        for frame in trace.frames
        if frame.step < row and not np.isnan(frame.update_to_weight).all()
    ]
    return measured[-1] if measured else None


def update_sentence(trace: Trace, row: int) -> str:
    """Size of the last measured update before `row`, relative to the weights, over the blocks."""
    update = last_update(trace, row)
    if update is None:
        return "No update has been measured yet."
    step, ratios = update
    measured = ratios[~np.isnan(ratios)]
    if not np.isfinite(measured).all():
        return f"The update of step {step} is not finite."
    low, high = float(measured.min()), float(measured.max())
    span = number(high, 2)
    if len(measured) > 1:
        low_block, high_block = int(np.nanargmin(ratios)) + 1, int(np.nanargmax(ratios)) + 1
        span = f"{number(low, 2)} (block {low_block}) to {number(high, 2)} (block {high_block})"
    sentences = [
        f"The update of step {step} changed the blocks' weights by {span} of their size{_judgement(low, high)}."
    ]
    # In decades from the last site to the first: negative if the gradient shrinks on its way back.
    gradient_change = decades(float(trace.grad_rms[row, -1]), float(trace.grad_rms[row, 0]))
    if gradient_change < -math.log10(VANISHING_FACTOR):
        sentences.append(f"{change_in_words('The gradient behind it', trace.grad_rms[row, ::-1], 'on the way back')}.")
    return " ".join(sentences)


def _judgement(low: float, high: float) -> str:
    """How updates from `low` to `high` compare with the usual size, as the end of a sentence; empty if unremarkable."""
    if high > LARGE_UPDATE:
        return f": more than {LARGE_UPDATE:.0%}"
    if low < SMALL_UPDATE:
        return ": next to nothing" if high < SMALL_UPDATE else ": some next to nothing"
    usual = low >= USUAL_UPDATE / CLEAR_FACTOR and high <= USUAL_UPDATE * CLEAR_FACTOR
    return f": about the usual {USUAL_UPDATE:g}" if usual else ""


def noise_sentence(batch: int, parts: int, gradient_square: float, noise_trace: float) -> str:
    """Whether a batch of `batch` samples is small or large compared with the gradient noise scale."""
    if parts == 0:
        return "The batch is too small to be split, so the gradient's noise cannot be told."
    if not (math.isfinite(gradient_square) and math.isfinite(noise_trace)):
        return "The gradient is not finite."
    if noise_trace == 0 and gradient_square == 0:
        return "The gradient is exactly 0."
    if gradient_square <= 0:
        return "The gradient cannot be told from its noise with this batch: the noise scale is beyond what it can tell."
    scale = max(0.0, noise_trace / gradient_square)
    if scale > CLEAR_FACTOR * batch:
        judgement = "the step is mostly noise, and a larger batch would still pay off"
    elif scale < batch / CLEAR_FACTOR:
        judgement = "the gradient is clear, and a larger batch would change little"
    else:
        judgement = "the two are about balanced"
    return f"The gradient noise scale is about {number(scale, 2)} samples and the batch {batch}: {judgement}."
