"""What measurements of distributions answer. Legend: S sites of the stream, A sublayers with an activation function."""

from dataclasses import dataclass

import numpy as np

from models.answers import Question


@dataclass(frozen=True)
class Histograms:
    """Histograms of K sites or steps, with bins in units of the RMS of each."""

    centres: np.ndarray  # of the bins, (bins,); the first and the last bin are open
    shares: np.ndarray  # of the finite values by bin, (K, bins); NaN without any
    rms: np.ndarray  # (K,)
    nonfinite: np.ndarray  # share of values that are not finite, (K,)


@dataclass(frozen=True)
class Distributions(Histograms):
    """Histograms of the stream by site, the tails of its tokens, and the units after the activation functions.

    A unit is judged over all `tokens` of the batch. The shares of units are empty for other activation functions.
    """

    tokens: int
    kurtosis: np.ndarray  # mean over tokens, (S,)
    kurtosis_max: np.ndarray  # maximum over tokens, (S,)
    inside: tuple[str, ...]  # sites of the branches that have an activation function, (A,)
    dead: np.ndarray  # share of ReLU units that are 0 for all tokens, (A,)
    always_on: np.ndarray  # share of ReLU units that are above 0 for all tokens, (A,)
    saturated: np.ndarray  # share of tanh or sigmoid values where the slope is nearly 0, (A,)


@dataclass(frozen=True)
class Film(Histograms):
    """Histograms of one site at K frames of a run, each on its own step's batch."""

    steps: np.ndarray  # (K,)


DISTRIBUTIONS = Question("distributions", Distributions)
LAYER_FILM = Question("layer film", Film)
