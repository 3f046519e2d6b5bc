"""Computes for the claim: He et al. 2016 were the first to let a signal skip layers."""

from typing import Any

import numpy as np

FEATURES = 64
DEEP_LAYERS = 32


def shortcuts() -> dict[str, Any]:
    """Share of a gradient's length that backpropagation through 32 layers of each design preserves.

    All use the same layer tanh(W x) of 64 features with spectral radius about 1/2. Highway layer (1505.00387):
    t tanh(W x) + (1 - t) x with a gate t of bias -3. LSTM of 1997, no forget gate: c + i tanh(W h), h = o tanh(c).
    """
    rng = np.random.default_rng(35)
    size = FEATURES
    w, w_t, w_i, w_o = (0.5 * rng.standard_normal((size, size)) / np.sqrt(size) for _ in range(4))
    x = rng.standard_normal(size)
    gradient = rng.standard_normal(size)
    eye = np.eye(size)

    def layer(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Output, and Jacobian (D, D)."""
        output = np.tanh(w @ x)
        return output, (1 - output**2)[:, None] * w

    def residual(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        output, jacobian = layer(x)
        return x + output, eye + jacobian

    def highway(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        output, jacobian = layer(x)
        t = 1 / (1 + np.exp(3 - w_t @ x))
        gate_jacobian = ((output - x) * t * (1 - t))[:, None] * w_t
        return t * output + (1 - t) * x, t[:, None] * jacobian + np.diag(1 - t) + gate_jacobian

    def lstm(state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A step of (c, h), with its Jacobian (2 D, 2 D)."""
        c, h = np.split(state, 2)
        output, jacobian = layer(h)
        i, o = (1 / (1 + np.exp(-gate @ h)) for gate in (w_i, w_o))
        dc_dh = i[:, None] * jacobian + (output * i * (1 - i))[:, None] * w_i
        c = c + i * output
        dh_dc = o * (1 - np.tanh(c) ** 2)
        dh_dh = (np.tanh(c) * o * (1 - o))[:, None] * w_o + dh_dc[:, None] * dc_dh
        return np.concatenate([c, o * np.tanh(c)]), np.block([[eye, dc_dh], [np.diag(dh_dc), dh_dh]])

    shares = {}
    designs = {"LSTM cell": lstm, "Highway layer": highway, "Residual layer": residual, "Plain layer": layer}
    for name, step in designs.items():
        state = np.concatenate([x, np.zeros(size)]) if step is lstm else x
        jacobians = []
        for _ in range(DEEP_LAYERS):
            state, step_jacobian = step(state)
            jacobians.append(step_jacobian)
        upstream = np.concatenate([gradient, np.zeros(len(state) - size)])
        for step_jacobian in reversed(jacobians):
            upstream = upstream @ step_jacobian
        shares[name] = float(np.linalg.norm(upstream[:size]) / np.linalg.norm(gradient))
    return {"shares": shares}
