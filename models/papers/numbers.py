"""Random nets before training that reproduce mean-field results of papers. numpy, float64.

The functions without arguments return the numbers of a paper by name; random draws are seeded. Legend: K seeds,
L layers, N width, B samples.

Sources: mean-field depth scales (Schoenholz 2017, 1611.01232), fluctuations of the length (Hanin 2018, 1803.01719),
exploding gradients with batch norm (Yang 2019, 1902.08129), shattered gradients (Balduzzi 2017, 1702.08591).
"""

from functools import cache
from typing import Any

import numpy as np

from models.insight.gaussian import moments
from models.maps.prepared import CHECKS, recorded_check

SEEDS = 3
WEIGHT_VARIANCES = (1.0, 1.761, 4.0)  # ordered, critical, chaotic
BIAS_VARIANCE = 0.05
XS = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)  # weight variances of the map of order and chaos
YS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)  # its bias variances
# Nets of the gradient profiles.
PROFILE_WIDTH = 400
PROFILE_LAYERS = 30
# Nets of the map.
PLANE_WIDTH = 200
PLANE_LAYERS = 20
MAX_ITERATIONS = 500  # of the search for a fixed point
CONVERGED = 1e-9  # relative change of an iteration that ends the search
MAX_BIAS_VARIANCE = 4.0  # upper end of the search for the edge of chaos
HALVINGS = 20  # bisections of that search
DRAWS = 400  # nets of each shape
SHAPES = ((64, 8), (64, 16), (64, 32), (128, 16))  # width, layers
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
def order_and_chaos() -> dict[str, Any]:
    """Gradient profiles (K, L + 1) by weight variance, chi, and a map of the factor per layer over both variances."""
    profiles = {
        variance: np.stack(
            [gradient_profile(variance, BIAS_VARIANCE, seed, PROFILE_WIDTH, PROFILE_LAYERS) for seed in range(SEEDS)]
        )
        for variance in WEIGHT_VARIANCES
    }
    cells = np.ones((len(YS), len(XS)))
    for row, bias_variance in enumerate(YS):
        for column, weight_variance in enumerate(XS):
            ends = [
                gradient_profile(weight_variance, bias_variance, seed, PLANE_WIDTH, PLANE_LAYERS)[[0, -1]]
                for seed in range(SEEDS)
            ]
            cells[row, column] = np.exp(np.mean([np.log(start / end) for start, end in ends]) / PLANE_LAYERS)
    return {
        "profiles": profiles,
        "chi": {variance: chi(variance, BIAS_VARIANCE) for variance in WEIGHT_VARIANCES},
        "xs": XS,
        "ys": YS,
        "cells": cells,
        "edge": np.array([critical_bias_variance(weight_variance) for weight_variance in XS]),
    }


def length_ratios(width: int, layers: int, *, residual: bool) -> np.ndarray:
    """Squared length of random ReLU nets' output over that of their input, with He's weights, (DRAWS,).

    A residual net adds each layer's output over L (Hanin 2018, 1803.01719).
    """
    rng = np.random.default_rng(3)
    x = rng.standard_normal((DRAWS, width))
    start = (x**2).mean(1)
    for _ in range(layers):
        weights = rng.standard_normal((DRAWS, width, width), np.float32) * np.float32(np.sqrt(2 / width))
        out = np.maximum(np.einsum("kij,kj->ki", weights, x), 0.0)
        x = x + out / layers if residual else out
    return np.asarray((x**2).mean(1) / start)


@cache
def fluctuations() -> dict[str, Any]:
    """Log of the length ratios (DRAWS,), by kind of net and shape."""
    return {
        kind: {shape: np.log(length_ratios(*shape, residual=kind == "residual")) for shape in SHAPES}
        for kind in ("plain", "residual")
    }


def batch_norm(h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Batch norm of h (B, N), and the standard deviations (N,) by which it divides."""
    spread = h.std(0)
    return (h - h.mean(0)) / spread, spread


def batch_norm_gradients(seed: int, activation: str, *, skip: bool) -> np.ndarray:
    """Mean square of the gradient at every layer of a random net with batch norm, from the input on, (L + 1,)."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((BATCH, NORMED_WIDTH))
    layers = []
    for _ in range(NORMED_LAYERS):
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
def batch_norm_explodes() -> dict[str, Any]:
    """Gradient profiles (K, L + 1) of nets with batch norm: ReLU, linear, and ReLU with a skip (1902.08129)."""
    nets = {
        "ReLU": ("relu", False),
        "linear": ("linear", False),
        "ReLU with a skip": ("relu", True),
    }  # activation, skip
    return {
        name: np.stack([batch_norm_gradients(seed, activation, skip=skip) for seed in range(SEEDS)])
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


@cache
def shattered() -> dict[str, Any]:
    """Correlation of input gradients by kind of net, (K, depths), and the depths (Balduzzi 2017, 1702.08591)."""
    correlations = {
        kind: np.array(
            [[gradient_correlation(kind, layers, seed) for layers in SHATTERED_LAYERS] for seed in range(SEEDS)]
        )
        for kind in ("plain", "residual", "residual with batch norm")
    }
    return {"layers": SHATTERED_LAYERS, "correlation": correlations}


@cache
def coordinate_checks() -> dict[Any, Any]:
    """Coordinate checks recorded for the page Maps, by the field that varies and parametrisation."""
    checks = {key: recorded_check(check) for key, check in CHECKS.items()}
    return {key: check.coordinates for key, check in checks.items() if check is not None}
