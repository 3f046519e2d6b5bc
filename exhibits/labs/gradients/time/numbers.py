"""Gradients through time: through the steps of a recurrent cell, and through one attention head. numpy, float64.

Legend: T tokens, D features.
"""

import numpy as np

from models.labs.attention import softmax

FEATURES = 16
CELLS = ("plain", "residual", "gate")


def gradient_by_distance(tokens: int, size: float, cell: str, seed: int, *, bent: bool) -> np.ndarray:
    """|∂h_T / ∂x_t| as RMS singular value, by distance T - t = 0 ... T - 1 (T,).

    `cell` is one of CELLS. plain: h = φ(W h + U x); residual: h = h_before + φ(W h + U x); gate: h = g h_before +
    (1 - g) φ(W h + U x) with g = σ(V h + 2), a minimal GRU (1406.1078). φ is tanh if `bent`, otherwise the identity.
    `size` is the std of W's entries times √D, about its spectral radius. ValueError for another cell.
    """
    if cell not in CELLS:
        raise ValueError(f"cell is {cell!r}; legal is one of {', '.join(CELLS)}")
    rng = np.random.default_rng(seed)
    w, u, v = (rng.standard_normal((FEATURES, FEATURES)) / np.sqrt(FEATURES) for _ in range(3))
    x_TD = rng.standard_normal((tokens, FEATURES))
    w = size * w
    h = np.zeros(FEATURES)
    eye = np.eye(FEATURES)
    residual_weight = 1.0 if cell == "residual" else 0.0
    state_jacobians, input_jacobians = [], []
    with np.errstate(over="ignore", invalid="ignore"):
        for x in x_TD:
            summed = w @ h + u @ x
            out = np.tanh(summed) if bent else summed
            slope = (1 - out**2 if bent else np.ones(FEATURES))[:, None]
            if cell == "gate":
                g = 1 / (1 + np.exp(-(v @ h + 2)))
                gate_jacobian = ((h - out) * g * (1 - g))[:, None] * v
                state_jacobians.append(np.diag(g) + (1 - g)[:, None] * slope * w + gate_jacobian)
                input_jacobians.append((1 - g)[:, None] * slope * u)
                h = g * h + (1 - g) * out
            else:
                state_jacobians.append(slope * w + residual_weight * eye)
                input_jacobians.append(slope * u)
                h = out + residual_weight * h
        norms = []
        last_by_state = eye  # Jacobian of the last state by the state at the current step
        for by_state, by_input in zip(reversed(state_jacobians), reversed(input_jacobians), strict=True):
            norms.append(np.linalg.norm(last_by_state @ by_input) / np.sqrt(FEATURES))
            last_by_state = last_by_state @ by_state
    return np.array(norms)


def attention_gradient_by_distance(tokens: int, seed: int) -> np.ndarray:
    """|∂o_T / ∂x_t| of one head over the same inputs, by distance (T,); the last token attends to all.

    o = softmax(q K' / √D) V with q = Q x_T, k_t = K x_t, v_t = V x_t, so ∂o/∂x_t = a_t (V + (v_t - o) (q' K) / √D)
    for t < T; x_T also acts through the query.
    """
    rng = np.random.default_rng(seed)
    # The first matrix drawn is the cell's W, which a head does not have.
    _, w_v, w_k = (rng.standard_normal((FEATURES, FEATURES)) / np.sqrt(FEATURES) for _ in range(3))
    x_TD = rng.standard_normal((tokens, FEATURES))
    w_q = rng.standard_normal((FEATURES, FEATURES)) / np.sqrt(FEATURES)
    root = np.sqrt(FEATURES)
    query = w_q @ x_TD[-1]
    keys_TD = x_TD @ w_k.T
    values_TD = x_TD @ w_v.T
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
