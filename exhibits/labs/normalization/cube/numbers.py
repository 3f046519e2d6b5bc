"""Norms on a block of batch, sequence and features, and which values share statistics. numpy, float64.

Legend: B samples, T tokens (of an image: pixels), D features (channels). As in torch, group norm takes its statistics
over all tokens of a sample and the features of a group, joint layer norm over all tokens and features of a sample.
"""

import numpy as np

MAX_BATCH = 4
MAX_TOKENS = 6
MAX_FEATURES = 8
NORMS = ("layer norm", "rms norm", "batch norm", "instance norm", "group norm", "joint layer norm")
NEEDS_TWO = ("batch norm", "instance norm", "group norm")  # torch raises an error for sets of one value
EPS = 1e-5
# By shape of an input, the names of its axes as a block has them: samples, tokens (of an image: pixels), features.
SHAPES = {"[B, F]": ("B", "", "F"), "[B, C, H, W]": ("B", "H, W", "C"), "[B, T, F]": ("B", "T", "F")}


def block(batch: int, tokens: int, features: int) -> np.ndarray:
    """Gaussian numbers to one decimal, (B, T, D); a smaller block is a corner of a larger one."""
    largest = np.random.default_rng(0).normal(size=(MAX_BATCH, MAX_TOKENS, MAX_FEATURES)).round(1)
    return np.asarray(largest[:batch, :tokens, :features])


def set_labels(shape: tuple[int, int, int], norm: str, groups: int = 1) -> np.ndarray:
    """Labels (B, T, D), equal for values that share statistics. ValueError if the groups do not divide D."""
    _, tokens, features = shape
    if features % groups:
        raise ValueError(f"{groups} groups do not divide {features} features.")
    sample, token, feature = np.indices(shape)
    per_token, per_feature = sample * tokens + token, sample * features + feature
    return {
        "layer norm": per_token,
        "rms norm": per_token,
        "batch norm": feature,
        "instance norm": per_feature,
        "group norm": sample * groups + feature // (features // groups),
        "joint layer norm": sample,
    }[norm]


def averaged_over(norm: str, shape: str) -> str:
    """The axes of an input of one of SHAPES over which a norm takes its statistics; "" if torch refuses it."""
    names = SHAPES[shape]
    size = (2, 3 if names[1] else 1, 4)
    labels = set_labels(size, norm, groups=2)
    members = np.nonzero(labels == labels[0, 0, 0])
    counts = [len(set(places.tolist())) for places in members]
    if norm in NEEDS_TWO and len(members[0]) == 1:
        return ""
    axes = [(name, count < of) for name, count, of in zip(names, counts, size, strict=True) if count > 1]
    return ", ".join(f"a group of {name}" if is_part else name for name, is_part in axes)


def normed_block(x_BTD: np.ndarray, norm: str, groups: int = 1) -> np.ndarray:
    """The block after a norm without gain and bias, (B, T, D). ValueError for sets of one value where torch raises."""
    x = np.asarray(x_BTD, float)
    labels = set_labels(x.shape, norm, groups)
    y = np.empty_like(x)
    for label in np.unique(labels):
        members = labels == label
        if norm in NEEDS_TWO and members.sum() == 1:
            raise ValueError(f"{norm.capitalize()} needs more than one value in a set: a single one has no spread.")
        centred = x[members] - (0.0 if norm == "rms norm" else x[members].mean())
        y[members] = centred / np.sqrt((centred**2).mean() + EPS)
    return y


def changes(x_BTD: np.ndarray, norm: str, cell: tuple[int, int, int], push: float, groups: int = 1) -> np.ndarray:
    """Change of each result when the value at `cell` grows by `push`, (B, T, D)."""
    pushed = np.array(x_BTD, float)
    pushed[cell] += push
    return normed_block(pushed, norm, groups) - normed_block(x_BTD, norm, groups)
