"""What a step was estimated to cost, beside what it costs."""

from collections.abc import Sequence
from functools import partial
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
    """Estimated and measured time of a probed step without frames. A figure is how far off, the worse way round."""
    torch.set_num_threads(1)
    runs = {cfg: Run(cfg, frames=False) for cfg in configs}
    for run in runs.values():
        run.advance(2)
    seconds = taking_turns({name_of(cfg): partial(run.advance, 1) for cfg, run in runs.items()}, rounds)
    pairs = {cfg: (step_seconds(cfg), median(seconds[name_of(cfg)])) for cfg in configs}
    speed = median(measured / estimated for estimated, measured in pairs.values())
    note = "1 on the quiet machine that the estimate is for"
    return [Figure("measured / estimated, median", speed, note=note), *(_off(cfg, *pair) for cfg, pair in pairs.items())]


def name_of(cfg: RunConfig) -> str:
    """A configuration in a few words: net, depth x width, batch x tokens, and what is not as usual."""
    words = [cfg.net, f"{cfg.depth}x{cfg.width},", f"{cfg.batch}x{cfg.tokens} tokens"]
    return " ".join(words + ["one layer"] * (cfg.layers_per_branch == 1) + ["no norm"] * (cfg.norm == "none"))


def _off(cfg: RunConfig, estimated: float, measured: float) -> Figure:
    off = max(estimated / measured, measured / estimated)
    note = f"estimated {1e3 * estimated:.3g} ms, measured {1e3 * measured:.3g} ms"
    return Figure(f"off by a factor, {name_of(cfg)}", off, at_most=1.5, note=note)
