"""The sentences on distributions: the tails of the stream, and dead or saturated units."""

from collections.abc import Sequence

import numpy as np

from models.insight.words import number
from models.trace import site_in_words

GAUSSIAN = 3.0  # kurtosis of a normal distribution
NEAR = 1.0  # distance from it within which a finite width may explain the difference
HEAVY = 10.0  # kurtosis above which a few features carry most of a token


def units_sentence(activation: str, seen: str, inside: Sequence[str], dead: np.ndarray, saturated: np.ndarray) -> str:
    """Which branch has the largest share of dead or saturated units, or why none has a share.

    `seen`: what a unit is judged by, such as "64 samples".
    """
    kind, shares = ("dead", dead) if activation == "relu" else ("saturated", saturated)
    if not inside:
        return "No branch has an activation function."
    if not len(shares):
        return f"Dead and saturated units are defined for ReLU, tanh and sigmoid, not for {activation}."
    if not np.isfinite(shares).any():
        return f"The share of {kind} units cannot be told: what is inside the branches is not finite."
    worst = int(np.nanargmax(shares))
    what = "units are dead" if kind == "dead" else "values are saturated"
    if shares[worst] == 0:
        where = "" if np.isfinite(shares).all() else ", as far as the branches are finite"
        return f"No {what}{where}."
    meant = f" (0 for all {seen} of the batch)" if kind == "dead" else ""
    return f"Inside {site_in_words(inside[worst])}, {shares[worst]:.0%} of the {what}{meant}; no branch has more."


def tails_sentence(sites: tuple[str, ...], kurtosis: np.ndarray) -> str:
    """The tails of the stream at both its ends, (S,)."""
    first, last = float(kurtosis[0]), float(kurtosis[-1])
    if not (np.isfinite(first) and np.isfinite(last)):
        return "The stream has no spread, or is not finite, at one of its ends: there is no kurtosis to compare."
    if abs(last - GAUSSIAN) <= NEAR:
        shape = "close to a Gaussian's 3"
    elif last > HEAVY:
        shape = "far above a Gaussian's 3: a few features carry most of a token"
    else:
        shape = f"{'heavier' if last > GAUSSIAN else 'lighter'} tails than a Gaussian's 3"
    ends = f"{number(first, 2)} at {site_in_words(sites[0])} and {number(last, 2)} at {site_in_words(sites[-1])}"
    return f"The kurtosis of one vector is {ends}: {shape}."
