"""What became of nets, by the verdict before any update: the table on which the verdicts' words and thresholds rest."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

from benchmarks.report import Figure
from models.insight.baseline import LEARNT, loss_of_guessing
from models.insight.outcome import final_loss
from models.insight.starts import DEPTHS, EARLY, RATES, STARTS, STEPS, UPDATE_DEPTH, UPDATES, WORDS, Group
from models.insight.verdict import LARGE_UPDATE, verdict
from models.spec import ACTIVATIONS, ARRANGEMENTS, INITS, NORMS, PLACEMENTS, RunConfig
from models.trace import Trace, frame_steps
from models.training.batched import MAY_DIFFER, Batched

# The words of `starts` were counted on the configurations of SEED; those of HELD_OUT_SEED are for comparison.
COUNT, SEED, HELD_OUT_SEED = 480, 0, 1
TOGETHER = 8  # configurations of one shape, which are trained as one: every learning rate of its grid twice
SLOW = 0.98  # of the loss of guessing: above it nothing was learned
BLOWN_UP = 10.0  # times the loss of guessing: a run that ends above has diverged, whether or not a number left float32
OUTCOMES = ("learns", "learns slowly", "learns nothing", "diverges")
MARGIN = 0.15  # of the share, by which other draws may miss the words
TIMES = (1, 10)  # times the learning rates of the table, for updates of every size
NETS: dict[str, dict[str, Any]] = {
    "mlp": {"task": ("digits", "digits", "spiral"), "optimizer": ("momentum", "adam"), "batch": 32},
    "transformer": {"task": ("digits", "book"), "optimizer": ("adam",), "batch": 8},
}


@dataclass(frozen=True)
class Outcome:
    """A configuration, its verdict before any update, what became of it, and whether an early update was large."""

    cfg: RunConfig
    start: str
    became: str
    large: bool


def configurations(count: int = COUNT, seed: int = SEED) -> list[RunConfig]:
    """Legal configurations, TOGETHER of each shape, drawn at random: a third of the shapes named arrangements, the
    others any mixture of their parts.
    """
    dice = Random(seed)
    return [cfg for _ in range(count // TOGETHER) for cfg in _drawn(dice)]


def _drawn(dice: Random) -> list[RunConfig]:
    """A shape at every learning rate of its grid, each net with its own seed and, in mixtures, initialisation."""
    net = dice.choice(("mlp", "mlp", "transformer"))
    sizes = NETS[net]
    optimizer = dice.choice(sizes["optimizer"])
    shape = {
        "net": net,
        "task": dice.choice(sizes["task"]),
        "depth": dice.choice(DEPTHS[net]),
        "width": 32,
        "batch": sizes["batch"],
        "optimizer": optimizer,
        "steps": STEPS,
        "device": "cpu",
    }
    named = dice.choice(list(ARRANGEMENTS)) if dice.random() < 1 / 3 else ""
    if not named:
        shape |= {
            "residual": dice.random() < 0.7,
            "placement": dice.choice(list(PLACEMENTS)),
            "norm": dice.choice(list(NORMS)),
            "activation": dice.choice(("relu", "relu", "relu", *ACTIVATIONS)),
            "branch_scale": dice.choice((1.0, 1.0, 1.0, "1/sqrt(depth)", "zero gate")),
            "layers_per_branch": dice.choice((1, 2)),
        }
        if not shape["residual"]:  # a branch that starts at 0 would leave nothing of the stream
            shape["branch_scale"] = 1.0
    inits = list(INITS) if shape.get("residual", True) else [name for name in INITS if name != "zero last"]
    drawn = []
    for lr in TOGETHER // len(RATES[optimizer]) * RATES[optimizer]:
        fields = shape | {"lr": lr, "seed": dice.randrange(1000)}
        drawn.append(RunConfig.arranged(named, **fields) if named else RunConfig(**fields, init=dice.choice(inits)))
    return drawn


def outcomes(configs: Iterable[RunConfig]) -> Iterator[Outcome]:
    """What became of configurations: those of one shape are trained as one."""
    shapes: dict[RunConfig, list[RunConfig]] = {}
    for cfg in configs:
        shapes.setdefault(shape_of(cfg), []).append(cfg)
    for group in shapes.values():
        runs = Batched(group, frames=[step for step in frame_steps(STEPS) if step <= EARLY])
        runs.advance(STEPS)
        for cfg, trace in zip(group, runs.traces(), strict=True):
            early = [frame.update_to_weight for frame in trace.frames if np.isfinite(frame.update_to_weight).any()]
            large = any((sizes > LARGE_UPDATE).any() for sizes in early)
            yield Outcome(cfg, verdict(cfg, trace, 0).kind, judged(cfg, trace), large)


def shape_of(cfg: RunConfig) -> RunConfig:
    """A configuration without what those that are trained as one may differ in."""
    return replace(cfg, **{name: getattr(RunConfig, name) for name in MAY_DIFFER})


def verdicts(count: int = COUNT, seed: int = SEED) -> Iterator[Figure]:
    """The table of `starts.STARTS`: the share that learns, by part and verdict before any update, beside its word."""
    table: dict[tuple[Group, str], list[Outcome]] = {}
    for one in outcomes(configurations(count, seed)):
        group = Group(one.cfg.net, one.cfg.optimizer, one.cfg.task)
        table.setdefault((group, one.start), []).append(one)
    for (group, start), found in sorted(table.items()):
        said = STARTS.get(group, {}).get(start)
        yield from _beside(f"{', '.join(group)}: {start}", found, said.word if said else "")


def updates(count: int = COUNT, seed: int = SEED) -> Iterator[Figure]:
    """The table of `starts.UPDATES`: the share that learns, by the size of the early updates, beside its word."""
    small = [cfg for cfg in configurations(count, seed) if cfg.net == "mlp" and cfg.depth <= UPDATE_DEPTH]
    table: dict[tuple[str, str, bool], list[Outcome]] = {}
    for one in outcomes([replace(cfg, lr=times * cfg.lr) for times in TIMES for cfg in small]):
        if one.start == "healthy":
            table.setdefault((one.cfg.net, one.cfg.optimizer, one.large), []).append(one)
    for (net, optimizer, large), found in sorted(table.items()):
        said = UPDATES.get((net, optimizer), {}).get(large)
        what = f"{net}, {optimizer}: early updates {'above' if large else 'up to'} {LARGE_UPDATE:.0%}"
        yield from _beside(what, found, said.word if said else "")


def _beside(what: str, found: list[Outcome], word: str) -> Iterator[Figure]:
    """The share of some nets that learn, once for each side on which the word that is said of them bounds it."""
    became = Counter(one.became for one in found)
    share, (low, high) = became["learns"] / len(found), WORDS.get(word, (0.0, 1.0))
    shapes = len({shape_of(one.cfg) for one in found})
    note = f"{word or 'nothing is said'}; of {len(found)}, {shapes} shapes: "
    note += ", ".join(f"{one} {became[one]}" for one in OUTCOMES)
    if low > 0 or high == 1:
        yield Figure(what, share, at_least=low - MARGIN if low else None, note=note)
    if high < 1:
        yield Figure(what, share, at_most=high + MARGIN, note=note)


def judged(cfg: RunConfig, trace: Trace) -> str:
    """What became of a finished run: one of OUTCOMES."""
    guessing, end = loss_of_guessing(cfg.task), final_loss(trace)
    if trace.divergence or end > BLOWN_UP * guessing:
        return "diverges"
    for name, share in (("learns", LEARNT), ("learns slowly", SLOW)):
        if end < min(share * guessing, float(trace.loss[0])):
            return name
    return "learns nothing"
