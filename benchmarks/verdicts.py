"""The outcomes of nets by their verdict before any update: how often the verdicts come true."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count as count_up
from itertools import islice
from random import Random
from typing import Any

from benchmarks.report import Figure
from models.insight.baseline import loss_of_guessing
from models.insight.outcome import final_loss, has_learned
from models.insight.similar_nets import COUNTS, GRID, NET_GRIDS, RATES, TRAINED_STEPS
from models.insight.verdict import verdict
from models.spec import ARRANGEMENTS, NET_DEFAULTS, RunConfig
from models.spec.cautions import config_caution
from models.trace import Trace
from models.training.batched import DIFFERING_FIELDS, Batched

COUNT, SEED = 204, 21
TOGETHER = 4  # configurations of one shape, batched, at learning rates over the whole range
BLOWN_UP = 2.0  # times the loss of guessing: a run that ends above counts as diverged even if it stayed finite
OUTCOMES = ("learns", "learns nothing", "diverges")
FAILING = ("exploding", "vanishing", "collapsed", "diverged")
MAX_WRONG = 0.05  # share of the nets with a wrong verdict


@dataclass(frozen=True)
class Outcome:
    """A configuration, its verdict before any update, and its end: one of OUTCOMES."""

    cfg: RunConfig
    start: str
    end: str


def configurations(count: int = COUNT, seed: int = SEED) -> list[RunConfig]:
    """Random legal configurations, TOGETHER of each shape.

    A third of the shapes are named arrangements, the others random mixtures of their parts. Tasks that the app says
    such a net cannot learn are left out.
    """
    dice = Random(seed)
    groups = (_random_group(dice) for _ in count_up())
    learnable = (group for group in groups if not any(config_caution(replace(cfg, init="fan-in")) for cfg in group))
    return [cfg for group in islice(learnable, count // TOGETHER) for cfg in group]


def _random_group(dice: Random) -> list[RunConfig]:
    """A shape at TOGETHER learning rates, each net with its own seed, gain and, in mixtures, initialisation."""
    net = dice.choice(("mlp", "mlp", "transformer"))
    shape: dict[str, Any] = {"net": net, "steps": TRAINED_STEPS, "device": "cpu"}
    shape |= NET_DEFAULTS[net] | {name: dice.choice(values) for name, values in NET_GRIDS[net].items()}
    named = dice.choice(list(ARRANGEMENTS)) if dice.random() < 1 / 3 else ""
    if not named:
        # Half of the draws of a weight are 1, so that not every net has an odd one.
        shape |= {
            "residual": dice.random() < 0.7,
            "placement": dice.choice(GRID["placement"]),
            "norm": dice.choice(GRID["norm"]),
            "activation": dice.choice(("relu", "relu", "relu", *GRID["activation"])),
            "branch_scale": dice.choice((*[1.0] * 5, *GRID["branch_scale"])),
            "skip_scale": dice.choice((*[1.0] * 8, *GRID["skip_scale"])),
            "layers_per_branch": dice.choice(GRID["layers_per_branch"]),
        }
        if not shape["residual"]:  # a branch that starts at 0 would leave nothing of the stream
            shape["branch_scale"] = 1.0
    inits = [name for name in GRID["init"] if name != "zero last" or shape.get("residual", True)]
    low, high = RATES[net, shape["task"], shape["optimizer"]]
    group = []
    for member in range(TOGETHER):
        fields = shape | {
            "lr": low * (high / low) ** (member / (TOGETHER - 1)),
            "seed": dice.randrange(1000),
            "init_gain": dice.choice((1.0, 1.0, *GRID["init_gain"])),
        }
        group.append(
            RunConfig.arranged(named, **fields) if named else RunConfig(**fields | {"init": dice.choice(inits)})
        )
    return group


def outcomes(configs: Iterable[RunConfig]) -> Iterator[Outcome]:
    """The outcomes of configurations; those of one shape are batched."""
    shapes: dict[RunConfig, list[RunConfig]] = {}
    for cfg in configs:
        shapes.setdefault(shape_of(cfg), []).append(cfg)
    for group in shapes.values():
        runs = Batched(group, frames=(0, TRAINED_STEPS))
        runs.advance(TRAINED_STEPS)
        for cfg, trace in zip(group, runs.traces(), strict=True):
            yield Outcome(cfg, verdict(cfg, trace, 0).kind, end_of(cfg, trace))


def shape_of(cfg: RunConfig) -> RunConfig:
    """A configuration with defaults in the fields in which a batch may differ."""
    return replace(cfg, **{name: getattr(RunConfig, name) for name in DIFFERING_FIELDS})


def verdicts(count: int = COUNT, seed: int = SEED) -> Iterator[Figure]:
    """The table of `similar_nets.COUNTS`: the share that learns by verdict, and the shares of wrong verdicts."""
    table: dict[str, Counter[str]] = {}
    for outcome in outcomes(configurations(count, seed)):
        table.setdefault(outcome.start, Counter())[outcome.end] += 1
    for start, ends in sorted(table.items()):
        stated = COUNTS.get(start)
        text = ", ".join(f"{end} {ends[end]}" for end in OUTCOMES)
        text += f"; the app says {stated.learn} of {stated.nets}" if stated else "; the app says nothing"
        yield Figure(f"{start}: learn, of {ends.total()}", ends["learns"] / ends.total(), note=text)
    healthy = table.get("healthy", Counter())
    failing = sum((table.get(kind, Counter()) for kind in FAILING), Counter[str]())
    for name, wrong, total in (
        ("healthy, and does not learn", healthy.total() - healthy["learns"], healthy.total()),
        (f"{', '.join(FAILING)}, and learns", failing["learns"], failing.total()),
    ):
        yield Figure(name, wrong / max(1, total), at_most=MAX_WRONG, note=f"{wrong} of {total}")


def end_of(cfg: RunConfig, trace: Trace) -> str:
    """The end of a finished run: one of OUTCOMES."""
    guessing = loss_of_guessing(cfg.task)
    if not final_loss(trace) <= BLOWN_UP * guessing:
        return "diverges"
    return "learns" if has_learned(trace, guessing) else "learns nothing"
