"""The learning rate of every step: linear warm-up, then constant or half a cosine."""

import math
from functools import lru_cache

from models.spec.config import RunConfig


def learning_rates(cfg: RunConfig) -> list[float]:
    """The learning rate of update k for k = 0 ... steps - 1."""
    return [cfg.lr * _warm(k, cfg.warmup) * _decay(k, cfg) for k in range(cfg.steps)]


@lru_cache(maxsize=256)
def learning_rate_sum(cfg: RunConfig) -> float:
    """The learning rates of all updates, summed."""
    return sum(learning_rates(cfg))


def _warm(k: int, warmup: int) -> float:
    return min(1.0, (k + 1) / warmup) if warmup else 1.0


def _decay(k: int, cfg: RunConfig) -> float:
    if cfg.schedule == "constant" or k < cfg.warmup:
        return 1.0
    return 0.5 * (1 + math.cos(math.pi * (k - cfg.warmup) / max(1, cfg.steps - cfg.warmup)))
