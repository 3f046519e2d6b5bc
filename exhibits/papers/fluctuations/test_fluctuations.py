"""Tests the result: Even with the right weights, a deep narrow net may start with a signal far too large or small."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from exhibits.papers.fluctuations import numbers
from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from tests.papers.kit import comes_out, contradicted


def lengths(factor: float) -> Callable[[dict[str, Any]], None]:
    """Variances that are larger by this factor, and grow in residual nets too."""

    def change(values: dict[str, Any]) -> None:
        plain = {shape: variances * factor for shape, variances in values["numbers"]["plain"].items()}
        values["numbers"] = {
            "plain": plain,
            "residual": {shape: plain[shape] for shape in values["numbers"]["residual"]},
        }

    return change


def of_depth_alone(values: dict[str, Any]) -> None:
    values["numbers"] = {
        kind: {(width, layers): np.full(3, layers / 8) for width, layers in shapes}
        for kind, shapes in values["numbers"].items()
    }


def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("fluctuations", HOLDS)


def test_contrary_numbers_change_the_verdict() -> None:
    contradicted(
        "fluctuations",
        [
            (PARTLY, lengths(1.0)),
            (PARTLY, lengths(2.0)),
            (NOT_HERE, of_depth_alone),
        ],
    )


def test_a_log_length_walks_over_the_layers_at_random() -> None:
    """A Gaussian matrix times a vector is Gaussian whatever its direction, so no matrix has to be drawn."""
    source, (width, layers) = np.random.default_rng(7), (64, 16)
    units = np.maximum(source.standard_normal((4000, layers, width)), 0)
    steps = np.log(2 * (units**2).mean(2))
    walks = np.cumsum(steps - steps.mean(0), 1)
    assert walks.var(1).mean() == pytest.approx(5 * (layers**2 - 1) / (6 * layers * width), rel=0.15)
    assert numbers.fluctuations()["plain"][width, layers].mean() == pytest.approx(walks.var(1).mean(), rel=0.15)
