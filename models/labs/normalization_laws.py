"""Properties of norms: bias of the std, Jacobians, interaction of tokens. numpy, float64."""

import numpy as np

from models.labs.normalization import normalise

TINY_EPS = 2.0**-23  # default eps of torch.nn.RMSNorm in float32


def jacobian(x_D: np.ndarray, method: str, eps: float = 1e-5) -> np.ndarray:
    """d y / d x of one token, (D, D): (I - 1 1'/D - x^ x^'/D) / scale for layer norm; rms norm lacks 1 1'/D.

    ValueError if the token has no spread and eps is 0.
    """
    x = np.asarray(x_D, float)
    norm = normalise(x[None], method, eps=eps)
    if norm.undefined.any():
        raise ValueError("This token has no spread and eps is 0: the norm has no derivative here.")
    unit, size = norm.values[0], len(x)
    mean_term = np.ones((size, size)) / size if method == "layer norm" else 0.0
    return (np.eye(size) - mean_term - np.outer(unit, unit) / size) / norm.scale[0, 0]


def changes_by_token(x_TD: np.ndarray, method: str, token: int, **settings: object) -> np.ndarray:
    """Largest change of each token's result when the first number of one token grows by 1, (T,)."""
    moved = np.array(x_TD, float)
    moved[token, 0] += 1
    before, after = (normalise(x, method, **settings).values for x in (x_TD, moved))  # type: ignore[arg-type]
    return np.asarray(np.abs(after - before).max(1))


def with_spread(x_D: np.ndarray, spread: float) -> np.ndarray:
    """The token rescaled to mean 0 and this biased standard deviation. ValueError if it has no spread."""
    x = np.asarray(x_D, float) - np.mean(x_D)
    if x.std() == 0:
        raise ValueError("All features of this token are equal, so it cannot be stretched.")
    return x * (spread / x.std())
