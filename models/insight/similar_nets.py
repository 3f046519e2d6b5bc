"""How many small random nets with the same verdict before training went on to learn, as a sentence on a similar net.

`python -m benchmarks verdicts` draws the nets from GRID, trains them and prints COUNTS. A net gets a sentence only if
every field of it lies within GRID.
"""

from collections.abc import Mapping
from typing import NamedTuple

from models.insight.words import number
from models.spec import ACTIVATIONS, INITS, NET_DEFAULTS, NORMS, PLACEMENTS, RunConfig, knobs
from models.spec.cautions import config_caution
from models.spec.overrides import mix_ln_overrides
from models.spec.schedule import learning_rate_sum

TRAINED_STEPS = 300  # for which each net was trained
MIN_NETS = 20  # fewest nets behind a sentence
SLOW_SHARE = 1 / 3  # of the least sum of learning rates that lets a net learn, below which a run is slow

Values = tuple[object, ...]

# Values drawn, by field. A number between two of them counts as drawn; every other field had its net's default.
GRID: Mapping[str, Values] = {
    "residual": (True, False),
    "placement": tuple(PLACEMENTS),
    "norm": tuple(norm for norm in NORMS if norm != "dynamic erf"),
    "activation": tuple(ACTIVATIONS),
    "layers_per_branch": (1, 2),
    "branch_scale": (0.1, 1.0, 2.0, "1/sqrt(depth)", "zero gate", "layer scale"),
    "skip_scale": (0.5, 0.8, 1.0, 1.5, 2.0, "1/sqrt(2)", "deepnorm", "depth"),
    "input_scale": ("one", "1/sqrt(block)"),
    "stack": ("single", "residual", "dlcl"),
    "skip_repeats": (1, 2),
    "qk_norm": (False, True),
    "init": tuple(INITS),
    "init_gain": (0.5, 0.7, 1.0, 1.5, 2.0, 3.0),
}
# The same by kind of net; a repeated value is drawn more often.
NET_GRIDS: Mapping[str, Mapping[str, Values]] = {
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
# Lowest and highest learning rate with which a pre-norm net of these sizes learns the task in TRAINED_STEPS steps.
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
FIELDS_OFF_GRID = ("net", "seed", "device", "steps", "lr", "overrides")  # `similar_nets_sentence` checks some of them


class Count(NamedTuple):
    """How many of some nets learn, by `outcome.has_learned`."""

    learn: int
    nets: int


COUNTS: Mapping[str, Count] = {
    "borderline": Count(40, 58),
    "collapsed": Count(0, 13),
    "dead": Count(1, 1),
    "exploding": Count(0, 4),
    "healthy": Count(86, 90),
    "inert": Count(22, 26),
    "large updates": Count(2, 2),
    "vanishing": Count(1, 10),
}


def similar_nets_sentence(cfg: RunConfig, start: str) -> str:
    """How many similar nets with the verdict `start` before training learned; empty if too few were drawn to say."""
    rates = RATES.get((cfg.net, cfg.task, cfg.optimizer))
    if rates is None or config_caution(cfg):
        return ""
    slow = slow_sentence(cfg)
    if start in ("healthy", "inert", "borderline") and slow:
        return slow
    lowest, highest = rates
    count = COUNTS.get(start)
    if count is None or count.nets < MIN_NETS or not lowest <= cfg.lr <= highest or not _is_within_grid(cfg):
        return ""
    most_learn = 2 * count.learn > count.nets
    may_need_longer = most_learn and cfg.steps < TRAINED_STEPS
    may_learn_later = not most_learn and cfg.steps > TRAINED_STEPS
    if may_need_longer or may_learn_later:
        return ""
    nets = f"Of {count.nets} small nets drawn at random that start like this"
    return f"{nets}, {count.learn} learn in {TRAINED_STEPS} steps."


def slow_sentence(cfg: RunConfig) -> str:
    """That the learning rates of a run add up to far less than those of small nets that learned; else empty."""
    lowest, _ = RATES.get((cfg.net, cfg.task, cfg.optimizer), (0.0, 0.0))
    lr_sum, needed = learning_rate_sum(cfg), lowest * TRAINED_STEPS
    if lr_sum >= SLOW_SHARE * needed:
        return ""
    return (
        f"Slow: the learning rates of these {cfg.steps} steps add up to {number(lr_sum, 1)}; small nets that learned "
        f"had {number(needed, 2)} or more."
    )


def _is_within_grid(cfg: RunConfig) -> bool:
    """Whether every field of a net has a value that was drawn, or its default if the field was not varied."""
    defaults = {name: getattr(RunConfig, name) for name in knobs()} | NET_DEFAULTS[cfg.net]
    grid = {**{name: (value,) for name, value in defaults.items()}, **GRID, **NET_GRIDS[cfg.net]}
    return cfg.overrides in ((), mix_ln_overrides(cfg.depth)) and all(
        _is_drawn(getattr(cfg, name), grid[name]) for name in defaults if name not in FIELDS_OFF_GRID
    )


def _is_drawn(value: object, drawn: Values) -> bool:
    """Whether a value was drawn, or is a number between two that were."""
    numbers = [option for option in drawn if isinstance(option, int | float) and not isinstance(option, bool)]
    between = isinstance(value, int | float) and numbers and min(numbers) <= value <= max(numbers)
    return value in drawn or bool(between)
