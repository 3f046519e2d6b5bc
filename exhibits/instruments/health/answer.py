"""What a measurement of health answers. Legend: M sublayers, L blocks."""

from dataclasses import dataclass

import numpy as np

from models.answers import Question


@dataclass(frozen=True)
class GradientNoise:
    """Signal and noise of the gradient over `parts` micro-batches; 0 parts and NaN if the batch cannot be split."""

    parts: int
    part_size: int  # samples
    batch_norm: bool  # whether each micro-batch has its own statistics
    signal: np.ndarray  # |E g|^2 of a micro-batch, (L,)
    noise: np.ndarray  # tr Cov(g) of a micro-batch, (L,)
    snr: np.ndarray  # their ratio, (L,)
    gradient_square: float  # of the whole net, unbiased, so it may be negative
    noise_trace: float  # of the whole net, per sample, unbiased


@dataclass(frozen=True)
class Gains:
    """Learned factors: gates of the branches, gains of the norms, slopes of dynamic tanh and erf, the stream's."""

    gates: np.ndarray  # mean, least and greatest of each branch's gate, (M, 3); NaN without a gate
    gain_names: tuple[str, ...]  # (K,)
    gains: np.ndarray  # mean, least and greatest of each norm's, (K, 3)
    slope_names: tuple[str, ...]
    slopes: np.ndarray  # one per name
    scalars: np.ndarray  # resid_lambda and x0_lambda of each block, (L, 2); (0, 2) in other stacks


@dataclass(frozen=True)
class AdamState:
    """Adam's bias-corrected moments by block; NaN for a block without weights."""

    ratio: np.ndarray  # RMS(m) / RMS(sqrt v), (L,)
    near: np.ndarray  # share of weights whose last |update| was close to the learning rate, (L,)


@dataclass(frozen=True)
class Health:
    """The health of training at a step; `adam` is None for other optimisers and before the first update."""

    noise: GradientNoise
    gains: Gains
    adam: AdamState | None


HEALTH = Question("health", Health)
