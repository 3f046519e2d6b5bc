"""Learning-rate schedules: linear warm-up, then a constant rate or half a cosine."""

import math
from functools import lru_cache

from models.spec.config import RunConfig


def learning_rates(cfg: RunConfig) -> list[float]:
    """The learning rate of each update: lr * warm-up(k) * decay(k) for k = 0 ... steps - 1."""
    return [cfg.lr * _warmup_factor(k, cfg.warmup) * _decay_factor(k, cfg) for k in range(cfg.steps)]


@lru_cache(maxsize=256)
def learning_rate_sum(cfg: RunConfig) -> float:
    return sum(learning_rates(cfg))


def _warmup_factor(k: int, warmup: int) -> float:
    return min(1.0, (k + 1) / warmup) if warmup else 1.0


def _decay_factor(k: int, cfg: RunConfig) -> float:
    """1, or (1 + cos(pi t)) / 2 at the share t of the steps after the warm-up (Loshchilov 2016, 1608.03983)."""
    if cfg.schedule == "constant" or k < cfg.warmup:
        return 1.0
    return 0.5 * (1 + math.cos(math.pi * (k - cfg.warmup) / max(1, cfg.steps - cfg.warmup)))
