"""Judges of papers on training steps: updates, learning rates, sharpness. Texts: `content/en/papers/`."""

from typing import Any

import numpy as np

from addnorm.coordinate_check import FLAT, Coordinates
from models.experiment import Judgement, Lines, Values, judge
from models.insight.baseline import loss_of_guessing
from models.insight.outcome import final_loss
from models.papers.judging import judged, slope

SAME_LOSS = 0.05  # nats up to which two final losses count as the same
STILL = 0.1  # below this power of depth an update does not grow
GROWS = 0.3  # above this power of depth it grows
TIMES_THE_LOGIT = 3.0  # least factor between the largest logits without and with a norm
# Sharpness as a share of 2 / rate:
REACHED = 0.8  # counts as having reached the edge
AT_THE_EDGE = (0.9, 1.3)  # accepted median between the first and the last that reached it
FAR_BELOW = 0.6  # accepted maximum before training
FALLEN = 0.2  # of the first loss
SMOOTHER = 1.5  # least factor between the gradient's changes without and with the norm
LAST = 20  # steps that a final loss averages


@judge("powers everything missed")
def bounded_update(values: Values, *, statements: list[str], bounded: str) -> Judgement:
    """Change of the logits by one step, over depth, by net: updating matrices alone, and all parameters."""
    kinds: dict[str, dict[int, Any]] = {}
    for name, update in values.items():
        kind, depth = name.split(", ")
        kinds.setdefault(kind, {})[int(depth)] = update
    depths = sorted(kinds[bounded])
    rows = {kind: np.stack([updates[depth].matrices for depth in depths], 1) for kind, updates in kinds.items()}
    all_parameters = {
        kind: np.stack([updates[depth].everything for depth in depths], 1) for kind, updates in kinds.items()
    }
    powers = {kind: [slope(depths, row) for row in by_seed] for kind, by_seed in rows.items()}
    holds = [
        all(power < STILL for power in powers[bounded]),
        *(all(power > GROWS for power in powers[kind]) for kind in kinds if kind != bounded),
    ]
    mean = {kind: np.exp(np.log(by_seed).mean(0)) for kind, by_seed in rows.items()}
    table = {"blocks": depths} | {kind: list(row) for kind, row in mean.items()}
    table |= {
        f"{kind}, with biases and gains": list(np.exp(np.log(by_seed).mean(0)))
        for kind, by_seed in all_parameters.items()
    }
    places = tuple(map(str, depths))
    lines = Lines("Change of the logits by one step", "RMS", mean, places, "blocks")
    numbers = {
        "powers": {kind: float(np.mean(powers_by_seed)) for kind, powers_by_seed in powers.items()},
        "everything": float(np.mean([slope(depths, row) for row in all_parameters[bounded]])),
    }
    return judged(statements, holds, numbers, table=table, lines=lines)


@judge("ends without missed")
def no_norm_needed(values: Values, *, statements: list[str]) -> Judgement:
    """Final losses with layer norm, dynamic tanh and no norm, with skips and without."""
    ends = {name: np.array([final_loss(trace) for trace in traces]) for name, traces in values.items()}
    holds = [
        bool((ends["dynamic tanh"] < ends["layer norm"] + SAME_LOSS).all()),
        bool((ends["dynamic tanh"] < ends["no norm"]).all()),
    ]
    table = {"net": list(ends)} | {
        f"loss, seed {seed}": [losses[seed] for losses in ends.values()] for seed in range(len(ends["layer norm"]))
    }
    means = {name: float(losses.mean()) for name, losses in ends.items()}
    drawn = ("dynamic tanh", "layer norm", "no norm")
    curves = {name: np.mean([_block_means(trace.loss) for trace in values[name]], axis=0) for name in drawn}
    places = tuple(str(LAST * seed) for seed in range(len(curves["layer norm"])))
    lines = Lines("Loss in training, mean of the seeds", "cross-entropy", curves, places, "step", "linear")
    numbers = {
        "ends": {name: means[name] for name in drawn},
        "without": {name: means[f"{name}, no skip"] for name in drawn[:2]},
    }
    return judged(statements, holds, numbers, table=table, lines=lines)


def _block_means(loss: np.ndarray) -> np.ndarray:
    """Means over LAST steps each; a remainder is dropped."""
    end = len(loss) // LAST * LAST
    return np.asarray(loss[:end], float).reshape(-1, LAST).mean(1)


@judge("sensitivity logits missed")
def wide_rates(values: Values, *, statements: list[str], normed: str, bare: str, task: str) -> Judgement:
    """Excess of the final loss over the best learning rate's, and the largest logit, with QK-norm and without."""
    chance = loss_of_guessing(task)
    kinds = (normed, bare)
    traces_by_name = {name: traces for name, traces in values.items() if ", rate " in name}
    rates = sorted({float(name.split(", rate ")[1]) for name in traces_by_name})
    ends = {
        kind: np.array([[final_loss(trace) for trace in traces_by_name[f"{kind}, rate {rate:g}"]] for rate in rates])
        for kind in kinds
    }
    bounded = {kind: np.where(np.isfinite(rows), np.minimum(rows, chance), chance) for kind, rows in ends.items()}
    above = {kind: (rows - rows.min(0)).mean(0) for kind, rows in bounded.items()}
    logits = {
        kind: np.array([value.max_logit.max() for name, value in values.items() if name.startswith(f"{kind}, logits")])
        for kind in kinds
    }
    holds = [bool((above[normed] < above[bare]).all()), bool((logits[bare] > TIMES_THE_LOGIT * logits[normed]).all())]
    table = {"rate": rates} | {
        f"{kind}, seed {seed}": list(ends[kind][:, seed]) for kind in kinds for seed in range(ends[kind].shape[1])
    }
    curves = {kind: bounded[kind].mean(1) for kind in kinds}
    places = tuple(f"{rate:g}" for rate in rates)
    lines = Lines("Loss at the end over the rate", "cross-entropy", curves, places, "learning rate", "linear")
    numbers = {
        "sensitivity": {kind: float(above[kind].mean()) for kind in kinds},
        "logits": {kind: float(np.median(logits[kind])) for kind in kinds},
    }
    return judged(statements, holds, numbers, table=table, lines=lines)


@judge("change ends missed")
def smoother(values: Values, *, statements: list[str]) -> Judgement:
    """Change of the gradient along a step, and final losses: batch norm, no norm, and noise after the norm."""
    changes = {name: np.nanmean(descent.change[:, 1:], axis=1) for name, descent in values.items()}
    ends = {name: descent.loss[:, -LAST:].mean(1) for name, descent in values.items()}
    holds = [
        bool((changes["no norm"] > SMOOTHER * changes["batch norm"]).all()),
        bool((ends["batch norm"] < ends["no norm"]).all()),
        bool((ends["batch norm and noise"] < ends["no norm"]).all()),
    ]
    table = {"net": list(values)} | {
        f"{quantity}, seed {seed}": [by_seed[seed] for by_seed in by_net.values()]
        for quantity, by_net in (("change", changes), ("loss", ends))
        for seed in range(len(ends["no norm"]))
    }
    curves = {name: np.nanmean(descent.change, axis=0) for name, descent in values.items()}
    places = tuple(str(step) for step in values["batch norm"].steps)
    lines = Lines("Gradient's change along a step", "times its length", curves, places, "step", "linear")
    numbers = {
        "change": {name: float(by_seed.mean()) for name, by_seed in changes.items()},
        "ends": {name: float(by_seed.mean()) for name, by_seed in ends.items()},
    }
    return judged(statements, holds, numbers, table=table, lines=lines)


@judge("start hovers level rises missed")
def at_the_edge(values: Values, *, statements: list[str]) -> Judgement:
    """Sharpness under full-batch gradient descent, against 2 / rate."""
    level = {name: 2 / descent.rate for name, descent in values.items()}
    shares = {name: descent.sharpness / level[name] for name, descent in values.items()}
    hovers = {name: np.array([_plateau(row) for row in rows]) for name, rows in shares.items()}
    rises = {name: (np.diff(descent.loss, axis=1) > 0).sum(1) for name, descent in values.items()}
    holds = [
        all(bool((rows[:, 0] < FAR_BELOW).all()) for rows in shares.values()),
        all(bool(((medians > AT_THE_EDGE[0]) & (medians < AT_THE_EDGE[1])).all()) for medians in hovers.values()),
        all(
            bool((rises[name] > 0).all() and (descent.loss[:, -1] < FALLEN * descent.loss[:, 0]).all())
            for name, descent in values.items()
        ),
    ]
    table: dict[str, Any] = {"net": list(values), "2 / rate": list(level.values())}
    seeds = range(len(next(iter(hovers.values()))))
    table |= {f"hovers at, seed {seed}": [hovers[name][seed] * level[name] for name in values] for seed in seeds}
    table |= {
        f"steps that raise the loss, seed {seed}": [int(counts[seed]) for counts in rises.values()] for seed in seeds
    }
    curves = {name: np.nanmean(descent.sharpness, axis=0) for name, descent in values.items()}
    places = tuple(str(step) for step in next(iter(values.values())).steps)
    lines = Lines("Sharpness", "largest eigenvalue", curves, places, "step", "linear", guides=tuple(level.values()))
    numbers = {
        "start": {name: float(np.mean(rows[:, 0] * level[name])) for name, rows in shares.items()},
        "hovers": {name: float(np.mean(hovers[name] * level[name])) for name in values},
        "level": level,
        "rises": {name: float(np.mean(counts)) for name, counts in rises.items()},
    }
    return judged(statements, holds, numbers, table=table, lines=lines)


def _plateau(shares: np.ndarray) -> float:
    """Median of the shares between the first and the last that are at least REACHED; NaN if there is none."""
    reached = np.flatnonzero(shares >= REACHED)
    return float(np.nanmedian(shares[reached[0] : reached[-1] + 1])) if len(reached) else float("nan")


@judge("width depth first missed")
def flat_over_size(values: Values, *, statements: list[str]) -> Judgement:
    """Slopes of recorded sizes after the last step, over width and depth, by parametrisation."""
    checks: dict[tuple[str, str], Coordinates] = values["numbers"]
    last = next(iter(checks.values())).steps
    slopes = {key: {site: check.slope(last, site) for site in check.sites} for key, check in checks.items()}
    end_slopes = {key: by_site["logits" if key[0] == "width" else "end"] for key, by_site in slopes.items()}
    standard, mup, by_depth = dict.fromkeys(name for _, name in checks)
    holds = [
        abs(max(slopes["width", mup].values(), key=abs)) <= FLAT,
        not checks["width", standard].flat and end_slopes["width", standard] > 0,
        checks["depth", by_depth].flat and not checks["depth", mup].flat and not checks["depth", standard].flat,
    ]
    table: dict[str, Any] = {"parametrisation": [standard, mup, by_depth]}
    table |= {
        f"{site}, over {field}": [slopes[field, name][site] for name in (standard, mup, by_depth)]
        for field in ("width", "depth")
        for site in checks[field, mup].sites
    }
    names = checks["width", mup].sites
    index = names.index("logits")
    curves = {
        name: np.array(
            [np.exp(np.mean([np.log(seed[last][index]) for seed in sizes])) for sizes in checks["width", name].size]
        )
        for name in (mup, standard)
    }
    places = tuple(map(str, checks["width", mup].values))
    lines = Lines(f"Size of the logits after {last} steps", "RMS", curves, places, "width")
    numbers = {
        "width": {name: end_slopes["width", name] for name in (standard, mup)},
        "depth": {name: end_slopes["depth", name] for name in (standard, mup, by_depth)},
        "first": checks["width", mup].slope(0, "logits"),
    }
    return judged(statements, holds, numbers, table=table, lines=lines)
