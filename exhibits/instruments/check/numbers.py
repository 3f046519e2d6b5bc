"""Sentences of the gradient check: whether autograd and finite differences agree."""

from collections.abc import Sequence

import numpy as np

from models.insight.words import number

MAX_RELATIVE_ERROR = 1e-5  # of central differences in float64 where the loss is smooth
MIN_SLOPE_OVER_ROUNDING = 20  # a slope smaller than this times the rounding error cannot be compared
MAX_FLOAT32_ERROR = 1e-3  # relative error that float32 may leave in a deep net


def relative_error(analytic: np.ndarray, difference: np.ndarray) -> np.ndarray:
    """|a - b| / max(|a|, |b|) by element; 0 where both are 0."""
    larger = np.maximum(np.abs(analytic), np.abs(difference))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(larger == 0, 0.0, np.abs(analytic - difference) / larger)


def rounding_error(loss: float, step: np.ndarray) -> np.ndarray:
    """Largest error that rounding of the loss can cause in a central difference with each step."""
    return np.finfo(float).eps * abs(loss) / step


def check_sentence(
    *, target: Sequence[str], analytic: np.ndarray, difference: np.ndarray, kinks: np.ndarray, rounding: np.ndarray
) -> str:
    """Verdict on the check with the largest relative error; every argument has one entry for each check, (C,)."""
    if not (np.isfinite(analytic).all() and np.isfinite(difference).all()):
        return "There is nothing to check: the loss or its gradient is not finite here."
    size = np.maximum(np.abs(analytic), np.abs(difference))
    measurable = size > MIN_SLOPE_OVER_ROUNDING * rounding
    if not size.any():
        return "Both are exactly 0, so nothing more can be told."
    if not measurable.any():
        return (
            "The slopes are too small: rounding of the loss hides them from any difference, so nothing more can be "
            "told."
        )
    errors = np.where(measurable, relative_error(analytic, difference), 0.0)
    worst = int(errors.argmax())
    error = number(errors[worst], 1)
    if errors[worst] <= max(MAX_RELATIVE_ERROR, MIN_SLOPE_OVER_ROUNDING * rounding[worst] / size[worst]):
        hidden = int((~measurable).sum())
        others = f" The other {hidden} are too small to be seen beside the rounding of the loss." if hidden else ""
        return f"They agree: the relative error between gradient and finite difference is at most {error}.{others}"
    text = f"For the {target[worst]}, the relative error between gradient and finite difference is {error}"
    if kinks[worst]:
        return (
            f"{text}: within the step lie {kinks[worst]} kinks of ReLU, where the slope jumps, and a difference "
            "averages it."
        )
    return f"{text}, and no kink lies within the step."


def float32_sentence(log: float, exact: float) -> str:
    """Relative error of the log's float32 number against the float64 one, in words."""
    error = float(relative_error(np.array(log), np.array(exact)))
    if not np.isfinite(error):
        return "not finite"
    return f"{number(error, 1)} apart" + (", more than rounding explains" if error > MAX_FLOAT32_ERROR else "")
