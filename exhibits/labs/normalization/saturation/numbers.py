"""Slopes of an activation at a table of inputs. numpy, float64."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models.labs.normalization import normalise

SATURATED = 0.1  # an activation is saturated below this share of its largest slope


@dataclass(frozen=True)
class Slopes:
    """Slopes of an activation over a table: largest |input|, saturated share, least slope, RMS slope."""

    largest_input: float
    saturated: float
    least: float
    rms: float


def slopes_at_inputs(
    x_TD: np.ndarray, slope: Callable[[np.ndarray], np.ndarray], *, normed: bool, eps: float = 1e-5
) -> Slopes:
    """Slopes of an activation, steepest at 0, at every number of a table (T, D), or of its layer norm if `normed`."""
    inputs = normalise(x_TD, "layer norm", eps=eps).values if normed else np.asarray(x_TD, float)
    values = slope(inputs)
    steepest = float(slope(np.zeros(1))[0])
    return Slopes(
        float(np.abs(inputs).max()),
        float((values < SATURATED * steepest).mean()),
        float(values.min()),
        float(np.sqrt((values**2).mean())),
    )
