"""Numbers of the claims that need no net. numpy, float64.

Each function takes no arguments and returns numbers and arrays by name; random draws are seeded.
"""

from typing import Any

import numpy as np

from models.labs.attention import attend, linearity_errors, score_statistics, softmax
from models.labs.normalization import initial_running, normalise, updated_running
from models.labs.normalization_laws import TINY_EPS, jacobian, with_spread
from models.labs.positions import sinusoids

INPUT_SPREADS = (1.0, 0.03, 3e-3)
D_K = 16  # features of a query or key
D_MODEL = 64  # features of a token
OUTLIER_FACTORS = (1.0, 10.0, 1000.0)
FEATURES = 64
DRAWS = 400  # random nets
NARROW_WIDTH = 16
DEEP_LAYERS = 32
RANK_TOL = 1e-9  # a direction is lost below this share of the largest singular value


def spreads() -> dict[str, Any]:
    """Std of a token after layer norm, by its std before; also with a gain, and unbiased."""
    token = np.random.default_rng(2).standard_normal(FEATURES)
    outputs = [normalise(with_spread(token, spread)[None], "layer norm").values[0] for spread in INPUT_SPREADS]
    gained = normalise(token[None], "layer norm", gain=2.0, bias=1.0).values[0]
    small = normalise(token[None, :4], "layer norm").values[0]
    return {
        "given": np.array(INPUT_SPREADS),
        "biased": np.array([output.std() for output in outputs]),
        "gain": float(gained.std()),
        "unbiased": float(small.std(ddof=1)),
    }


def rms_and_layer() -> dict[str, Any]:
    """Difference of layer norm and RMS norm on a token with and without mean, and directions that each discards."""
    token = np.random.default_rng(14).standard_normal(8) + 2.0
    cases = {"with its mean": token, "centred": token - token.mean()}
    apart, lost = {}, {}
    for name, x in cases.items():
        layer, rms = (normalise(x[None], method, eps=TINY_EPS).values for method in ("layer norm", "rms norm"))
        apart[name] = float(np.abs(layer - rms).max())
    for method in ("layer norm", "rms norm"):
        values = np.linalg.svd(jacobian(token, method, eps=0.0), compute_uv=False)
        lost[method] = int((values < RANK_TOL * values[0]).sum())
    return {"apart": apart, "lost": lost}


def scores() -> dict[str, Any]:
    """Variance of random q·k with d_k = 16 in a model of width 64, by divisor; RMS of embedding and position.

    Embeddings have variance 1/d, as in a matrix shared with the output head.
    """
    values = {
        name: score_statistics(D_K, divisor=divisor)
        for name, divisor in (("nothing", 1.0), ("√d_model", D_MODEL**0.5), ("√d_k", D_K**0.5))
    }
    embedding = np.random.default_rng(22).standard_normal((512, D_MODEL)) / D_MODEL**0.5
    position = sinusoids(np.arange(32), D_MODEL)
    return {
        "variance": {name: statistics.variance for name, statistics in values.items()},
        "embedding": float(np.sqrt((embedding**2).mean())),
        "scaled": float(np.sqrt(D_MODEL * (embedding**2).mean())),
        "position": float(np.sqrt((position**2).mean())),
    }


def products() -> dict[str, Any]:
    """Gains of the mean square over 32 random ReLU layers of width 16 with He initialisation, (400,)."""
    rng = np.random.default_rng(24)
    x_KD = rng.standard_normal((DRAWS, NARROW_WIDTH))
    start = (x_KD**2).mean(1)
    for _ in range(DEEP_LAYERS):
        weights = rng.standard_normal((DRAWS, NARROW_WIDTH, NARROW_WIDTH)) * np.sqrt(2 / NARROW_WIDTH)
        x_KD = np.maximum(np.einsum("kij,kj->ki", weights, x_KD), 0.0)
    return {"gains": (x_KD**2).mean(1) / start}


def small_weights() -> dict[str, Any]:
    """Median and largest absolute value of the weights of 32 layers of width 256, drawn from N(0, 2/64)."""
    rng = np.random.default_rng(34)
    sizes = np.abs(rng.standard_normal(DEEP_LAYERS * 256**2)) * np.sqrt(2 / FEATURES)
    return {"median": float(np.median(sizes)), "largest": float(sizes.max()), "count": len(sizes)}


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


def one_matrix() -> dict[str, Any]:
    """Matrix product of 32 random linear blocks x + W2 W1 x of two features, and its error against the blocks."""
    rng = np.random.default_rng(36)
    x_ND = rng.standard_normal((100, 2))
    out_ND, product = x_ND, np.eye(2)
    for _ in range(DEEP_LAYERS):
        w1, w2 = rng.standard_normal((2, 2, 2)) / 2
        out_ND = out_ND + (out_ND @ w1) @ w2 / np.sqrt(DEEP_LAYERS)
        product = product @ (np.eye(2) + w1 @ w2 / np.sqrt(DEEP_LAYERS))
    return {"product": product, "apart": float(np.abs(out_ND - x_ND @ product).max()), "blocks": DEEP_LAYERS}


def linear() -> dict[str, Any]:
    """Errors of A(x + y) = A(x) + A(y) if the attention weights are fixed or computed from the input; size of A(x)."""
    rng = np.random.default_rng(29)
    x, y = rng.standard_normal((2, 5, 8))
    w_q, w_k, w_v = (rng.standard_normal((8, 4)) / np.sqrt(8) for _ in range(3))
    fixed_error, input_error = linearity_errors(x, y, (w_q, w_k, w_v), 2.0)
    output = attend(x @ w_q, x @ w_k, x @ w_v, divisor=2.0).output
    return {"held": fixed_error, "own": input_error, "size": float(np.abs(output).max())}


def outlier() -> dict[str, Any]:
    """Layer norm of a token of 64 features with one outlier: its value and its share of the sum of squares."""
    token = np.random.default_rng(30).standard_normal(FEATURES)
    token[0] = 1.0
    rows = [
        normalise((token * np.append(times, np.ones(FEATURES - 1)))[None], "layer norm").values[0]
        for times in OUTLIER_FACTORS
    ]
    return {
        "times": np.array(OUTLIER_FACTORS),
        "after": np.array([row[0] for row in rows]),
        "share": np.array([row[0] ** 2 / (row**2).sum() for row in rows]),
        "sum": np.array([(row**2).sum() for row in rows]),
        "bound": float(np.sqrt(FEATURES - 1)),
    }


def shifted() -> dict[str, Any]:
    """Mean of feature 1 after each norm, in training and in inference on data where that feature is shifted by 3.

    `token shift`: largest change of layer norm's output if all features are shifted by 3.
    """
    rng = np.random.default_rng(31)
    training = rng.standard_normal((256, 8))
    inference = training + 3.0 * (np.arange(8) == 0)
    statistics = updated_running(initial_running(8), training, batches=100)
    outputs: dict[str, Any] = {}
    for name, settings in (("batch norm", {"running": statistics}), ("layer norm", {})):
        normed = [normalise(x, name, **settings).values for x in (training, inference)]  # type: ignore[arg-type]
        outputs[name] = tuple(float(values[:, 0].mean()) for values in normed)
    everywhere = normalise(training + 3.0, "layer norm").values - normalise(training, "layer norm").values
    return outputs | {"token shift": float(np.abs(everywhere).max())}


def rows() -> dict[str, Any]:
    """Change of output 1 when entry 2 of the first axis changes: in X (5, 8), and in a batch (2, 5, 8)."""
    rng = np.random.default_rng(33)
    x = rng.standard_normal((5, 8))
    w_q, w_k, w_v = (rng.standard_normal((8, 4)) / np.sqrt(8) for _ in range(3))

    def head(x: np.ndarray) -> np.ndarray:
        """Attention over the second-to-last axis of (T, D) or (B, T, D)."""
        return softmax((x @ w_q) @ np.swapaxes(x @ w_k, -1, -2) / 2.0) @ (x @ w_v)

    batch = np.stack([x, x[::-1]])
    changed_x = x.copy()
    changed_x[1] += 1.0
    changed_batch = batch.copy()
    changed_batch[1] += 1.0
    tokens = float(np.abs(head(changed_x)[0] - head(x)[0]).max())
    samples = float(np.abs(head(changed_batch)[0] - head(batch)[0]).max())
    return {"tokens": tokens, "samples": samples, "shape": x.shape, "batched": batch.shape}
