"""The arithmetic of the claims that need no net, in numpy with float64. Judging is done elsewhere.

Each function takes no arguments and returns numbers and arrays; random draws are seeded.
"""

from typing import Any

import numpy as np

from models.labs.attention import attend, sampled, softmax, straightness
from models.labs.normalization import fresh, normalised, remembered
from models.labs.normalization_laws import TINY_EPS, jacobian, sized
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
    out = [normalised(sized(token, spread)[None], "layer norm").values[0] for spread in SPREADS]
    gained = normalised(token[None], "layer norm", gain=2.0, bias=1.0).values[0]
    small = normalised(token[None, :4], "layer norm").values[0]
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
        layer, rms = (normalised(x[None], method, eps=TINY_EPS).values for method in ("layer norm", "rms norm"))
        apart[name] = float(np.abs(layer - rms).max())
    for method in ("layer norm", "rms norm"):
        values = np.linalg.svd(jacobian(token, method, eps=0.0), compute_uv=False)
        lost[method] = int((values < RANK_TOL * values[0]).sum())
    return {"apart": apart, "lost": lost}


def scores() -> dict[str, Any]:
    """Variance of random q·k with d_k = 16 in a model of width 64, by divisor; RMS of embedding and position.

    Embeddings have variance 1/d, as in a matrix shared with the output head.
    """
    found = {
        name: sampled(D_K, by=by) for name, by in (("nothing", 1.0), ("√d_model", D_MODEL**0.5), ("√d_k", D_K**0.5))
    }
    embedding = np.random.default_rng(22).standard_normal((512, D_MODEL)) / D_MODEL**0.5
    position = sinusoids(np.arange(32), D_MODEL)
    return {
        "variance": {name: one.variance for name, one in found.items()},
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


def linear() -> dict[str, Any]:
    """How far attention is from A(x + y) = A(x) + A(y), with fixed and with its own weights; the size of A(x)."""
    source = np.random.default_rng(29)
    x, y = source.standard_normal((2, 5, 8))
    w_q, w_k, w_v = (source.standard_normal((8, 4)) / np.sqrt(8) for _ in range(3))
    held, own = straightness(x, y, (w_q, w_k, w_v), 2.0)
    output = attend(x @ w_q, x @ w_k, x @ w_v, by=2.0).output
    return {"held": held, "own": own, "size": float(np.abs(output).max())}


def outlier() -> dict[str, Any]:
    """Layer norm of a token of 64 features with one outlier: that feature afterwards and its share of the squares."""
    token = np.random.default_rng(30).standard_normal(FEATURES)
    token[0] = 1.0
    rows = [
        normalised((token * np.append(times, np.ones(FEATURES - 1)))[None], "layer norm").values[0]
        for times in OUTLIERS
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
    memory = remembered(fresh(8), seen, batches=100)
    found = {}
    for name, settings in (("batch norm", {"running": memory}), ("layer norm", {})):
        train, use = (normalised(x, name, **settings).values[:, 0].mean() for x in (seen, used))  # type: ignore[arg-type]
        found[name] = (float(train), float(use))
    everywhere = normalised(seen + 3.0, "layer norm").values - normalised(seen, "layer norm").values
    return found | {"token shift": float(np.abs(everywhere).max())}


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
