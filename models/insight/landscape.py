"""The sentences on a slice of the loss, its sharpness and the stack's Jacobian, and the edge of stability."""

import math

import numpy as np

from models.content import Texts
from models.insight.words import number

TEXTS = Texts("instruments/landscape")

MOMENTUM = 0.9
NEAR = 1.5  # factor from the edge of stability within which the sharpness is at the edge
FLAT = 1.5  # loss at the rim over loss in the middle, below which a slice is flat
ROUGH = 0.02  # share of cells that are minima, above which a slice has several hollows
NOT_SETTLED = 0.03  # residual over eigenvalue, above which the eigenvalue is said to be uncertain
ROUNDING = 2.3e-16  # of float64; a singular value below this times the width is 0 up to rounding
EVEN = 10.0  # condition number up to which a token is stretched about evenly


def edge(optimizer: str, rate: np.ndarray) -> np.ndarray:
    """The sharpness above which gradient descent with this learning rate leaves a quadratic valley; NaN for Adam.

    2 / rate, and 2 (1 + beta) / rate with momentum (Cohen 2021, 2103.00065).
    """
    factor = {"sgd": 2.0, "momentum": 2 * (1 + MOMENTUM)}.get(optimizer, math.nan)
    return factor / np.asarray(rate, float)


def edge_sentence(optimizer: str, rate: float) -> str:
    """Where the edge of stability lies for a learning rate."""
    line = float(edge(optimizer, np.array(rate)))
    if not math.isfinite(line):
        return TEXTS("no edge", optimizer=optimizer)
    law = "2 / learning rate" if optimizer == "sgd" else f"2 (1 + {MOMENTUM:g}) / learning rate"
    return TEXTS("the edge", optimizer=optimizer, rate=rate, line=line, law=law)


def slice_sentence(axis: np.ndarray, loss: np.ndarray) -> str:
    """How the loss (N, N) rises from the middle of a slice to its rim, along an axis (N,), and what lies lower."""
    middle = float(loss[len(axis) // 2, len(axis) // 2])
    lost = int((~np.isfinite(loss)).sum())
    also = f" {TEXTS('cells not finite', lost=lost, cells=loss.size)}" if lost else ""
    if not math.isfinite(middle):
        return f"{TEXTS('no landscape')}{also}"
    rim = np.concatenate([loss[0], loss[-1], loss[1:-1, 0], loss[1:-1, -1]])
    rim = rim[np.isfinite(rim)]
    rises = TEXTS("median on the rim", median=np.median(rim)) if len(rim) else TEXTS("no finite rim")
    shape = "flat" if len(rim) and np.median(rim) < FLAT * middle else "a valley"
    lower, hollows = int((loss < middle).sum()), minima(loss)
    jagged = hollows > max(1.0, ROUGH * loss.size)
    look = f"Jagged, with {hollows} separate hollows" if jagged else f"Smooth, and {shape}"
    figures = {"middle": middle, "rises": rises, "away": axis[-1], "lower": lower, "cells": loss.size}
    return f"{TEXTS('slice', look=look, **figures)}{also}"


def minima(loss: np.ndarray) -> int:
    """The number of cells inside the slice that are lower than all eight around them."""
    padded = np.where(np.isfinite(loss), loss, np.inf)
    inner = padded[1:-1, 1:-1]
    rows, columns = padded.shape
    around = [
        padded[1 + down : rows - 1 + down, 1 + right : columns - 1 + right]
        for down in (-1, 0, 1)
        for right in (-1, 0, 1)
        if (down, right) != (0, 0)
    ]
    return int(np.all([inner < neighbour for neighbour in around], axis=0).sum())


def sharpness_sentence(
    optimizer: str, steps: np.ndarray, rate: np.ndarray, sharpness: np.ndarray, residual: np.ndarray
) -> str:
    """Where the last measured sharpness is relative to the edge, and how it got there, (K,) each."""
    if not len(sharpness) or not math.isfinite(sharpness[-1]):
        return TEXTS("no curvature")
    last = float(sharpness[-1])
    came = f", from {number(sharpness[0])} at step {steps[0]}" if len(steps) > 1 and math.isfinite(sharpness[0]) else ""
    loose = f" {TEXTS('not settled', residual=residual[-1])}" if residual[-1] > NOT_SETTLED else ""
    sharpest = f"The sharpness is {number(last)} at step {steps[-1]}{came}"
    line = float(edge(optimizer, rate)[-1])
    if not math.isfinite(line):
        return f"{TEXTS('sharpness without an edge', sharpest=sharpest, optimizer=optimizer)}{loose}"
    where = (
        "above"
        if last > NEAR * line
        else "far below"
        if last < line / NEAR**2
        else "below"
        if last < line / NEAR
        else "at"
    )
    return f"{TEXTS('sharpness', sharpest=sharpest, where=where, edge=line)}{loose}"


def jacobian_sentence(values: np.ndarray) -> str:
    """How the stack stretches a token, from the singular values (D,) of its Jacobian, largest first."""
    if not np.isfinite(values).all():
        return TEXTS("Jacobian not finite")
    if values[0] == 0:
        return TEXTS("Jacobian zero")
    above_rounding = values[values > ROUNDING * len(values) * values[0]]
    gone = len(values) - len(above_rounding)
    condition = float(above_rounding[0] / above_rounding[-1])
    how = "about evenly" if condition <= EVEN else "unevenly"
    lost = f" {TEXTS('directions lost', gone=gone, directions=len(values))}" if gone else ""
    stretches = {"most": above_rounding[0], "least": above_rounding[-1], "mean": np.sqrt(np.square(values).mean())}
    return f"{TEXTS('stretch', how=how, condition=condition, **stretches)}{lost}"
