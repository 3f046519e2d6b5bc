"""What became of nets, by the verdict before any update: the table on which the verdicts' words and thresholds rest."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

from benchmarks.report import Figure
from models.insight.baseline import loss_of_guessing
from models.insight.outcome import LEARNT, final_loss
from models.insight.verdict import LARGE_UPDATE, STARTS, verdict
from models.spec import ACTIVATIONS, ARRANGEMENTS, INITS, NORMS, PLACEMENTS, RunConfig
from models.training import Run, profile_at_init

STEPS = 200
# The thresholds were chosen on the configurations of SEED and confirmed on those of HELD_OUT_SEED.
COUNT, SEED, HELD_OUT_SEED = 120, 0, 1
SLOW = 0.98  # of the loss of guessing: above it nothing was learned
BLOWN_UP = 10.0  # times the loss of guessing: a run that ends above has diverged, whether or not a number left float32
EARLY, MOST_DEPTH = 8, 16  # the last step of an early update, and the depth of the deepest net in `updates`
OUTCOMES = ("learns", "learns slowly", "learns nothing", "diverges")
DIVERGING = 0.05  # of the nets that start healthy, at most
# What `verdict.STARTS` says of each kind: the outcomes, and the share of the nets that have them, at least.
CLAIMED: dict[str, tuple[tuple[str, ...], float]] = {
    "healthy": (("learns",), 0.75),
    "inert": (("learns",), 0.75),
    "exploding": (("learns slowly", "learns nothing", "diverges"), 0.6),
    "vanishing": (("learns nothing",), 0.6),
    "collapsed": (("learns nothing",), 0.5),
}
NETS: dict[str, dict[str, Any]] = {
    "mlp": {
        "task": ("digits", "digits", "spiral"),
        "depth": (2, 4, 8, 16, 32, 64),
        "optimizer": {"momentum": (0.003, 0.01, 0.03, 0.1), "adam": (3e-4, 1e-3, 3e-3, 1e-2)},
        "batch": 32,
    },
    "transformer": {
        "task": ("digits", "book"),
        "depth": (2, 4, 8, 16),
        "optimizer": {"adam": (3e-4, 1e-3, 3e-3, 1e-2)},
        "batch": 8,
    },
}


def configurations(count: int = COUNT, seed: int = SEED) -> list[RunConfig]:
    """Legal configurations drawn at random: a third named arrangements, the others any mixture of their parts."""
    dice = Random(seed)
    return [_drawn(dice) for _ in range(count)]


def _drawn(dice: Random) -> RunConfig:
    net = dice.choice(("mlp", "mlp", "transformer"))
    sizes = NETS[net]
    optimizer = dice.choice(list(sizes["optimizer"]))
    fields = {
        "net": net,
        "task": dice.choice(sizes["task"]),
        "depth": dice.choice(sizes["depth"]),
        "width": 32,
        "batch": sizes["batch"],
        "optimizer": optimizer,
        "lr": dice.choice(sizes["optimizer"][optimizer]),
        "steps": STEPS,
        "seed": dice.randrange(1000),
        "device": "cpu",
    }
    if dice.random() < 1 / 3:
        return RunConfig.arranged(dice.choice(list(ARRANGEMENTS)), **fields)
    fields |= {
        "residual": dice.random() < 0.7,
        "placement": dice.choice(list(PLACEMENTS)),
        "norm": dice.choice(list(NORMS)),
        "init": dice.choice(list(INITS)),
        "activation": dice.choice(("relu", "relu", "relu", *ACTIVATIONS)),
        "branch_scale": dice.choice((1.0, 1.0, 1.0, "1/sqrt(depth)", "zero gate")),
        "layers_per_branch": dice.choice((1, 2)),
    }
    if not fields["residual"]:  # a branch that starts at 0 would leave nothing of the stream
        fields |= {"branch_scale": 1.0} | ({"init": "fan-in"} if fields["init"] == "zero last" else {})
    return RunConfig(**fields)


def verdicts(count: int = COUNT, seed: int = SEED) -> Iterator[Figure]:
    """The table, a line for each verdict before any update: the share with the outcome that its words announce."""
    table = Counter((verdict(cfg, profile_at_init(cfg), 0).kind, outcome(cfg)) for cfg in configurations(count, seed))
    for kind in sorted({kind for kind, _ in table}):
        row = {one: table[kind, one] for one in OUTCOMES}
        said, least = CLAIMED.get(kind, (OUTCOMES, 0.0))
        share = sum(row[one] for one in said) / sum(row.values())
        note = ", ".join(f"{one} {number}" for one, number in row.items())
        yield Figure(
            f"{kind} at the start: {' or '.join(said)}", share, at_least=least, note=f"{note}. {STARTS.get(kind, '')}"
        )
    healthy = {one: table["healthy", one] for one in OUTCOMES}
    share = healthy["diverges"] / max(1, sum(healthy.values()))
    yield Figure("healthy at the start: diverges", share, at_most=DIVERGING)


def updates(count: int = COUNT, seed: int = SEED) -> Iterator[Figure]:
    """How many small MLPs learn, by the size of their early updates; also at ten times the table's learning rates."""
    small = [cfg for cfg in configurations(count, seed) if cfg.net == "mlp" and cfg.depth <= MOST_DEPTH]
    table: Counter[tuple[bool, bool]] = Counter()
    for cfg in [replace(cfg, lr=times * cfg.lr) for cfg in small for times in (1, 10)]:
        run = Run(cfg)
        if verdict(cfg, profile_at_init(cfg), 0).kind != "healthy":
            continue
        run.advance(cfg.steps)
        early = [one.update_to_weight for one in run.frames[1:] if one.step <= EARLY]
        large = any((sizes > LARGE_UPDATE).any() for sizes in early)
        table[large, judged(cfg, run) == "learns"] += 1
    for large, least in ((True, 0.6), (False, 0.75)):
        what = "above" if large else "up to"
        learned, others = table[large, True], table[large, False]
        share = (others if large else learned) / max(1, learned + others)
        outcome = "do not learn" if large else "learn"
        yield Figure(
            f"early updates {what} {LARGE_UPDATE:.0%}: {outcome}", share, at_least=least, note=f"of {learned + others}"
        )


def outcome(cfg: RunConfig) -> str:
    """Trains a configuration; one of OUTCOMES."""
    run = Run(cfg, probe=False, frames=False)
    run.advance(cfg.steps)
    return judged(cfg, run)


def judged(cfg: RunConfig, run: Run) -> str:
    """What became of a finished run: one of OUTCOMES."""
    trace, guessing = run.trace(), loss_of_guessing(cfg.task)
    end = final_loss(trace)
    if run.divergence or end > BLOWN_UP * guessing:
        return "diverges"
    for name, share in (("learns", LEARNT), ("learns slowly", SLOW)):
        if end < min(share * guessing, float(trace.loss[0])):
            return name
    return "learns nothing"
