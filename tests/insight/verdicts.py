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
from models.insight.outcome import LEARNS, OUTCOMES, outcome
from models.insight.similar_nets import COUNTS, GRID, NET_GRIDS, RATES, TRAINED_STEPS
from models.insight.verdict import verdict
from models.spec import ARRANGEMENTS, NET_DEFAULTS, RunConfig
from models.spec.cautions import config_caution
from models.training.batched import DIFFERING_FIELDS, Batched

COUNT = 204  # configurations
SEED = 21
GROUP_SIZE = 4  # configurations of one shape, which are batched; their learning rates cover the whole range
FAILING = ("exploding", "vanishing", "collapsed", "diverged")
MAX_WRONG = 0.05  # the goal: share of the nets with a wrong verdict


@dataclass(frozen=True)
class Outcome:
    """A configuration, its verdict before any update, and its end: one of OUTCOMES."""

    cfg: RunConfig
    start: str
    end: str


def configurations(count: int = COUNT, seed: int = SEED) -> list[RunConfig]:
    """Random legal configurations, GROUP_SIZE of each shape.

    A third of the shapes are named arrangements, the others random mixtures of their parts. Tasks that the app says
    such a net cannot learn are left out.
    """
    dice = Random(seed)
    groups = (_random_group(dice) for _ in count_up())
    learnable = (group for group in groups if not any(config_caution(replace(cfg, init="fan-in")) for cfg in group))
    return [cfg for group in islice(learnable, count // GROUP_SIZE) for cfg in group]


def _random_group(dice: Random) -> list[RunConfig]:
    """A shape at GROUP_SIZE learning rates, each net with its own seed, gain and, in mixtures, initialisation."""
    net = dice.choice(("mlp", "mlp", "transformer"))
    shape: dict[str, Any] = {"net": net, "steps": TRAINED_STEPS, "device": "cpu"}
    shape |= NET_DEFAULTS[net] | {name: dice.choice(values) for name, values in NET_GRIDS[net].items()}
    drawn = [name for name, one in ARRANGEMENTS.items() if one.fields.get("stack", "single") in GRID["stack"]]
    arrangement = dice.choice(drawn) if dice.random() < 1 / 3 else ""
    if not arrangement:
        # The repeated 1 makes half of the drawn weights 1, so that not every net has an unusual one.
        shape |= {
            "residual": dice.random() < 0.7,
            "placement": dice.choice(GRID["placement"]),
            "norm": dice.choice(GRID["norm"]),
            "activation": dice.choice(("relu", "relu", "relu", *GRID["activation"])),
            "branch_scale": dice.choice(5 * (1.0,) + tuple(GRID["branch_scale"])),
            "skip_scale": dice.choice(8 * (1.0,) + tuple(GRID["skip_scale"])),
            "layers_per_branch": dice.choice(GRID["layers_per_branch"]),
        }
        if not shape["residual"]:  # without a skip, a branch that starts at 0 makes the signal 0
            shape["branch_scale"] = 1.0
    inits = [name for name in GRID["init"] if name != "zero last" or shape.get("residual", True)]
    low, high = RATES[net, shape["task"], shape["optimizer"]]
    group = []
    for member in range(GROUP_SIZE):
        fields = shape | {
            "lr": low * (high / low) ** (member / (GROUP_SIZE - 1)),
            "seed": dice.randrange(1000),
            "init_gain": dice.choice((1.0, 1.0, *GRID["init_gain"])),
        }
        if arrangement:
            group.append(RunConfig.arranged(arrangement, **fields))
        else:
            group.append(RunConfig(**(fields | {"init": dice.choice(inits)})))
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
            yield Outcome(cfg, verdict(cfg, trace, 0).kind, outcome(trace, loss_of_guessing(cfg.task)))


def shape_of(cfg: RunConfig) -> RunConfig:
    """The configuration with defaults in all fields in which members of a batch may differ."""
    return replace(cfg, **{name: getattr(RunConfig, name) for name in DIFFERING_FIELDS})


def verdicts(count: int = COUNT, seed: int = SEED) -> Iterator[Figure]:
    """The table of `similar_nets.COUNTS`: the share that learns by verdict, and the shares of wrong verdicts."""
    table: dict[str, Counter[str]] = {}
    for net in outcomes(configurations(count, seed)):
        table.setdefault(net.start, Counter())[net.end] += 1
    for start, ends in sorted(table.items()):
        stated = COUNTS.get(start)
        text = ", ".join(f"{end} {ends[end]}" for end in OUTCOMES)
        text += f"; the app says {stated.learn} of {stated.nets}" if stated else "; the app says nothing"
        yield Figure(f"{start}: learn, of {ends.total()}", ends[LEARNS] / ends.total(), note=text)
    healthy = table.get("healthy", Counter())
    failing = sum((table.get(kind, Counter()) for kind in FAILING), Counter[str]())
    for name, wrong, total in (
        ("healthy, and does not learn", healthy.total() - healthy[LEARNS], healthy.total()),
        (f"{', '.join(FAILING)}, and learns", failing[LEARNS], failing.total()),
    ):
        yield Figure(name, wrong / max(1, total), at_most=MAX_WRONG, note=f"{wrong} of {total}")
