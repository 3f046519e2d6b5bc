"""Prepared comparisons: a question and the configurations that answer it. Differences between configurations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from models.spec.arrangements import arrangement_of
from models.spec.config import RunConfig

MAX_COLUMNS = 5
OTHER_PLACEMENT = {"pre-norm": "post-norm", "post-norm": "pre-norm"}


@dataclass(frozen=True)
class Pairing:
    """A question, and a function that returns the two to MAX_COLUMNS configurations that answer it."""

    question: str
    make: Callable[[], tuple[RunConfig, ...]]


def _transformer(arrangement: str, **overrides: Any) -> RunConfig:
    return RunConfig.arranged(arrangement, net="transformer", task="book", depth=12, batch=16, **overrides)


def _deep(arrangement: str) -> RunConfig:
    """A net just wide enough, trained just long enough to show the difference: half a minute for both."""
    small: dict[str, Any] = {"width": 16, "batch": 8, "steps": 150}
    return RunConfig.arranged(arrangement, net="transformer", task="book", depth=48, lr=0.003, **small)


def _deep_digits(arrangement: str, **overrides: Any) -> RunConfig:
    """Without warm-up, post-norm learns under none of seeds 0 to 3; with 100 steps of it, under seed 0 and another."""
    size: dict[str, Any] = {"depth": 24, "width": 32, "heads": 2, "expansion": 1, "batch": 16, "lr": 0.001}
    return RunConfig.arranged(arrangement, net="transformer", task="digits", **size, **overrides)


DEEP_PLACEMENTS = "pre-norm and post-norm, 48 blocks"
RESIDUALS = "where does the residual go, 2015 to 2026"
PAIRINGS = {
    "residual x norm": Pairing(
        "Which of the two does a deep net need?",
        lambda: (
            RunConfig(),
            RunConfig(norm="none"),
            RunConfig(residual=False),
            RunConfig(residual=False, norm="none"),
        ),
    ),
    "residual on and off": Pairing(
        "What does the residual alone change?",
        lambda: (RunConfig(), RunConfig(residual=False)),
    ),
    RESIDUALS: Pairing(
        "Into a norm, past it, into four streams, into attention over depth: who lags behind, and whose stream grows?",
        lambda: tuple(
            RunConfig.arranged(arrangement, steps=150)
            for arrangement in ("post-norm", "pre-norm", "hyper-connections", "mHC", "attention residuals")
        ),
    ),
    "post-norm and its warm-up": Pairing(
        "Does post-norm need warm-up where pre-norm does not?",
        lambda: (
            _transformer("post-norm", lr=0.003),
            _transformer("post-norm", lr=0.003, warmup=100),
            _transformer("pre-norm", lr=0.003),
        ),
    ),
    "post-norm and its warm-up, 24 blocks": Pairing(
        "Does a post-norm transformer of 24 blocks learn without warm-up?",
        lambda: (_deep_digits("post-norm"), _deep_digits("post-norm", warmup=100), _deep_digits("pre-norm")),
    ),
    DEEP_PLACEMENTS: Pairing(
        "Which of the two still trains 48 blocks of a transformer?",
        lambda: (_deep("pre-norm"), _deep("post-norm")),
    ),
    "layer norm and batch norm, two samples": Pairing(
        "Which norm copes with a tiny batch?",
        lambda: (RunConfig(depth=16, batch=2), RunConfig(depth=16, batch=2, norm="batch norm")),
    ),
    "DeepNorm and post-norm, 48 blocks": Pairing(
        "What do a heavier residual and smaller initial weights do?",
        lambda: (RunConfig.arranged("DeepNorm", depth=48), RunConfig.arranged("post-norm", depth=48)),
    ),
    "He init with and without norm, 48 blocks": Pairing(
        "He init keeps a plain ReLU net level: why does a residual net explode with it?",
        lambda: (
            # He's factor of 2 assumes branches of one layer; with two, each block doubles the mean square.
            RunConfig.arranged("plain", depth=48, init="he", layers_per_branch=1),
            RunConfig.arranged("residual only", depth=48, init="he", layers_per_branch=1),
            RunConfig.arranged("pre-norm", depth=48, init="he", layers_per_branch=1),
        ),
    ),
}


def contrasting_pair(cfg: RunConfig) -> tuple[list[RunConfig], str]:
    """A configuration with the one to compare it with, and the name of the latter.

    That is a transformer's other placement, or the same net with the residual switched.
    """
    arrangement = arrangement_of(cfg)
    if cfg.stack != "single":
        return [cfg, RunConfig.arranged("pre-norm", net=cfg.net)], "pre-norm"
    if cfg.net == "transformer" and arrangement in OTHER_PLACEMENT:
        placement = OTHER_PLACEMENT[arrangement]
        return [cfg, replace(cfg, placement=placement)], placement
    return [cfg, replace(cfg, residual=not cfg.residual)], "no residual" if cfg.residual else "a residual"


def differing_fields(columns: Sequence[RunConfig]) -> tuple[str, ...]:
    """Names of the fields in which configurations differ, in field order."""
    names = (field.name for field in fields(RunConfig))
    return tuple(name for name in names if len({getattr(cfg, name) for cfg in columns}) > 1)


def changed_fields(before: RunConfig, after: RunConfig) -> dict[str, Any]:
    """The fields in which `after` differs from `before`, with their new values."""
    return {name: getattr(after, name) for name in differing_fields((before, after))}


def incomparable_charts(columns: Sequence[RunConfig]) -> dict[str, str]:
    """The charts whose axis the configurations cannot share ("depth", "loss"), each with the reason in a sentence."""
    nets = {cfg.net for cfg in columns}
    tasks = sorted({cfg.task for cfg in columns})
    reasons = {}
    if len(nets) > 1:
        reasons["depth"] = (
            "An MLP block is one sublayer and a transformer block is two: "
            "their depths have no common axis, so they share the chart of the loss alone."
        )
    if len(tasks) > 1:
        reasons["loss"] = (
            f"The columns learn different tasks ({', '.join(tasks)}): "
            "their losses cannot be compared, so only the profiles are drawn."
        )
    return reasons
