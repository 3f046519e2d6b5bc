"""Sentences on distributions: the tails of the stream, and dead or saturated units."""

from collections.abc import Sequence

import numpy as np

from models.insight.words import number
from models.trace import site_in_words

GAUSSIAN_KURTOSIS = 3.0
FINITE_WIDTH_KURTOSIS = 1.0  # distance from a Gaussian's kurtosis that a finite width may explain
HEAVY_KURTOSIS = 10.0  # above it a few features carry most of a token


def units_sentence(
    activation: str, inputs: str, branches: Sequence[str], dead: np.ndarray, saturated: np.ndarray
) -> str:
    """The branch with the largest share of dead or saturated units, or why no branch has a share.

    `inputs`: the inputs over which a unit is judged, such as "64 samples". `branches`: sites of the branches that have
    an activation function, (A,).
    """
    kind, shares = ("dead", dead) if activation == "relu" else ("saturated", saturated)
    if not branches:
        return "No branch has an activation function."
    if not len(shares):
        return f"Dead and saturated units are defined for ReLU, tanh and sigmoid, not for {activation}."
    if not np.isfinite(shares).any():
        return f"The share of {kind} units cannot be told: what is inside the branches is not finite."
    worst = int(np.nanargmax(shares))
    state = "units are dead" if kind == "dead" else "values are saturated"
    if shares[worst] == 0:
        limits = "" if np.isfinite(shares).all() else ", as far as the branches are finite"
        return f"No {state}{limits}."
    definition = f" (0 for all {inputs} of the batch)" if kind == "dead" else ""
    return (
        f"Inside {site_in_words(branches[worst])}, {shares[worst]:.0%} of the {state}{definition}; no branch has more."
    )


def tails_sentence(sites: tuple[str, ...], kurtosis: np.ndarray) -> str:
    """How heavy the tails of the stream are at both of its ends; `kurtosis` has one number for each site, (S,)."""
    first, last = float(kurtosis[0]), float(kurtosis[-1])
    if not (np.isfinite(first) and np.isfinite(last)):
        return "The stream has no spread, or is not finite, at one of its ends: there is no kurtosis to compare."
    if abs(last - GAUSSIAN_KURTOSIS) <= FINITE_WIDTH_KURTOSIS:
        shape = "close to a Gaussian's 3"
    elif last > HEAVY_KURTOSIS:
        shape = "far above a Gaussian's 3: a few features carry most of a token"
    else:
        shape = f"{'heavier' if last > GAUSSIAN_KURTOSIS else 'lighter'} tails than a Gaussian's 3"
    ends = f"{number(first, 2)} at {site_in_words(sites[0])} and {number(last, 2)} at {site_in_words(sites[-1])}"
    return f"The kurtosis of one vector is {ends}: {shape}."
