"""The sentences on the health of training: the size of updates, and the noise of the gradient."""

import math

import numpy as np

from models.insight.verdict import LARGE_UPDATE, VANISHING
from models.insight.words import change_in_words
from models.trace import Trace

USUAL_UPDATE = 1e-3  # of a block's weights in one step (Karpathy)
SMALL_UPDATE = 1e-5  # update below which a block hardly learns
FAR = 3.0  # factor between batch and noise scale from which one clearly dominates


def last_update(trace: Trace, row: int) -> tuple[int, np.ndarray] | None:
    """The last measured update before `row`: its step, and |change| / |weights| by block (depth,)."""
    measured = [
        (frame.step, frame.update_to_weight)
        for frame in trace.frames
        if frame.step < row and not np.isnan(frame.update_to_weight).all()
    ]
    return measured[-1] if measured else None


def update_sentence(update: tuple[int, np.ndarray] | None, gradient: float = 0.0) -> str:
    """How large the last measured update was beside the weights, by block.

    `gradient`: the decades by which the gradient changes on its way back; of one that vanishes no update is good.
    """
    if update is None:
        return "No update has been measured yet."
    step, ratios = update
    known = ratios[~np.isnan(ratios)]
    if not np.isfinite(known).all():
        return f"The update of step {step} is not finite."
    block, least, most = int(np.nanargmax(ratios)) + 1, float(known.min()), float(known.max())
    if most > LARGE_UPDATE:
        judged = f"too much in block {block}; of runs with more than {LARGE_UPDATE:.0%} few learn"
    elif most < SMALL_UPDATE:
        judged = "next to nothing"
    elif gradient < -math.log10(VANISHING):
        judged = change_in_words("a usual size, but the gradient behind it", gradient, "on the way back")
    else:
        judged = "most runs with updates like this learn"
    return (
        f"The update of step {step} changed the blocks' weights by {least:.2g} to {most:.2g} of their size: {judged}."
    )


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
        judged = "the step is mostly noise, and a larger batch would still pay"
    elif scale < batch / FAR:
        judged = "the gradient is clear, and a larger batch would change little"
    else:
        judged = "the two are about balanced"
    return f"The gradient noise scale is about {scale:.2g} samples and the batch {batch}: {judged}."
