"""Sentences on the gradient's paths through residuals and branches, and the number of paths of each length."""

from collections.abc import Sequence

import numpy as np

from models.insight.words import number
from models.spec import RunConfig, plan
from models.spec.plan import mixes_values
from models.trace import site_in_words

RESIDUAL_CARRIES = 0.75  # projection above which residuals carry most of the gradient
BRANCHES_CARRY = 0.25  # projection below which branches carry most of it


def shares_sentence(sites: Sequence[str], skip_projection: np.ndarray) -> str:
    """Share of the gradient that residuals carry: its median and its minimum over the adds, (M,)."""
    if not np.isfinite(skip_projection).any():
        return "No gradient reaches the adds, or it is not finite: there is no share of it to tell."
    if not skip_projection.any():
        return "No residual carries any gradient: all of it comes through the branches."
    median, lowest = float(np.nanmedian(skip_projection)), int(np.nanargmin(skip_projection))
    if median > RESIDUAL_CARRIES:
        verdict = "the residuals carry most of it"
    elif median < BRANCHES_CARRY:
        verdict = "the branches carry most of it"
    else:
        verdict = "both count"
    return (
        f"At a typical add, {median:.0%} of the gradient comes through the residual, so {verdict}; the lowest share is "
        f"{skip_projection[lowest]:.0%}, at {site_in_words(sites[lowest])}."
    )


def lengths_sentence(share: np.ndarray) -> str:
    """Mean and median number of branches that the gradient at the input has passed; `share` is by number, (M + 1,)."""
    if not np.isfinite(share).all():
        return "No gradient reaches the input, or it is not finite: it has no path lengths."
    counts = np.arange(len(share))
    median = int(np.searchsorted(np.cumsum(share), 0.5))
    return (
        f"On average the gradient at the input has passed through {number(counts @ share)} of {len(share) - 1} "
        f"branches; half of it through {median} or fewer."
    )


def path_counts(cfg: RunConfig) -> np.ndarray | None:
    """Share of the paths from the head to x0 that pass k branches, (M + 1,): Binomial(M, 1/2) if every skip is open.

    None for other stacks than a single stream, for recursive skips, for a value residual, and for a net without skips,
    which has a single path.
    """
    sublayers = [sublayer for sublayer in plan(cfg).sublayers if not sublayer.identity]
    if cfg.stack != "single" or cfg.skip_repeats > 1 or mixes_values(cfg) or not any(sub.skip for sub in sublayers):
        return None
    share = np.ones(1)
    for sublayer in sublayers:
        share = np.convolve(share, [0.5, 0.5] if sublayer.skip else [0.0, 1.0])
    return share
