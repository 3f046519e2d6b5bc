"""Parametrizations: how multipliers, learning rates and weights scale with width and depth relative to a base net.

muP follows table 8 of Yang 2022 (2203.03466), with the 1/d attention of its definition 4.1. "muP + 1/depth" is
CompleteP, table 1 of Dey 2025 (2505.01618) with alpha = 1, and Bordelon 2024 (2405.15712) for SGD. At BASE_WIDTH and
BASE_DEPTH every number equals that of the standard parametrization.
"""

from models.spec.fields import BY_DEPTH, Fields
from models.spec.vocabulary import INITS

BASE_WIDTH = 64  # features of the base net, whose heads and expansion are the same
BASE_DEPTH = 2  # blocks of the base net, as in Dey 2025
ADAM_OPTIMIZERS = ("adam", "adamw")
REST_OF_MUON = 3e-4 / 0.02  # AdamW's learning rate over Muon's, in the README of github.com/KellerJordan/Muon
Factors = tuple[float, float, float]  # on learning rate, weight decay and Adam's epsilon


def width_ratio(cfg: Fields) -> float:
    """m_D = width / BASE_WIDTH; 1 for the standard parametrization."""
    return 1.0 if cfg.parametrization == "standard" else cfg.width / BASE_WIDTH


def depth_ratio(cfg: Fields) -> float:
    """m_L = depth / BASE_DEPTH; 1 for a parametrization that does not scale with depth."""
    return cfg.depth / BASE_DEPTH if cfg.parametrization == BY_DEPTH else 1.0


def branch_factor(cfg: Fields) -> float:
    """The multiplier 1/m_L of every branch."""
    return 1 / depth_ratio(cfg)


def output_factor(cfg: Fields) -> float:
    """The multiplier 1/m_D of the head's input."""
    return 1 / width_ratio(cfg)


def head_gain(cfg: Fields) -> float:
    """The factor sqrt(m_D) on the head's initial weights N(0, 1/D): their variance is that of the base net."""
    return float(width_ratio(cfg) ** 0.5)


def branch_gain(cfg: Fields) -> float:
    """The factor on a branch's initial weights: the init gain, times m_D^(-1/2) for a width-independent variance."""
    return cfg.init_gain * (float(width_ratio(cfg) ** -0.5) if INITS[cfg.init].fixed else 1.0)


def score_scale(cfg: Fields) -> float | None:
    """The factor sqrt(d_0)/d on q k^T for heads of size d, d_0 in the base net; None for the usual 1/sqrt(d)."""
    ratio = width_ratio(cfg)
    return None if ratio == 1 else float((cfg.width // cfg.heads) ** -0.5 * ratio**-0.5)


def has_uniform_rates(cfg: Fields) -> bool:
    """Whether all parameters have the same factors."""
    return width_ratio(cfg) == depth_ratio(cfg) == 1


def parameter_scaling(cfg: Fields, name: str, numbers: int) -> Factors:
    """The factors of a parameter by its name and its number of elements."""
    adam = cfg.optimizer in ADAM_OPTIMIZERS
    return scaling_factors(name, numbers, width=width_ratio(cfg), depth=depth_ratio(cfg), adam=adam)


def scaling_factors(name: str, numbers: int, width: float, depth: float, adam: bool) -> Factors:
    """The factors on learning rate, weight decay and Adam's epsilon of a parameter with `numbers` elements.

    `width` and `depth` are multiples of the base net's. A hidden matrix grows with the width on both axes, other
    parameters on one, and a fixed size does not grow.
    """
    in_block = name.startswith("stream.blocks.")
    is_hidden = in_block and ".function.w" in name and name.endswith(".weight")
    is_fixed = numbers == 1 or name == "head.bias" or ".relative." in name or name.startswith("stream.weights.")
    blocks = depth if in_block else 1.0
    adam_rate = 1 / width if is_hidden else 1.0
    sgd_rate = blocks if is_hidden or is_fixed else blocks * width
    rate = adam_rate if adam else sgd_rate
    return rate, 1 / rate, 1 / width / blocks
