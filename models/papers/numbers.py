"""Random nets of the papers' mean-field results, in numpy with float64: before training, wide, several seeds.

Each function takes no arguments and returns numbers and arrays; random draws are seeded. Legend: K seeds, L layers, N
width, B samples.
"""

from functools import cache
from typing import Any

import numpy as np

from models.insight.gaussian import moments
from models.maps.prepared import CHECKS, recorded_check

__all__ = ["batch_norm_explodes", "coordinate_checks", "fluctuations", "order_and_chaos", "shattered"]

SEEDS = 3
WEIGHT_VARIANCES, BIAS_VARIANCE = (1.0, 1.761, 4.0), 0.05
XS, YS = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0), (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
WIDE, LAYERS = 400, 30
PLANE_WIDTH, PLANE_LAYERS = 200, 20
SETTLED, NO_CHANGE = 500, 1e-9  # iterations to a fixed point at most, and the relative change at which they end
MAX_BIAS_VARIANCE, HALVINGS = 4.0, 20  # of the search for the edge of chaos
DRAWS = 400  # nets of each shape, whose lengths are compared
SHAPES = ((64, 8), (64, 16), (64, 32), (128, 16))  # width and layers
BATCH, NORMED_WIDTH, NORMED_LAYERS = 256, 300, 12
PAIRED, PAIRED_WIDTH, PAIRED_LAYERS = 64, 256, (1, 2, 4, 8, 16, 32)
MIN_SQUARE = 1e-6  # of a pre-activation: a net without biases below the edge has none


def fixed_point(weights: float, biases: float) -> float:
    """The mean square q* of a tanh layer's pre-activations that the next layer repeats."""
    square = 1.0
    for _ in range(SETTLED):
        before, square = square, max(weights * moments("tanh", square).square + biases, MIN_SQUARE)
        if abs(square / before - 1) < NO_CHANGE:
            break
    return square


def chi(weights: float, biases: float) -> float:
    """The factor per layer of a gradient's mean square: weight variance times E tanh'^2 at the fixed point."""
    return weights * moments("tanh", fixed_point(weights, biases)).slope


def edge(weights: float) -> float:
    """The bias variance at which chi is 1; 0 where it is below 1 without biases, which only bring order."""
    low, high = 0.0, MAX_BIAS_VARIANCE
    if chi(weights, low) <= 1:
        return 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if chi(weights, middle) > 1 else (low, middle)
    return low


def gradients(weights: float, biases: float, seed: int, width: int, layers: int) -> np.ndarray:
    """The mean square of a gradient at every layer of a random tanh net, from the input on, (L + 1,)."""
    source = np.random.default_rng(seed)
    h = np.sqrt(fixed_point(weights, biases)) * source.standard_normal(width)
    matrices, slopes = [], []
    for _ in range(layers):
        matrices.append(np.sqrt(weights / width) * source.standard_normal((width, width)))
        slopes.append(1 - np.tanh(h) ** 2)
        h = matrices[-1] @ np.tanh(h) + np.sqrt(biases) * source.standard_normal(width)
    g = source.standard_normal(width)
    squares = [float((g**2).mean())]
    for matrix, slope in zip(reversed(matrices), reversed(slopes), strict=True):
        g = slope * (matrix.T @ g)
        squares.append(float((g**2).mean()))
    return np.array(squares[::-1])


@cache
def order_and_chaos() -> dict[str, Any]:
    """Gradients over layers (K, L + 1) by weight variance, chi of the formula, and a map of the factor per layer."""
    profiles = {
        variance: np.stack([gradients(variance, BIAS_VARIANCE, seed, WIDE, LAYERS) for seed in range(SEEDS)])
        for variance in WEIGHT_VARIANCES
    }
    cells = np.ones((len(YS), len(XS)))
    for row, biases in enumerate(YS):
        for column, weights in enumerate(XS):
            ends = [gradients(weights, biases, seed, PLANE_WIDTH, PLANE_LAYERS)[[0, -1]] for seed in range(SEEDS)]
            cells[row, column] = np.exp(np.mean([np.log(start / end) for start, end in ends]) / PLANE_LAYERS)
    return {
        "profiles": profiles,
        "chi": {variance: chi(variance, BIAS_VARIANCE) for variance in WEIGHT_VARIANCES},
        "xs": XS,
        "ys": YS,
        "cells": cells,
        "edge": np.array([edge(weights) for weights in XS]),
    }


def lengths(width: int, layers: int, *, residual: bool) -> np.ndarray:
    """The squared length of random ReLU nets' output over that of their input, He's weights, (DRAWS,).

    A residual net adds each layer's output divided by the number of layers.
    """
    source = np.random.default_rng(3)
    x = source.standard_normal((DRAWS, width))
    start = (x**2).mean(1)
    for _ in range(layers):
        weights = source.standard_normal((DRAWS, width, width), np.float32) * np.float32(np.sqrt(2 / width))
        out = np.maximum(np.einsum("kij,kj->ki", weights, x), 0.0)
        x = x + out / layers if residual else out
    return np.asarray((x**2).mean(1) / start)


@cache
def fluctuations() -> dict[str, Any]:
    """The log of the squared length by shape, (DRAWS,), in plain and in residual nets."""
    return {
        kind: {shape: np.log(lengths(*shape, residual=kind == "residual")) for shape in SHAPES}
        for kind in ("plain", "residual")
    }


def normed(h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Batch norm of (B, N) and the spread by which it divided."""
    spread = h.std(0)
    return (h - h.mean(0)) / spread, spread


def normed_gradients(seed: int, activation: str, *, skip: bool) -> np.ndarray:
    """The mean square of a gradient at every layer of a random net with batch norm, from the input on, (L + 1,)."""
    source = np.random.default_rng(seed)
    x = source.standard_normal((BATCH, NORMED_WIDTH))
    layers = []
    for _ in range(NORMED_LAYERS):
        weights = source.standard_normal((NORMED_WIDTH, NORMED_WIDTH)) / np.sqrt(NORMED_WIDTH)
        h, spread = normed(x @ weights)
        on = h > 0 if activation == "relu" else np.ones_like(h)
        x = (x if skip else 0.0) + h * on
        layers.append((weights, h, spread, on))
    g = source.standard_normal((BATCH, NORMED_WIDTH))
    squares = [float((g**2).mean())]
    for weights, h, spread, on in reversed(layers):
        back = g * on
        back = (back - back.mean(0) - h * (back * h).mean(0)) / spread
        g = (g if skip else 0.0) + back @ weights.T
        squares.append(float((g**2).mean()))
    return np.array(squares[::-1])


@cache
def batch_norm_explodes() -> dict[str, Any]:
    """Gradients over layers (K, L + 1): ReLU and linear nets with batch norm, and ReLU with a skip."""
    kinds = {"ReLU": ("relu", False), "linear": ("linear", False), "ReLU with a skip": ("relu", True)}
    return {
        name: np.stack([normed_gradients(seed, activation, skip=skip) for seed in range(SEEDS)])
        for name, (activation, skip) in kinds.items()
    }


def correlation(kind: str, layers: int, seed: int) -> float:
    """The mean cosine between the input gradients of different samples, statistics of batch norm as constants.

    `kind`: "plain" (batch norm, ReLU), "residual" (x + W relu(x)) or "residual with batch norm" (x + W relu(BN x)).
    """
    source = np.random.default_rng(seed)
    x = source.standard_normal((PAIRED, PAIRED_WIDTH))
    passed = []
    for _ in range(layers):
        weights = source.standard_normal((PAIRED_WIDTH, PAIRED_WIDTH)) * np.sqrt(2 / PAIRED_WIDTH)
        h, spread = normed(x @ weights if kind == "plain" else x)
        if kind == "residual":
            h, spread = x, np.ones(PAIRED_WIDTH)
        out = np.maximum(h, 0.0)
        x = out if kind == "plain" else x + out @ weights
        passed.append((weights, h > 0, spread))
    g = np.tile(source.standard_normal(PAIRED_WIDTH), (PAIRED, 1))
    for weights, on, spread in reversed(passed):
        g = (g * on / spread) @ weights.T if kind == "plain" else g + (g @ weights.T) * on / spread
    unit = g / np.linalg.norm(g, axis=1, keepdims=True)
    return float(((unit @ unit.T).sum() - PAIRED) / (PAIRED * (PAIRED - 1)))


@cache
def shattered() -> dict[str, Any]:
    """The correlation of input gradients by kind of net, (K, depths), and the depths."""
    kinds = ("plain", "residual", "residual with batch norm")
    found = {
        kind: np.array([[correlation(kind, layers, seed) for layers in PAIRED_LAYERS] for seed in range(SEEDS)])
        for kind in kinds
    }
    return {"layers": PAIRED_LAYERS, "correlation": found}


@cache
def coordinate_checks() -> dict[Any, Any]:
    """The recorded sizes of the coordinate checks of the page Maps, by the field that varies and parametrisation."""
    recorded = {key: recorded_check(check) for key, check in CHECKS.items()}
    return {key: one.coordinates for key, one in recorded.items() if one is not None}
