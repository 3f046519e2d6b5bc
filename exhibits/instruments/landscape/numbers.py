"""Sentences on a slice of the loss, its sharpness, the edge of stability and the stack's Jacobian."""

import math

import numpy as np

from models.content import Texts
from models.insight.estimates import MOMENTUM
from models.insight.words import number

TEXTS = Texts("instruments/landscape")
AT_EDGE_FACTOR = 1.5  # a sharpness within this factor of the edge of stability is at the edge
FLAT_RIM_FACTOR = 1.5  # loss on the rim over loss in the middle; a slice below it is flat
MAX_SMOOTH_MINIMA = 0.02  # share of cells that are minima; a slice above it is jagged
MAX_RESIDUAL = 0.03  # of power iteration, over the eigenvalue; above it the eigenvalue is uncertain
FLOAT64_ROUNDING = 2.3e-16  # a singular value below this, times the width and the largest one, is rounding error
MAX_EVEN_CONDITION = 10.0  # condition number up to which a token is stretched about evenly


def stability_edge(optimizer: str, rate: np.ndarray) -> np.ndarray:
    """Sharpness above which gradient descent diverges on a quadratic; NaN for Adam.

    It is 2 / rate, and 2 (1 + beta) / rate with momentum (Cohen 2021, 2103.00065).
    """
    factor = {"sgd": 2.0, "momentum": 2 * (1 + MOMENTUM)}.get(optimizer, math.nan)
    return factor / np.asarray(rate, float)


def edge_sentence(optimizer: str, rate: float) -> str:
    """Where the edge of stability lies for a learning rate."""
    sharpness = float(stability_edge(optimizer, np.array(rate)))
    if not math.isfinite(sharpness):
        return TEXTS("no edge", optimizer=optimizer)
    law = "2 / learning rate" if optimizer == "sgd" else f"2 (1 + {MOMENTUM:g}) / learning rate"
    return TEXTS("the edge", optimizer=optimizer, rate=rate, line=sharpness, law=law)


def slice_sentence(axis: np.ndarray, loss: np.ndarray) -> str:
    """How the loss (N, N) rises from the middle of a slice to its rim, and how many cells are lower than the middle.

    `axis` (N,) is the coordinate of the cells in filter lengths, 0 in the middle.
    """
    middle = float(loss[len(axis) // 2, len(axis) // 2])
    not_finite = int((~np.isfinite(loss)).sum())
    remark = f" {TEXTS('cells not finite', lost=not_finite, cells=loss.size)}" if not_finite else ""
    if not math.isfinite(middle):
        return f"{TEXTS('no landscape')}{remark}"
    rim = np.concatenate([loss[0], loss[-1], loss[1:-1, 0], loss[1:-1, -1]])
    rim = rim[np.isfinite(rim)]
    rises = TEXTS("median on the rim", median=np.median(rim)) if len(rim) else TEXTS("no finite rim")
    flat = len(rim) and np.median(rim) < FLAT_RIM_FACTOR * middle
    hollows = count_minima(loss)
    if hollows > max(1.0, MAX_SMOOTH_MINIMA * loss.size):
        shape = f"Jagged, with {hollows} separate hollows"
    else:
        shape = f"Smooth, and {'flat' if flat else 'a valley'}"
    lower = int((loss < middle).sum())
    figures = {"middle": middle, "rises": rises, "away": axis[-1], "lower": lower, "cells": loss.size}
    return f"{TEXTS('slice', look=shape, **figures)}{remark}"


def count_minima(loss: np.ndarray) -> int:
    """Number of cells inside the slice that are lower than all eight neighbours."""
    padded = np.where(np.isfinite(loss), loss, np.inf)
    inner = padded[1:-1, 1:-1]
    rows, columns = padded.shape
    neighbours = [
        padded[1 + down : rows - 1 + down, 1 + right : columns - 1 + right]
        for down in (-1, 0, 1)
        for right in (-1, 0, 1)
        if (down, right) != (0, 0)
    ]
    return int(np.all([inner < neighbour for neighbour in neighbours], axis=0).sum())


def sharpness_sentence(
    optimizer: str, steps: np.ndarray, rate: np.ndarray, sharpness: np.ndarray, residual: np.ndarray
) -> str:
    """The last measured sharpness, where it stands relative to the edge, and the first one; each array is (K,)."""
    if not len(sharpness) or not math.isfinite(sharpness[-1]):
        return TEXTS("no curvature")
    last = float(sharpness[-1])
    start = ""
    if len(steps) > 1 and math.isfinite(sharpness[0]):
        start = f", from {number(sharpness[0])} at step {steps[0]}"
    clause = f"The sharpness is {number(last)} at step {steps[-1]}{start}"
    remark = f" {TEXTS('not settled', residual=residual[-1])}" if residual[-1] > MAX_RESIDUAL else ""
    edge = float(stability_edge(optimizer, rate)[-1])
    if not math.isfinite(edge):
        return f"{TEXTS('sharpness without an edge', sharpest=clause, optimizer=optimizer)}{remark}"
    if last > AT_EDGE_FACTOR * edge:
        position = "above"
    elif last < edge / AT_EDGE_FACTOR**2:
        position = "far below"
    else:
        position = "below" if last < edge / AT_EDGE_FACTOR else "at"
    return f"{TEXTS('sharpness', sharpest=clause, where=position, edge=edge)}{remark}"


def jacobian_sentence(values: np.ndarray) -> str:
    """How the stack stretches a token, from the singular values (D,) of its Jacobian, largest first."""
    if not np.isfinite(values).all():
        return TEXTS("Jacobian not finite")
    if values[0] == 0:
        return TEXTS("Jacobian zero")
    nonzero = values[values > FLOAT64_ROUNDING * len(values) * values[0]]
    rounded = len(values) - len(nonzero)
    condition = float(nonzero[0] / nonzero[-1])
    evenness = "about evenly" if condition <= MAX_EVEN_CONDITION else "unevenly"
    remark = f" {TEXTS('directions lost', gone=rounded, directions=len(values))}" if rounded else ""
    stretches = {"most": nonzero[0], "least": nonzero[-1], "mean": np.sqrt(np.square(values).mean())}
    return f"{TEXTS('stretch', how=evenness, condition=condition, **stretches)}{remark}"
