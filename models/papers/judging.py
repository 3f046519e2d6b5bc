"""Shared by the judges of papers: the verdict on a list of statements, and fits on log axes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from models.experiment import Judgement

# Answers of a verdict.
HOLDS = "holds here"
PARTLY = "holds in part"
NOT_HERE = "does not show here"
MIN_SEEDS = 3  # that a verdict needs


def judge_statements(
    statements: Sequence[str], holds: Sequence[bool], numbers: Mapping[str, Any], **shown: Any
) -> Judgement:
    """Judgement of statements, each of which `holds` or not; adds those that do not to `numbers` as `missed`.

    `shown`: fields of the Judgement to draw, such as `table` and `lines`.
    """
    answer = PARTLY if any(holds) else NOT_HERE
    if all(holds):
        answer = HOLDS
    missed = [statement for statement, is_true in zip(statements, holds, strict=True) if not is_true]
    return Judgement(answer, {**numbers, "missed": "; ".join(missed)}, **shown)


def slope(x: Sequence[float], y: np.ndarray) -> float:
    """Exponent a of y ~ x^a: slope of the least-squares line on log-log axes; NaN unless all y are positive."""
    y = np.asarray(y, float)
    if not (np.isfinite(y) & (y > 0)).all():
        return float("nan")
    return float(np.polyfit(np.log(np.asarray(x, float)), np.log(y), 1)[0])


def per_layer(squares: np.ndarray) -> np.ndarray:
    """Factor per layer of each row of mean squares (K, L), by least squares on a log axis, (K,)."""
    rows = np.log(np.asarray(squares, float))
    return np.asarray(np.exp(np.polyfit(np.arange(rows.shape[1]), rows.T, 1)[0]))
