"""What became of small nets drawn at random, by their verdict before any update, as sentences on nets like them.

`python -m benchmarks verdicts` draws them from GRID, trains them and prints COUNTS. Nothing is said of a net that
differs in any field from all that was drawn.
"""

from collections.abc import Mapping
from typing import NamedTuple

from models.insight.words import number
from models.spec import ACTIVATIONS, INITS, NET_DEFAULTS, NORMS, PLACEMENTS, STACKS, RunConfig, knobs
from models.spec.cautions import note
from models.spec.overrides import mix_ln
from models.spec.schedule import learning_rates

STEPS = 300  # that each net was trained for
MIN_NETS = 20  # for a sentence
SLOW = 1 / 3  # a run is slow whose learning rates add up to less than this share of the lowest rate times STEPS

Values = tuple[object, ...]

# What was drawn, by field. Numbers in between count as drawn; any other field had its net's default.
GRID: Mapping[str, Values] = {
    "residual": (True, False),
    "placement": tuple(PLACEMENTS),
    "norm": tuple(NORMS),
    "activation": tuple(ACTIVATIONS),
    "layers_per_branch": (1, 2),
    "branch_scale": (0.1, 1.0, 2.0, "1/sqrt(depth)", "zero gate", "layer scale"),
    "skip_scale": (0.5, 0.8, 1.0, 1.5, 2.0, "1/sqrt(2)", "deepnorm", "depth"),
    "input_scale": ("one", "1/sqrt(block)"),
    "stack": tuple(STACKS),
    "skip_repeats": (1, 2),
    "qk_norm": (False, True),
    "init": tuple(INITS),
    "init_gain": (0.5, 0.7, 1.0, 1.5, 2.0, 3.0),
}
# A value that is repeated is drawn more often.
OF_NET: Mapping[str, Mapping[str, Values]] = {
    "mlp": {
        "task": ("digits", "digits", "spiral"),
        "optimizer": ("momentum", "momentum", "sgd", "adam", "adam", "adamw"),
        "depth": (2, 4, 8, 16, 32, 64),
        "width": (16, 32, 64),
        "batch": (16, 32, 64),
    },
    "transformer": {
        "task": ("digits", "book"),
        "optimizer": ("adam", "adam", "adamw", "momentum"),
        "depth": (2, 4, 8, 16),
        "width": (16, 32),
        "batch": (8, 16),
    },
}
# Learning rates with which a pre-norm net of such a size learns the task in STEPS: the least and the greatest.
RATES: Mapping[tuple[str, str, str], tuple[float, float]] = {
    ("mlp", "digits", "sgd"): (0.01, 0.3),
    ("mlp", "digits", "momentum"): (0.003, 0.1),
    ("mlp", "digits", "adam"): (3e-4, 0.01),
    ("mlp", "digits", "adamw"): (3e-4, 0.01),
    ("mlp", "spiral", "sgd"): (0.1, 0.3),
    ("mlp", "spiral", "momentum"): (0.01, 0.05),
    ("mlp", "spiral", "adam"): (1e-3, 0.01),
    ("mlp", "spiral", "adamw"): (1e-3, 0.01),
    ("transformer", "digits", "momentum"): (0.003, 0.05),
    ("transformer", "digits", "adam"): (3e-4, 0.003),
    ("transformer", "digits", "adamw"): (3e-4, 0.003),
    ("transformer", "book", "momentum"): (0.03, 0.1),
    ("transformer", "book", "adam"): (1e-3, 0.01),
    ("transformer", "book", "adamw"): (1e-3, 0.01),
}
FIELDS_NOT_COMPARED = ("net", "seed", "device", "steps", "lr", "overrides")  # by the grid; `became` looks at some


class Count(NamedTuple):
    """How many of some nets learn, as `outcome.learned` says."""

    learn: int
    nets: int


COUNTS: Mapping[str, Count] = {
    "borderline": Count(36, 51),
    "collapsed": Count(0, 4),
    "diverged": Count(0, 3),
    "exploding": Count(0, 14),
    "healthy": Count(85, 89),
    "inert": Count(28, 28),
    "large updates": Count(3, 3),
    "vanishing": Count(0, 12),
}


def became(cfg: RunConfig, start: str) -> str:
    """What became of the nets like this one that had this verdict before any update; empty where that is not known."""
    rates = RATES.get((cfg.net, cfg.task, cfg.optimizer))
    if rates is None or note(cfg):
        return ""
    lr_sum, least = sum(learning_rates(cfg)), rates[0] * STEPS
    if start in ("healthy", "inert", "borderline") and lr_sum < SLOW * least:
        return (
            f"Slow: the learning rates of these {cfg.steps} steps add up to {number(lr_sum, 1)}; small nets that "
            f"learned had {number(least, 2)} or more."
        )
    count = COUNTS.get(start)
    if count is None or count.nets < MIN_NETS or not rates[0] <= cfg.lr <= rates[1] or not _within_grid(cfg):
        return ""
    mostly = 2 * count.learn > count.nets
    too_short = mostly and cfg.steps < STEPS  # it may not have learned yet
    too_long = not mostly and cfg.steps > STEPS  # it may still learn
    if too_short or too_long:
        return ""
    return f"Of {count.nets} small nets drawn at random that start like this, {count.learn} learn in {STEPS} steps."


def _within_grid(cfg: RunConfig) -> bool:
    """Whether every field of a net is among what was drawn, or is the default."""
    grid = {**GRID, **OF_NET[cfg.net]}
    usual = {name: getattr(RunConfig, name) for name in knobs()} | NET_DEFAULTS[cfg.net]
    return cfg.overrides in ((), mix_ln(cfg.depth)) and all(
        _among(getattr(cfg, name), grid.get(name, (usual[name],))) for name in usual if name not in FIELDS_NOT_COMPARED
    )


def _among(value: object, drawn: Values) -> bool:
    """Whether a value was drawn, or is a number between two that were."""
    numbers = [one for one in drawn if isinstance(one, int | float) and not isinstance(one, bool)]
    between = isinstance(value, int | float) and numbers and min(numbers) <= value <= max(numbers)
    return value in drawn or bool(between)
