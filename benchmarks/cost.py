"""What a step was estimated to cost, beside what it costs."""

from collections.abc import Sequence
from statistics import median

import torch

from benchmarks.report import Figure
from benchmarks.timing import taking_turns
from models.spec import RunConfig
from models.spec.budget import step_seconds
from models.training import Run


def mlp(depth: int, width: int, batch: int, **fields: object) -> RunConfig:
    """A two-layer MLP on digits, one token a sample, unless fields say otherwise."""
    return RunConfig(depth=depth, width=width, batch=batch, device="cpu", **fields)  # type: ignore[arg-type]


def transformer(depth: int, width: int, batch: int, task: str = "book") -> RunConfig:
    """A transformer on the book, 32 tokens a sample, unless the task is another."""
    return RunConfig(
        net="transformer", task=task, depth=depth, width=width, batch=batch, optimizer="adam", lr=1e-3, device="cpu", steps=100
    )


CONFIGS = (
    mlp(16, 32, 128),
    mlp(32, 64, 64),
    mlp(64, 64, 512),
    mlp(128, 64, 16),
    mlp(128, 64, 128),
    mlp(16, 256, 128),
    mlp(128, 256, 64),
    mlp(32, 64, 64, layers_per_branch=1),
    mlp(32, 32, 16, task="copy"),
    mlp(16, 64, 64, task="spiral", norm="none"),
    transformer(4, 32, 16),
    transformer(8, 64, 32),
    transformer(48, 64, 8),
    transformer(12, 256, 4),
    transformer(12, 64, 64, task="digits"),
    transformer(12, 64, 128, task="spiral"),
)


def budget(configs: Sequence[RunConfig] = CONFIGS, rounds: int = 12) -> list[Figure]:
    """Estimated over measured time of a probed step without frames; the figure is how far off the worse way round."""
    torch.set_num_threads(1)
    return [_one(cfg, rounds) for cfg in configs]


def _one(cfg: RunConfig, rounds: int) -> Figure:
    run = Run(cfg, frames=False)
    run.advance(2)
    measured = median(taking_turns({"step": lambda: run.advance(1)}, rounds)["step"])
    estimated = step_seconds(cfg)
    what = f"estimate off by a factor, {cfg.net} {cfg.depth}x{cfg.width}, {cfg.batch}x{cfg.tokens} tokens"
    off = max(estimated / measured, measured / estimated)
    note = f"estimated {1e3 * estimated:.3g} ms, measured {1e3 * measured:.3g} ms"
    return Figure(what + (", one layer" if cfg.layers_per_branch == 1 else ""), off, at_most=1.5, note=note)
