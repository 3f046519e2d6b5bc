"""Parametrizations: how multipliers, rates and weights follow width and depth, counted from the net of a base size.

muP is table 8 of Yang 2022 (2203.03466), with attention's 1/d of its definition 4.1. Its form with branches over depth
is CompleteP, table 1 of Dey 2025 (2505.01618) with alpha = 1, and Bordelon 2024 (2405.15712) for SGD. At BASE_WIDTH
(and BASE_DEPTH) every number is that of the standard parametrization.
"""

from models.spec.fields import BY_DEPTH, Fields
from models.spec.vocabulary import INITS

BASE_WIDTH = 64  # features of the base net, which has the same heads and expansion
BASE_DEPTH = 2  # blocks of the base net, as in the paper
ADAM = ("adam", "adamw")
Factors = tuple[float, float, float]  # on learning rate, weight decay and Adam's epsilon


def width_ratio(cfg: Fields) -> float:
    """Width over that of the base net; 1 for the standard parametrization."""
    return 1.0 if cfg.parametrization == "standard" else cfg.width / BASE_WIDTH


def depth_ratio(cfg: Fields) -> float:
    """Depth over that of the base net; 1 where branches do not follow the depth."""
    return cfg.depth / BASE_DEPTH if cfg.parametrization == BY_DEPTH else 1.0


def branch_factor(cfg: Fields) -> float:
    """The factor on every branch."""
    return 1 / depth_ratio(cfg)


def output_factor(cfg: Fields) -> float:
    """The factor on what the head reads."""
    return 1 / width_ratio(cfg)


def head_gain(cfg: Fields) -> float:
    """The factor on the head's initial weights, N(0, 1/D), which makes their variance that of the base net."""
    return float(width_ratio(cfg) ** 0.5)


def branch_gain(cfg: Fields) -> float:
    """The factor on a branch's initial weights: the init gain, and what makes a fixed variance fall as 1/width."""
    return cfg.init_gain * (float(width_ratio(cfg) ** -0.5) if INITS[cfg.init].fixed else 1.0)


def score_scale(cfg: Fields) -> float | None:
    """The factor on q k^T, sqrt(d_0)/d for heads of size d, d_0 in the base net; None for the usual 1/sqrt(d)."""
    ratio = width_ratio(cfg)
    return None if ratio == 1 else float((cfg.width // cfg.heads) ** -0.5 * ratio**-0.5)


def has_uniform_rates(cfg: Fields) -> bool:
    """Whether all parameters have one learning rate."""
    return width_ratio(cfg) == depth_ratio(cfg) == 1


def parameter_scaling(cfg: Fields, name: str, numbers: int) -> Factors:
    """The factors of a parameter by its name and its number of elements."""
    return scaling_factors(name, numbers, width_ratio(cfg), depth_ratio(cfg), cfg.optimizer in ADAM)


def scaling_factors(name: str, numbers: int, width: float, depth: float, adam: bool) -> tuple[float, float, float]:
    """The factors on learning rate, weight decay and Adam's epsilon of a parameter, at these multiples of the base.

    Hidden matrices grow with the width on both sides, all else on one side, and some numbers not at all.
    """
    inside = name.startswith("stream.blocks.")
    hidden = inside and ".function.w" in name and name.endswith(".weight")
    fixed = numbers == 1 or name == "head.bias" or ".relative." in name or name.startswith("stream.weights.")
    blocks = depth if inside else 1.0
    for_adam, for_sgd = 1 / width if hidden else 1.0, blocks if hidden or fixed else blocks * width
    rate = for_adam if adam else for_sgd
    return rate, 1 / rate, 1 / width / blocks
