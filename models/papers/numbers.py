"""Random nets before training that reproduce mean-field results of papers. numpy, float64.

The functions that need no argument return the numbers of a paper by name, from SEEDS seeds on which nothing was tuned;
their `depth` multiplies the numbers of layers. Legend: K seeds, L layers, N width, B samples.

Sources: mean-field depth scales (Schoenholz 2017, 1611.01232), fluctuations of the length (Hanin 2018, 1803.01719),
exploding gradients with batch norm (Yang 2019, 1902.08129), shattered gradients (Balduzzi 2017, 1702.08591).
"""

from functools import cache
from typing import Any

import numpy as np

from models.insight.gaussian import moments
from models.maps.prepared import CHECKS, recorded_check

FIRST_SEED = 100  # the cards' bounds were chosen on seeds below it
SEEDS = 10
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
DRAWS = 40  # nets of each shape and seed
SHAPES = ((64, 8), (64, 16), (64, 32), (128, 16))  # width, layers
RESIDUAL_DECAY = 0.9  # the branch of layer l has this weight to the power of l, so that the mean length stays bounded
# Nets with batch norm.
BATCH = 256
NORMED_WIDTH = 300
NORMED_LAYERS = 12
# Nets of the correlation between gradients.
SHATTERED_SAMPLES = 64
SHATTERED_WIDTH = 256
SHATTERED_LAYERS = (1, 2, 4, 8, 16, 32)
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


def length_variances(width: int, layers: int, seed: int, *, residual: bool) -> float:
    """Variance across layers of the log of the squared length of random ReLU nets with He's weights, mean over DRAWS.

    Around the mean net. The branch of layer l of a residual net has the weight RESIDUAL_DECAY^l (Hanin 2018,
    1803.01719).
    """
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((DRAWS, width))
    logs = []
    for layer in range(1, layers + 1):
        weights = rng.standard_normal((DRAWS, width, width), np.float32) * np.float32(np.sqrt(2 / width))
        out = np.maximum(np.einsum("kij,kj->ki", weights, x), 0.0)
        x = x + RESIDUAL_DECAY**layer * out if residual else out
        logs.append(np.log((x**2).mean(1)))
    walks = np.stack(logs)  # (L, DRAWS)
    return float((walks - walks.mean(1, keepdims=True)).var(0).mean()) * DRAWS / (DRAWS - 1)


@cache
def fluctuations(depth: float = 1.0) -> dict[str, Any]:
    """Variances across layers (K,), by kind of net and shape."""
    shapes = [(width, round(depth * layers)) for width, layers in SHAPES]
    return {
        kind: {
            shape: np.array(
                [
                    length_variances(*shape, seed, residual=kind == "residual")
                    for seed in range(FIRST_SEED, FIRST_SEED + SEEDS)
                ]
            )
            for shape in shapes
            if kind == "plain" or shape[0] == SHAPES[0][0]
        }
        for kind in ("plain", "residual")
    }


def batch_norm(h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Batch norm of h (B, N), and the standard deviations (N,) by which it divides."""
    spread = h.std(0)
    return (h - h.mean(0)) / spread, spread


def batch_norm_gradients(seed: int, activation: str, depth: int, *, skip: bool) -> np.ndarray:
    """Mean square of the gradient at every layer of a random net with batch norm, from the input on, (L + 1,)."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((BATCH, NORMED_WIDTH))
    layers = []
    for _ in range(depth):
        weights = rng.standard_normal((NORMED_WIDTH, NORMED_WIDTH)) / np.sqrt(NORMED_WIDTH)
        h, spread = batch_norm(x @ weights)
        active = h > 0 if activation == "relu" else np.ones_like(h)
        x = (x if skip else 0.0) + h * active
        layers.append((weights, h, spread, active))
    g = rng.standard_normal((BATCH, NORMED_WIDTH))
    squares = [float((g**2).mean())]
    for weights, h, spread, active in reversed(layers):
        h_grad = g * active
        centred_grad = (h_grad - h_grad.mean(0) - h * (h_grad * h).mean(0)) / spread
        g = (g if skip else 0.0) + centred_grad @ weights.T
        squares.append(float((g**2).mean()))
    return np.array(squares[::-1])


@cache
def batch_norm_explodes(depth: float = 1.0) -> dict[str, Any]:
    """Gradient profiles (K, L + 1) of nets with batch norm: ReLU, linear, and ReLU with a skip (1902.08129)."""
    nets = {
        "ReLU": ("relu", False),
        "linear": ("linear", False),
        "ReLU with a skip": ("relu", True),
    }  # activation, skip
    return {
        name: np.stack(
            [
                batch_norm_gradients(seed, activation, round(depth * NORMED_LAYERS), skip=skip)
                for seed in range(FIRST_SEED, FIRST_SEED + SEEDS)
            ]
        )
        for name, (activation, skip) in nets.items()
    }


def gradient_correlation(kind: str, layers: int, seed: int) -> float:
    """Mean cosine between the input gradients of different samples; batch norm's statistics count as constants.

    `kind`: "plain" (batch norm, ReLU), "residual" (x + W relu(x)) or "residual with batch norm" (x + W relu(BN x)).
    """
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((SHATTERED_SAMPLES, SHATTERED_WIDTH))
    layer_states = []
    for _ in range(layers):
        weights = rng.standard_normal((SHATTERED_WIDTH, SHATTERED_WIDTH)) * np.sqrt(2 / SHATTERED_WIDTH)
        h, spread = batch_norm(x @ weights if kind == "plain" else x)
        if kind == "residual":
            h, spread = x, np.ones(SHATTERED_WIDTH)
        out = np.maximum(h, 0.0)
        x = out if kind == "plain" else x + out @ weights
        layer_states.append((weights, h > 0, spread))
    g = np.tile(rng.standard_normal(SHATTERED_WIDTH), (SHATTERED_SAMPLES, 1))
    for weights, active, spread in reversed(layer_states):
        g = (g * active / spread) @ weights.T if kind == "plain" else g + (g @ weights.T) * active / spread
    directions = g / np.linalg.norm(g, axis=1, keepdims=True)
    cosines = directions @ directions.T
    pairs = SHATTERED_SAMPLES * (SHATTERED_SAMPLES - 1)
    return float((cosines.sum() - SHATTERED_SAMPLES) / pairs)


def correlation_law(kind: str, layers: int) -> float:
    """The correlation of `gradient_correlation` in a wide net and a large batch.

    Each factor is what the layer does to the gradients' covariance over what it does to their variance. In plain nets a
    quarter of the units is on for both samples, and half for one. Batch norm removes the mean of a branch's ReLU, so
    the variance V that it divides by grows by 1 - 1/pi a layer, and the factor is (1 + 1/2V) / (1 + 1/V); for many
    layers the correlation falls as L^(-pi / 2(pi - 1)). Without it samples get alike, by the arc-cosine kernel.
    """
    if kind == "plain":
        return 0.5**layers
    if kind == "residual with batch norm":
        variance = 1 + (1 - 1 / np.pi) * np.arange(layers)
        return float(np.prod((1 + 0.5 / variance) / (1 + 1 / variance)))
    square, product, correlation = 1.0, 0.0, 1.0
    for _ in range(layers):
        angle = np.arccos(product / square)
        correlation *= (1 + (np.pi - angle) / np.pi) / 2
        product += square * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi
        square *= 2
    return float(correlation)


@cache
def shattered(depth: float = 1.0) -> dict[str, Any]:
    """Correlation of input gradients by kind of net, (K, depths), its law, and the depths (Balduzzi, 1702.08591)."""
    layers = tuple(round(depth * count) for count in SHATTERED_LAYERS)
    kinds = ("plain", "residual", "residual with batch norm")
    correlations = {
        kind: np.array(
            [
                [gradient_correlation(kind, count, seed) for count in layers]
                for seed in range(FIRST_SEED, FIRST_SEED + SEEDS)
            ]
        )
        for kind in kinds
    }
    law = {kind: np.array([correlation_law(kind, count) for count in layers]) for kind in kinds}
    return {"layers": layers, "correlation": correlations, "law": law}


@cache
def coordinate_checks() -> dict[Any, Any]:
    """Coordinate checks recorded for the page Maps, by the field that varies and parametrisation."""
    checks = {key: recorded_check(check) for key, check in CHECKS.items()}
    return {key: check.coordinates for key, check in checks.items() if check is not None}
