"""What became of nets, by the verdict before any update: whether the verdicts come true."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count as count_up
from itertools import islice
from random import Random
from typing import Any

from benchmarks.report import Figure
from models.insight.baseline import loss_of_guessing
from models.insight.outcome import final_loss, learned
from models.insight.similar_nets import COUNTS, GRID, NET_GRIDS, RATES, STEPS
from models.insight.verdict import verdict
from models.spec import ARRANGEMENTS, NET_DEFAULTS, RunConfig
from models.spec.cautions import config_caution
from models.trace import Trace
from models.training.batched import MAY_DIFFER, Batched

COUNT, SEED = 204, 21
TOGETHER = 4  # configurations of one shape, which are trained as one, at learning rates over the whole range
BLOWN_UP = 2.0  # times the loss of guessing: a run that ends above has diverged, whether or not a number left float32
OUTCOMES = ("learns", "learns nothing", "diverges")
FAILING = ("exploding", "vanishing", "collapsed", "diverged")
GOAL = 0.05  # of the nets that a verdict is wrong of


@dataclass(frozen=True)
class Outcome:
    """A configuration, its verdict before any update, and what became of it."""

    cfg: RunConfig
    start: str
    became: str


def configurations(count: int = COUNT, seed: int = SEED) -> list[RunConfig]:
    """Legal configurations, TOGETHER of each shape, drawn at random: a third of the shapes named arrangements, the
    others any mixture of their parts.
    """
    dice = Random(seed)
    # Left out: tasks that the app says such a net cannot learn.
    shapes = (_drawn(dice) for _ in count_up())
    learnable = (drawn for drawn in shapes if not any(config_caution(replace(cfg, init="fan-in")) for cfg in drawn))
    return [cfg for drawn in islice(learnable, count // TOGETHER) for cfg in drawn]


def _drawn(dice: Random) -> list[RunConfig]:
    """A shape at TOGETHER learning rates, each net with its own seed, gain and, in mixtures, initialisation."""
    net = dice.choice(("mlp", "mlp", "transformer"))
    shape: dict[str, Any] = {"net": net, "steps": STEPS, "device": "cpu"}
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
    drawn = []
    for at in range(TOGETHER):
        fields = shape | {
            "lr": low * (high / low) ** (at / (TOGETHER - 1)),
            "seed": dice.randrange(1000),
            "init_gain": dice.choice((1.0, 1.0, *GRID["init_gain"])),
        }
        drawn.append(
            RunConfig.arranged(named, **fields) if named else RunConfig(**fields | {"init": dice.choice(inits)})
        )
    return drawn


def outcomes(configs: Iterable[RunConfig]) -> Iterator[Outcome]:
    """What became of configurations: those of one shape are trained as one."""
    shapes: dict[RunConfig, list[RunConfig]] = {}
    for cfg in configs:
        shapes.setdefault(shape_of(cfg), []).append(cfg)
    for group in shapes.values():
        runs = Batched(group, frames=(0, STEPS))
        runs.advance(STEPS)
        for cfg, trace in zip(group, runs.traces(), strict=True):
            yield Outcome(cfg, verdict(cfg, trace, 0).kind, judged(cfg, trace))


def shape_of(cfg: RunConfig) -> RunConfig:
    """A configuration without what those that are trained as one may differ in."""
    return replace(cfg, **{name: getattr(RunConfig, name) for name in MAY_DIFFER})


def verdicts(count: int = COUNT, seed: int = SEED) -> Iterator[Figure]:
    """The table of `similar_nets.COUNTS`: share of nets that learn by verdict, and how often a verdict is wrong."""
    table: dict[str, Counter[str]] = {}
    for one in outcomes(configurations(count, seed)):
        table.setdefault(one.start, Counter())[one.became] += 1
    for start, found in sorted(table.items()):
        said = COUNTS.get(start)
        became = ", ".join(f"{one} {found[one]}" for one in OUTCOMES)
        became += f"; the app says {said.learn} of {said.nets}" if said else "; the app says nothing"
        yield Figure(f"{start}: learn, of {found.total()}", found["learns"] / found.total(), note=became)
    healthy = table.get("healthy", Counter())
    failing = sum((table.get(kind, Counter()) for kind in FAILING), Counter[str]())
    for what, wrong, of in (
        ("healthy, and does not learn", healthy.total() - healthy["learns"], healthy.total()),
        (f"{', '.join(FAILING)}, and learns", failing["learns"], failing.total()),
    ):
        yield Figure(what, wrong / max(1, of), at_most=GOAL, note=f"{wrong} of {of}")


def judged(cfg: RunConfig, trace: Trace) -> str:
    """What became of a finished run: one of OUTCOMES."""
    guessing = loss_of_guessing(cfg.task)
    if not final_loss(trace) <= BLOWN_UP * guessing:
        return "diverges"
    return "learns" if learned(trace, guessing) else "learns nothing"
