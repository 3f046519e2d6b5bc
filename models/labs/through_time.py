"""Gradients through time: through the steps of a recurrent cell, and through one attention head. numpy, float64.

Legend: T tokens, D features.
"""

import numpy as np

from models.labs.attention import softmax

FEATURES = 16
CELLS = ("plain", "residual", "gate")


def gradient_by_distance(tokens: int, size: float, cell: str, seed: int, *, bent: bool) -> np.ndarray:
    """|∂h_T / ∂x_t| as RMS singular value, by distance T - t = 0 ... T - 1 (T,).

    plain: h = φ(W h + U x); residual: h = h_before + φ(W h + U x); gate: h = g h_before + (1 - g) φ(W h + U x) with
    g = σ(V h + 2), a minimal GRU (1406.1078). φ is tanh, or the identity unless `bent`; `size` is the std of W's
    entries times √D, about its spectral radius. ValueError for another cell.
    """
    if cell not in CELLS:
        raise ValueError(f"cell is {cell!r}; legal is one of {', '.join(CELLS)}")
    rng = np.random.default_rng(seed)
    w, u, v = (rng.standard_normal((FEATURES, FEATURES)) / np.sqrt(FEATURES) for _ in range(3))
    x_TD = rng.standard_normal((tokens, FEATURES))
    w, h, eye = size * w, np.zeros(FEATURES), np.eye(FEATURES)
    by_state, by_input = [], []
    with np.errstate(over="ignore", invalid="ignore"):
        for x in x_TD:
            summed = w @ h + u @ x
            out = np.tanh(summed) if bent else summed
            slope = (1 - out**2 if bent else np.ones(FEATURES))[:, None]
            if cell == "gate":
                g = 1 / (1 + np.exp(-(v @ h + 2)))
                by_state.append(np.diag(g) + (1 - g)[:, None] * slope * w + ((h - out) * g * (1 - g))[:, None] * v)
                by_input.append((1 - g)[:, None] * slope * u)
                h = g * h + (1 - g) * out
            else:
                by_state.append(slope * w + eye * (cell == "residual"))
                by_input.append(slope * u)
                h = out + h * (cell == "residual")
        norms = []
        back = eye
        for state, into in zip(reversed(by_state), reversed(by_input), strict=True):
            norms.append(np.linalg.norm(back @ into) / np.sqrt(FEATURES))
            back = back @ state
    return np.array(norms)


def attention_gradient_by_distance(tokens: int, seed: int) -> np.ndarray:
    """|∂o_T / ∂x_t| of one head over the same inputs, by distance (T,); the last token attends to all.

    o = softmax(q K' / √D) V with q = Q x_T, k_t = K x_t, v_t = V x_t, so ∂o/∂x_t = a_t (V + (v_t - o) (q' K) / √D)
    for t < T; x_T also acts through the query.
    """
    rng = np.random.default_rng(seed)
    _w, w_v, w_k = (rng.standard_normal((FEATURES, FEATURES)) / np.sqrt(FEATURES) for _ in range(3))
    x_TD = rng.standard_normal((tokens, FEATURES))
    w_q = rng.standard_normal((FEATURES, FEATURES)) / np.sqrt(FEATURES)
    root = np.sqrt(FEATURES)
    query, keys_TD, values_TD = w_q @ x_TD[-1], x_TD @ w_k.T, x_TD @ w_v.T
    weights = softmax((keys_TD @ query / root)[None])[0]
    out = weights @ values_TD
    norms = []
    for token, (weight, value) in enumerate(zip(weights, values_TD, strict=True)):
        jacobian = weight * (w_v + np.outer(value - out, query @ w_k) / root)
        if token == tokens - 1:
            score_gradient = (weights[:, None] * (values_TD - out)).T @ keys_TD
            jacobian = jacobian + score_gradient @ w_q / root
        norms.append(np.linalg.norm(jacobian) / np.sqrt(FEATURES))
    return np.array(norms[::-1])
