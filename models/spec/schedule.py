"""Learning-rate schedules: linear warm-up, then a constant rate or half a cosine."""

import math
from functools import lru_cache

from models.spec.config import RunConfig


def learning_rate(k: int, lr: float, warmup: int, schedule: str, steps: int) -> float:
    """The rate of update k of `steps`: a linear warm-up, then `lr` or half a cosine (Loshchilov 2016, 1608.03983).

    Stand-alone scripts quote it.
    """
    rise = min(1.0, (k + 1) / warmup) if warmup else 1.0
    if schedule == "constant" or k < warmup:
        return lr * rise
    return lr * rise * 0.5 * (1 + math.cos(math.pi * (k - warmup) / max(1, steps - warmup)))


def learning_rates(cfg: RunConfig) -> list[float]:
    """The learning rate of each update, k = 0 ... steps - 1."""
    return [learning_rate(k, cfg.lr, cfg.warmup, cfg.schedule, cfg.steps) for k in range(cfg.steps)]


@lru_cache(maxsize=256)
def learning_rate_sum(cfg: RunConfig) -> float:
    return sum(learning_rates(cfg))
