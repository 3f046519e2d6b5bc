"""The sentences on the gradient's paths through skips and branches, and how many paths there are."""

from collections.abc import Sequence

import numpy as np

from models.insight.words import number
from models.spec import RunConfig, plan
from models.trace import site_in_words

DOMINANT = 0.75  # projection above which the skips carry most of the gradient
FAINT = 0.25  # projection below which the branches do


def shares_sentence(sites: Sequence[str], skip_projection: np.ndarray) -> str:
    """How much of the gradient the skips carry, and where least, from the projections (M,) at the sublayers' sites."""
    if not np.isfinite(skip_projection).any():
        return "No gradient reaches the adds, or it is not finite: there is no share of it to tell."
    if not skip_projection.any():
        return "No residual carries any gradient: all of it comes through the branches."
    middle, least = float(np.nanmedian(skip_projection)), int(np.nanargmin(skip_projection))
    who = (
        "the residuals carry most of it"
        if middle > DOMINANT
        else "the branches carry most of it"
        if middle < FAINT
        else "both count"
    )
    return (
        f"At a typical add, {middle:.0%} of the gradient comes through the residual, so {who}; the lowest share is "
        f"{skip_projection[least]:.0%}, at {site_in_words(sites[least])}."
    )


def lengths_sentence(share: np.ndarray) -> str:
    """How many branches the gradient at the input has passed, from the shares (K,) of `path_lengths`."""
    if not np.isfinite(share).all():
        return "No gradient reaches the input, or it is not finite: it has no path lengths."
    counts = np.arange(len(share))
    half = int(np.searchsorted(np.cumsum(share), 0.5))
    return (
        f"On average the gradient at the input has passed through {number(counts @ share)} of {len(share) - 1} "
        f"branches; half of it through {half} or fewer."
    )


def path_counts(cfg: RunConfig) -> np.ndarray | None:
    """The share of paths from the head to x0 that pass k branches (K,): Binomial(M, 1/2) if every skip is open.

    None for stacks that join blocks in other ways, for recursive skips, and without any skip, when one path is left.
    """
    sublayers = [sublayer for sublayer in plan(cfg).sublayers if not sublayer.identity]
    if cfg.stack != "single" or cfg.skip_repeats > 1 or not any(sublayer.skip for sublayer in sublayers):
        return None
    share = np.ones(1)
    for sublayer in sublayers:
        share = np.convolve(share, [0.5, 0.5] if sublayer.skip else [0.0, 1.0])
    return share
