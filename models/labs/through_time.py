"""A gradient through time: back through the steps of a recurrent cell, and to the same tokens past attention.

Legend: T tokens, D features, J the Jacobian of the state by the state before. numpy, float64.
"""

import numpy as np

from models.labs.attention import softmax

FEATURES = 16
CELLS = ("plain", "residual", "gate")


def by_distance(tokens: int, size: float, cell: str, seed: int, *, bent: bool) -> np.ndarray:
    """|∂h_T / ∂x_t| as RMS singular value, by distance T - t = 0 ... T - 1 (T,).

    plain: h = φ(W h + U x); residual: h = h_before + φ(W h + U x); gate: h = g h_before + (1 - g) φ(W h + U x) with
    g = σ(V h + 2), a minimal GRU (1406.1078). φ is tanh, or the identity where not `bent`; `size` is the spread of W's
    entries times √D, about the radius of its eigenvalues. ValueError for another cell.
    """
    if cell not in CELLS:
        raise ValueError(f"cell is {cell!r}; legal is one of {', '.join(CELLS)}")
    source = np.random.default_rng(seed)
    w, u, v = (source.standard_normal((FEATURES, FEATURES)) / np.sqrt(FEATURES) for _ in range(3))
    x_TD = source.standard_normal((tokens, FEATURES))
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
        back, found = eye, []
        for state, into in zip(reversed(by_state), reversed(by_input), strict=True):
            found.append(np.linalg.norm(back @ into) / np.sqrt(FEATURES))
            back = back @ state
    return np.array(found)


def past_attention(tokens: int, seed: int) -> np.ndarray:
    """|∂o_T / ∂x_t| of one head over the same inputs, by distance (T,): the last token attends to all.

    o = softmax(q K' / √D) V with q = Q x_T, k_t = K x_t, v_t = V x_t, so ∂o/∂x_t = a_t (V + (v_t - o) (q' K) / √D)
    for t < T; the last token also asks.
    """
    source = np.random.default_rng(seed)
    _w, w_v, w_k = (source.standard_normal((FEATURES, FEATURES)) / np.sqrt(FEATURES) for _ in range(3))
    x_TD = source.standard_normal((tokens, FEATURES))
    w_q = source.standard_normal((FEATURES, FEATURES)) / np.sqrt(FEATURES)
    root = np.sqrt(FEATURES)
    query, keys_TD, values_TD = w_q @ x_TD[-1], x_TD @ w_k.T, x_TD @ w_v.T
    weights = softmax((keys_TD @ query / root)[None])[0]
    out = weights @ values_TD
    found = []
    for at, (weight, value) in enumerate(zip(weights, values_TD, strict=True)):
        jacobian = weight * (w_v + np.outer(value - out, query @ w_k) / root)
        if at == tokens - 1:
            apart = (weights[:, None] * (values_TD - out)).T @ keys_TD
            jacobian = jacobian + apart @ w_q / root
        found.append(np.linalg.norm(jacobian) / np.sqrt(FEATURES))
    return np.array(found[::-1])
