"""Random tanh nets before training, ordered, critical and chaotic (Schoenholz 2017, 1611.01232). numpy, float64.

Legend: K seeds, L layers, N width. `depth` multiplies the numbers of layers.
"""

from functools import cache
from typing import Any

import numpy as np

from models.insight.gaussian import moments
from models.papers.numbers import FIRST_SEED, SEEDS

PLANE_SEEDS = 3  # of each cell of the map
WEIGHT_VARIANCES = (1.0, 1.761, 4.0)  # ordered, critical, chaotic
BIAS_VARIANCE = 0.05
XS = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)  # weight variances of the map of order and chaos
YS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)  # its bias variances
# Nets of the gradient profiles.
PROFILE_WIDTH = 400
PROFILE_LAYERS = 30
# Pairs of inputs whose correlation starts this far above and below its fixed point.
PAIRS = 128
OFFSET = 0.15
CORRELATION_LAYERS = 8
# Nets of the map.
PLANE_WIDTH = 200
PLANE_LAYERS = 20
MAX_ITERATIONS = 500  # of the search for a fixed point
CONVERGED = 1e-9  # relative change of an iteration that ends the search
MAX_BIAS_VARIANCE = 4.0  # upper end of the search for the edge of chaos
HALVINGS = 20  # bisections of that search
MIN_SQUARE = 1e-6  # of a pre-activation; in the ordered phase without biases it tends to 0


def fixed_point(weight_variance: float, bias_variance: float) -> float:
    """Fixed point q* of the mean square of a tanh net's pre-activations (Schoenholz 2017, 1611.01232)."""
    square = 1.0
    for _ in range(MAX_ITERATIONS):
        previous = square
        square = max(weight_variance * moments("tanh", square).square + bias_variance, MIN_SQUARE)
        if abs(square / previous - 1) < CONVERGED:
            break
    return square


def chi(weight_variance: float, bias_variance: float) -> float:
    """Factor chi per layer of a gradient's mean square: weight variance times E tanh'^2 at the fixed point."""
    return weight_variance * moments("tanh", fixed_point(weight_variance, bias_variance)).slope


@cache
def fixed_correlation(weight_variance: float, bias_variance: float) -> tuple[float, float]:
    """Stable fixed point c* of the correlation of two inputs, and its slope weight variance times E phi' phi' there.

    The correlation's depth scale is -1 / ln of the slope (Schoenholz 2017, 1611.01232); where c* is 1 the slope is chi.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = np.outer(weights, weights) / weights.sum() ** 2
    square = fixed_point(weight_variance, bias_variance)
    first = np.sqrt(square) * nodes[:, None]
    c = 0.5
    for _ in range(MAX_ITERATIONS):
        second = c * first + np.sqrt(square * max(0.0, 1 - c * c)) * nodes
        covariance = weight_variance * float((weights * np.tanh(first) * np.tanh(second)).sum()) + bias_variance
        previous, c = c, min(1.0, covariance / square)
        if abs(c - previous) < CONVERGED:
            break
    second = c * first + np.sqrt(square * max(0.0, 1 - c * c)) * nodes
    slopes = (1 - np.tanh(first) ** 2) * (1 - np.tanh(second) ** 2)
    return c, weight_variance * float((weights * slopes).sum())


def correlation_gaps(weight_variance: float, bias_variance: float, seed: int, layers: int) -> np.ndarray:
    """Gap of two mean correlations, which start OFFSET above and below c*, at every layer of a tanh net, (L + 1,)."""
    rng = np.random.default_rng(seed)
    square = fixed_point(weight_variance, bias_variance)
    fixed, _ = fixed_correlation(weight_variance, bias_variance)
    first, second = rng.standard_normal((2, PAIRS, PROFILE_WIDTH))
    starts = [c * first + np.sqrt(1 - c * c) * second for c in (fixed + OFFSET, fixed - OFFSET)]
    h = np.sqrt(square) * np.stack([first, *starts])
    gaps = []
    for layer in range(layers + 1):
        lengths = np.linalg.norm(h, axis=2)
        above, below = ((h[0] * h[i]).sum(1) / (lengths[0] * lengths[i]) for i in (1, 2))
        gaps.append(float((above - below).mean()))
        if layer < layers:
            weights = np.sqrt(weight_variance / PROFILE_WIDTH) * rng.standard_normal((PROFILE_WIDTH, PROFILE_WIDTH))
            h = np.tanh(h) @ weights + np.sqrt(bias_variance) * rng.standard_normal(PROFILE_WIDTH)
    return np.array(gaps)


def critical_bias_variance(weight_variance: float) -> float:
    """Bias variance at which chi is 1, by bisection; 0 if chi is at most 1 without biases."""
    low, high = 0.0, MAX_BIAS_VARIANCE
    if chi(weight_variance, low) <= 1:
        return 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if chi(weight_variance, middle) > 1 else (low, middle)
    return low


def gradient_profile(weight_variance: float, bias_variance: float, seed: int, width: int, layers: int) -> np.ndarray:
    """Mean square of the gradient at every layer of a random tanh net, from the input on, (L + 1,)."""
    rng = np.random.default_rng(seed)
    h = np.sqrt(fixed_point(weight_variance, bias_variance)) * rng.standard_normal(width)
    matrices, slopes = [], []
    for _ in range(layers):
        matrices.append(np.sqrt(weight_variance / width) * rng.standard_normal((width, width)))
        slopes.append(1 - np.tanh(h) ** 2)
        h = matrices[-1] @ np.tanh(h) + np.sqrt(bias_variance) * rng.standard_normal(width)
    g = rng.standard_normal(width)
    squares = [float((g**2).mean())]
    for matrix, slope in zip(reversed(matrices), reversed(slopes), strict=True):
        g = slope * (matrix.T @ g)
        squares.append(float((g**2).mean()))
    return np.array(squares[::-1])


@cache
def order_and_chaos(depth: float = 1.0) -> dict[str, Any]:
    """Gradient profiles (K, L + 1) by weight variance, gaps of correlations in chaos (K, L' + 1), and a map of factors.

    With the formulas' chi by variance, and slope of the correlation in chaos.
    """
    seeds = range(FIRST_SEED, FIRST_SEED + SEEDS)
    layers = round(depth * PROFILE_LAYERS)
    profiles = {
        variance: np.stack([gradient_profile(variance, BIAS_VARIANCE, seed, PROFILE_WIDTH, layers) for seed in seeds])
        for variance in WEIGHT_VARIANCES
    }
    chaotic = WEIGHT_VARIANCES[-1]
    gap_layers = round(depth * CORRELATION_LAYERS)
    gaps = np.stack([correlation_gaps(chaotic, BIAS_VARIANCE, seed, gap_layers) for seed in seeds])
    cells = np.ones((len(YS), len(XS)))
    for row, bias_variance in enumerate(YS):
        for column, weight_variance in enumerate(XS):
            ends = [
                gradient_profile(weight_variance, bias_variance, seed, PLANE_WIDTH, PLANE_LAYERS)[[0, -1]]
                for seed in seeds[:PLANE_SEEDS]
            ]
            cells[row, column] = np.exp(np.mean([np.log(start / end) for start, end in ends]) / PLANE_LAYERS)
    return {
        "profiles": profiles,
        "gaps": gaps,
        "chi": {variance: chi(variance, BIAS_VARIANCE) for variance in WEIGHT_VARIANCES},
        "correlation slope": fixed_correlation(chaotic, BIAS_VARIANCE)[1],
        "xs": XS,
        "ys": YS,
        "cells": cells,
        "edge": np.array([critical_bias_variance(weight_variance) for weight_variance in XS]),
    }
