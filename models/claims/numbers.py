"""The arithmetic of the claims that need no net, in numpy with float64. Judging is done elsewhere.

Each function takes no arguments and returns numbers and arrays; random draws are seeded.
"""

from typing import Any

import numpy as np

from models.labs.attention import attend, linearity_errors, score_statistics, softmax
from models.labs.normalization import initial_running, normalise, updated_running
from models.labs.normalization_laws import TINY_EPS, jacobian, with_spread
from models.labs.positions import sinusoids

SPREADS = (1.0, 0.03, 3e-3)
D_K, HEADS, D_MODEL = 16, 4, 64
OUTLIERS = (1.0, 10.0, 1000.0)
FEATURES = 64
DRAWS, THIN, DEEP = 400, 16, 32
RANK_TOL = 1e-9  # of the largest singular value: below it a direction is lost


def spreads() -> dict[str, Any]:
    """The spread of a token after layer norm, by its spread before; also with a gain, and unbiased."""
    token = np.random.default_rng(2).standard_normal(FEATURES)
    out = [normalise(with_spread(token, spread)[None], "layer norm").values[0] for spread in SPREADS]
    gained = normalise(token[None], "layer norm", gain=2.0, bias=1.0).values[0]
    small = normalise(token[None, :4], "layer norm").values[0]
    return {
        "given": np.array(SPREADS),
        "biased": np.array([one.std() for one in out]),
        "gain": float(gained.std()),
        "unbiased": float(small.std(ddof=1)),
    }


def rms_and_layer() -> dict[str, Any]:
    """Layer norm and RMS norm on a token with and without its mean, and how many directions each discards."""
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
        name: score_statistics(D_K, divisor=by)
        for name, by in (("nothing", 1.0), ("√d_model", D_MODEL**0.5), ("√d_k", D_K**0.5))
    }
    embedding = np.random.default_rng(22).standard_normal((512, D_MODEL)) / D_MODEL**0.5
    position = sinusoids(np.arange(32), D_MODEL)
    return {
        "variance": {name: one.variance for name, one in values.items()},
        "embedding": float(np.sqrt((embedding**2).mean())),
        "scaled": float(np.sqrt(D_MODEL * (embedding**2).mean())),
        "position": float(np.sqrt((position**2).mean())),
    }


def products() -> dict[str, Any]:
    """The mean square after 32 random ReLU layers of width 16 with He's initialisation, by seed (400,)."""
    source = np.random.default_rng(24)
    x_KD = source.standard_normal((DRAWS, THIN))
    start = (x_KD**2).mean(1)
    for _ in range(DEEP):
        weights = source.standard_normal((DRAWS, THIN, THIN)) * np.sqrt(2 / THIN)
        x_KD = np.maximum(np.einsum("kij,kj->ki", weights, x_KD), 0.0)
    return {"gains": (x_KD**2).mean(1) / start}


def small_weights() -> dict[str, Any]:
    """Median and largest size of as many weights as 32 layers of width 256 have, drawn from N(0, 2/64)."""
    source = np.random.default_rng(34)
    sizes = np.abs(source.standard_normal(DEEP * 256**2)) * np.sqrt(2 / FEATURES)
    return {"median": float(np.median(sizes)), "largest": float(sizes.max()), "count": len(sizes)}


def shortcuts() -> dict[str, Any]:
    """The share of a gradient's length that 32 layers of each design return.

    All have the same layer tanh(W x) of 64 features with spectral radius about 1/2. Highway 1505.00387: gates t with
    bias -3, t tanh(W x) + (1 - t) x. LSTM of 1997, without a forget gate: c + i tanh(W h), h = o tanh(c).
    """
    source = np.random.default_rng(35)
    size = FEATURES
    w, w_t, w_i, w_o = (0.5 * source.standard_normal((size, size)) / np.sqrt(size) for _ in range(4))
    x = source.standard_normal(size)
    gradient = source.standard_normal(size)
    eye = np.eye(size)

    def layer(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        bent = np.tanh(w @ x)
        return bent, (1 - bent**2)[:, None] * w

    def residual(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        bent, slope = layer(x)
        return x + bent, eye + slope

    def highway(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        bent, slope = layer(x)
        t = 1 / (1 + np.exp(3 - w_t @ x))
        gate_slope = ((bent - x) * t * (1 - t))[:, None] * w_t
        return t * bent + (1 - t) * x, t[:, None] * slope + np.diag(1 - t) + gate_slope

    def lstm(state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A step of (c, h), with its Jacobian (2 D, 2 D)."""
        c, h = np.split(state, 2)
        bent, slope = layer(h)
        i, o = (1 / (1 + np.exp(-gate @ h)) for gate in (w_i, w_o))
        c_by_h = i[:, None] * slope + (bent * i * (1 - i))[:, None] * w_i
        c = c + i * bent
        flat = o * (1 - np.tanh(c) ** 2)
        h_by_h = (np.tanh(c) * o * (1 - o))[:, None] * w_o + flat[:, None] * c_by_h
        return np.concatenate([c, o * np.tanh(c)]), np.block([[eye, c_by_h], [np.diag(flat), h_by_h]])

    shares = {}
    designs = {"LSTM cell": lstm, "Highway layer": highway, "Residual layer": residual, "Plain layer": layer}
    for name, step in designs.items():
        at, jacobians = np.concatenate([x, np.zeros(size)]) if step is lstm else x, []
        for _ in range(DEEP):
            at, step_jacobian = step(at)
            jacobians.append(step_jacobian)
        back = np.concatenate([gradient, np.zeros(len(at) - size)])
        for step_jacobian in reversed(jacobians):
            back = back @ step_jacobian
        shares[name] = float(np.linalg.norm(back[:size]) / np.linalg.norm(gradient))
    return {"shares": shares}


def one_matrix() -> dict[str, Any]:
    """The product of 32 random blocks x + W2 W1 x of two features, and by how much it differs from them."""
    source = np.random.default_rng(36)
    x_ND = source.standard_normal((100, 2))
    out_ND, product = x_ND, np.eye(2)
    for _ in range(DEEP):
        w1, w2 = source.standard_normal((2, 2, 2)) / 2
        out_ND = out_ND + (out_ND @ w1) @ w2 / np.sqrt(DEEP)
        product = product @ (np.eye(2) + w1 @ w2 / np.sqrt(DEEP))
    return {"product": product, "apart": float(np.abs(out_ND - x_ND @ product).max()), "blocks": DEEP}


def linear() -> dict[str, Any]:
    """How far attention is from A(x + y) = A(x) + A(y), with fixed and with its own weights; the size of A(x)."""
    source = np.random.default_rng(29)
    x, y = source.standard_normal((2, 5, 8))
    w_q, w_k, w_v = (source.standard_normal((8, 4)) / np.sqrt(8) for _ in range(3))
    with_relation, without_relation = linearity_errors(x, y, (w_q, w_k, w_v), 2.0)
    output = attend(x @ w_q, x @ w_k, x @ w_v, divisor=2.0).output
    return {"held": with_relation, "own": without_relation, "size": float(np.abs(output).max())}


def outlier() -> dict[str, Any]:
    """Layer norm of a token of 64 features with one outlier: that feature afterwards and its share of the squares."""
    token = np.random.default_rng(30).standard_normal(FEATURES)
    token[0] = 1.0
    rows = [
        normalise((token * np.append(times, np.ones(FEATURES - 1)))[None], "layer norm").values[0] for times in OUTLIERS
    ]
    return {
        "times": np.array(OUTLIERS),
        "after": np.array([row[0] for row in rows]),
        "share": np.array([row[0] ** 2 / (row**2).sum() for row in rows]),
        "sum": np.array([(row**2).sum() for row in rows]),
        "bound": float(np.sqrt(FEATURES - 1)),
    }


def shifted() -> dict[str, Any]:
    """Data shifted by 3 between training and inference: the mean after each norm in both."""
    source = np.random.default_rng(31)
    seen = source.standard_normal((256, 8))
    used = seen + 3.0 * (np.arange(8) == 0)
    memory = updated_running(initial_running(8), seen, batches=100)
    outputs = {}
    for name, settings in (("batch norm", {"running": memory}), ("layer norm", {})):
        train, use = (normalise(x, name, **settings).values[:, 0].mean() for x in (seen, used))  # type: ignore[arg-type]
        outputs[name] = (float(train), float(use))
    everywhere = normalise(seen + 3.0, "layer norm").values - normalise(seen, "layer norm").values
    return outputs | {"token shift": float(np.abs(everywhere).max())}


def rows() -> dict[str, Any]:
    """How far output 1 moves when entry 2 of the first axis changes: in X (5, 8), and in a batch (2, 5, 8)."""
    source = np.random.default_rng(33)
    x = source.standard_normal((5, 8))
    w_q, w_k, w_v = (source.standard_normal((8, 4)) / np.sqrt(8) for _ in range(3))

    def head(x: np.ndarray) -> np.ndarray:
        """Attention over the second-to-last axis of (T, D) or (B, T, D)."""
        return softmax((x @ w_q) @ np.swapaxes(x @ w_k, -1, -2) / 2.0) @ (x @ w_v)

    batch = np.stack([x, x[::-1]])
    other, another = x.copy(), batch.copy()
    other[1] += 1.0
    another[1] += 1.0
    tokens = float(np.abs(head(other)[0] - head(x)[0]).max())
    samples = float(np.abs(head(another)[0] - head(batch)[0]).max())
    return {"tokens": tokens, "samples": samples, "shape": x.shape, "batched": batch.shape}
