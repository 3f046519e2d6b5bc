"""Totals of dice, which spread as scores do: draws and probabilities. numpy, float64."""

import numpy as np

from models.labs.attention import DRAWS

FACES = 6  # of a die


def dice_draws(count: int, *, draws: int = DRAWS, seed: int = 0) -> np.ndarray:
    """Random totals of `count` dice, (draws,)."""
    return np.asarray(np.random.default_rng([seed, count, FACES]).integers(1, FACES + 1, (draws, count)).sum(1))


def dice_probabilities(count: int) -> np.ndarray:
    """Probability of each total of `count` dice, from the smallest to the largest."""
    probabilities = np.ones(1)
    for _ in range(count):
        probabilities = np.convolve(probabilities, np.full(FACES, 1 / FACES))
    return probabilities
