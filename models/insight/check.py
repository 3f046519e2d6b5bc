"""The sentence of the gradient check: whether gradient and finite differences agree."""

from collections.abc import Sequence

import numpy as np

from models.insight.words import number

CLOSE = 1e-5  # relative error of central differences in float64 where the loss is smooth
SEEN = 20  # times the rounding error, above which a slope can be compared
SINGLE = 1e-3  # relative error that float32 may leave in a deep net


def relative_error(analytic: np.ndarray, difference: np.ndarray) -> np.ndarray:
    """|a - b| over the larger of the two, by element; 0 where both are 0."""
    larger = np.maximum(np.abs(analytic), np.abs(difference))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(larger == 0, 0.0, np.abs(analytic - difference) / larger)


def rounding(loss: float, step: np.ndarray) -> np.ndarray:
    """The error that the rounding of the loss may cause in a central difference of these steps."""
    return np.finfo(float).eps * abs(loss) / step


def check_sentence(
    *, what: Sequence[str], analytic: np.ndarray, difference: np.ndarray, kinks: np.ndarray, floor: np.ndarray
) -> str:
    """The verdict on the worst check at its chosen step, (C,) each; `floor` is the rounding error."""
    if not (np.isfinite(analytic).all() and np.isfinite(difference).all()):
        return "There is nothing to check: the loss or its gradient is not finite here."
    size = np.maximum(np.abs(analytic), np.abs(difference))
    seen = size > SEEN * floor
    if not seen.any():
        none = (
            "Both are exactly 0"
            if not size.any()
            else "The slopes are too small: rounding of the loss hides them from any difference"
        )
        return f"{none}, so nothing more can be told."
    error = np.where(seen, relative_error(analytic, difference), 0.0)
    worst = int(error.argmax())
    if error[worst] <= max(CLOSE, SEEN * floor[worst] / size[worst]):
        hidden = int((~seen).sum())
        rest = f" The other {hidden} are too small to be seen beside the rounding of the loss." if hidden else ""
        return (
            f"They agree: gradient and finite difference differ by a relative {number(error[worst], 1)} at most.{rest}"
        )
    text = f"Of the {what[worst]}, gradient and finite difference differ by a relative {number(error[worst], 1)}"
    if kinks[worst]:
        return (
            f"{text}: within the step lie {kinks[worst]} kinks of ReLU, where the slope jumps, and a difference "
            "averages it."
        )
    return f"{text}, and no kink lies within the step."


def single_sentence(log: float, exact: float) -> str:
    """How far the number in the log, in float32, is from the one in float64."""
    error = float(relative_error(np.array(log), np.array(exact)))
    if not np.isfinite(error):
        return "not finite"
    return f"{number(error, 1)} apart" + (", more than rounding explains" if error > SINGLE else "")
