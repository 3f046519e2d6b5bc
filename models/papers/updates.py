"""Judges of papers on training steps: updates, learning rates, sharpness. Texts: `content/en/papers/`."""

from typing import Any

import numpy as np

from addnorm.coordinate_check import FLAT, Coordinates
from models.experiment import Judgement, Lines, Values, judge
from models.insight.baseline import loss_of_guessing
from models.insight.outcome import final_loss
from models.papers.judging import judge_statements, slope

SAME_LOSS = 0.05  # nats up to which two final losses count as the same
MAX_FLAT_POWER = 0.1  # an update that grows with a smaller power of depth does not grow
MIN_GROWING_POWER = 0.3  # an update that grows with a larger power of depth does
MIN_LOGIT_RATIO = 3.0  # between the largest logits without and with a norm
MIN_CHANGE_RATIO = 1.5  # between the gradient's changes without and with the norm
FINAL_STEPS = 20  # steps that a final loss averages
# Sharpness as a share of 2 / rate:
MIN_EDGE_SHARE = 0.8  # from here on a run has reached the edge
PLATEAU_SHARES = (0.9, 1.3)  # accepted medians between the first and the last share at the edge
MAX_INITIAL_SHARE = 0.6  # before training
MAX_LOSS_SHARE = 0.2  # final loss as a share of the first: below it the net has learnt


@judge("powers everything missed")
def bounded_update(values: Values, *, statements: list[str], bounded: str) -> Judgement:
    """Change of the logits by one step, over depth, by net: updating matrices alone, and all parameters."""
    updates: dict[str, dict[int, Any]] = {}  # by net and depth
    for name, update in values.items():
        net, depth = name.split(", ")
        updates.setdefault(net, {})[int(depth)] = update
    depths = sorted(updates[bounded])
    matrices = {net: np.stack([by_depth[depth].matrices for depth in depths], 1) for net, by_depth in updates.items()}
    all_parameters = {
        net: np.stack([by_depth[depth].everything for depth in depths], 1) for net, by_depth in updates.items()
    }
    powers = {net: [slope(depths, row) for row in rows] for net, rows in matrices.items()}
    holds = [
        all(power < MAX_FLAT_POWER for power in powers[bounded]),
        *(all(power > MIN_GROWING_POWER for power in powers[net]) for net in updates if net != bounded),
    ]
    mean = {net: np.exp(np.log(rows).mean(0)) for net, rows in matrices.items()}
    table = {"blocks": depths} | {net: list(row) for net, row in mean.items()}
    table |= {
        f"{net}, with biases and gains": list(np.exp(np.log(rows).mean(0))) for net, rows in all_parameters.items()
    }
    places = tuple(map(str, depths))
    lines = Lines("Change of the logits by one step", "RMS", mean, places, "blocks")
    numbers = {
        "powers": {net: float(np.mean(powers_by_seed)) for net, powers_by_seed in powers.items()},
        "everything": float(np.mean([slope(depths, row) for row in all_parameters[bounded]])),
    }
    return judge_statements(statements, holds, numbers, table=table, lines=lines)


@judge("ends without missed")
def no_norm_needed(values: Values, *, statements: list[str]) -> Judgement:
    """Final losses with layer norm, dynamic tanh and no norm, with skips and without."""
    final_losses = {name: np.array([final_loss(trace) for trace in traces]) for name, traces in values.items()}
    holds = [
        bool((final_losses["dynamic tanh"] < final_losses["layer norm"] + SAME_LOSS).all()),
        bool((final_losses["dynamic tanh"] < final_losses["no norm"]).all()),
    ]
    table = {"net": list(final_losses)} | {
        f"loss, seed {seed}": [losses[seed] for losses in final_losses.values()]
        for seed in range(len(final_losses["layer norm"]))
    }
    mean_losses = {name: float(losses.mean()) for name, losses in final_losses.items()}
    nets = ("dynamic tanh", "layer norm", "no norm")
    curves = {name: np.mean([_block_means(trace.loss) for trace in values[name]], axis=0) for name in nets}
    places = tuple(str(FINAL_STEPS * point) for point in range(len(curves["layer norm"])))
    lines = Lines("Loss in training, mean of the seeds", "cross-entropy", curves, places, "step", "linear")
    numbers = {
        "ends": {name: mean_losses[name] for name in nets},
        "without": {name: mean_losses[f"{name}, no skip"] for name in nets[:2]},
    }
    return judge_statements(statements, holds, numbers, table=table, lines=lines)


def _block_means(loss: np.ndarray) -> np.ndarray:
    """Means over FINAL_STEPS steps each; a remainder is dropped."""
    end = len(loss) // FINAL_STEPS * FINAL_STEPS
    return np.asarray(loss[:end], float).reshape(-1, FINAL_STEPS).mean(1)


@judge("sensitivity logits missed")
def wide_rates(values: Values, *, statements: list[str], normed: str, bare: str, task: str) -> Judgement:
    """Excess of the final loss over the best learning rate's, and the largest logit, with QK-norm and without.

    `normed` and `bare` name the nets with and without QK-norm. The loss of guessing in `task` bounds the excess.
    """
    chance = loss_of_guessing(task)
    nets = (normed, bare)
    traces_by_name = {name: traces for name, traces in values.items() if ", rate " in name}
    rates = sorted({float(name.split(", rate ")[1]) for name in traces_by_name})
    final_losses = {
        net: np.array([[final_loss(trace) for trace in traces_by_name[f"{net}, rate {rate:g}"]] for rate in rates])
        for net in nets
    }
    bounded = {net: np.where(np.isfinite(rows), np.minimum(rows, chance), chance) for net, rows in final_losses.items()}
    excess = {net: (rows - rows.min(0)).mean(0) for net, rows in bounded.items()}
    logits = {
        net: np.array([value.max_logit.max() for name, value in values.items() if name.startswith(f"{net}, logits")])
        for net in nets
    }
    holds = [bool((excess[normed] < excess[bare]).all()), bool((logits[bare] > MIN_LOGIT_RATIO * logits[normed]).all())]
    table = {"rate": rates} | {
        f"{net}, seed {seed}": list(final_losses[net][:, seed])
        for net in nets
        for seed in range(final_losses[net].shape[1])
    }
    curves = {net: bounded[net].mean(1) for net in nets}
    places = tuple(f"{rate:g}" for rate in rates)
    lines = Lines("Loss at the end over the rate", "cross-entropy", curves, places, "learning rate", "linear")
    numbers = {
        "sensitivity": {net: float(excess[net].mean()) for net in nets},
        "logits": {net: float(np.median(logits[net])) for net in nets},
    }
    return judge_statements(statements, holds, numbers, table=table, lines=lines)


@judge("change ends missed")
def smoother(values: Values, *, statements: list[str]) -> Judgement:
    """Change of the gradient along a step, and final losses: batch norm, no norm, and noise after the norm."""
    changes = {name: np.nanmean(descent.change[:, 1:], axis=1) for name, descent in values.items()}
    final_losses = {name: descent.loss[:, -FINAL_STEPS:].mean(1) for name, descent in values.items()}
    holds = [
        bool((changes["no norm"] > MIN_CHANGE_RATIO * changes["batch norm"]).all()),
        bool((final_losses["batch norm"] < final_losses["no norm"]).all()),
        bool((final_losses["batch norm and noise"] < final_losses["no norm"]).all()),
    ]
    table = {"net": list(values)} | {
        f"{quantity}, seed {seed}": [by_seed[seed] for by_seed in by_net.values()]
        for quantity, by_net in (("change", changes), ("loss", final_losses))
        for seed in range(len(final_losses["no norm"]))
    }
    curves = {name: np.nanmean(descent.change, axis=0) for name, descent in values.items()}
    places = tuple(str(step) for step in values["batch norm"].steps)
    lines = Lines("Gradient's change along a step", "times its length", curves, places, "step", "linear")
    numbers = {
        "change": {name: float(by_seed.mean()) for name, by_seed in changes.items()},
        "ends": {name: float(by_seed.mean()) for name, by_seed in final_losses.items()},
    }
    return judge_statements(statements, holds, numbers, table=table, lines=lines)


@judge("start hovers level rises missed")
def at_the_edge(values: Values, *, statements: list[str]) -> Judgement:
    """Sharpness under full-batch gradient descent, against 2 / rate."""
    low, high = PLATEAU_SHARES
    level = {name: 2 / descent.rate for name, descent in values.items()}
    shares = {name: descent.sharpness / level[name] for name, descent in values.items()}
    hovers = {name: np.array([_plateau(row) for row in rows]) for name, rows in shares.items()}
    rises = {name: (np.diff(descent.loss, axis=1) > 0).sum(1) for name, descent in values.items()}
    holds = [
        all(bool((rows[:, 0] < MAX_INITIAL_SHARE).all()) for rows in shares.values()),
        all(bool(((medians > low) & (medians < high)).all()) for medians in hovers.values()),
        all(
            bool((rises[name] > 0).all() and (descent.loss[:, -1] < MAX_LOSS_SHARE * descent.loss[:, 0]).all())
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
    return judge_statements(statements, holds, numbers, table=table, lines=lines)


def _plateau(shares: np.ndarray) -> float:
    """Median of the shares between the first and the last that are at least MIN_EDGE_SHARE; NaN if there is none."""
    reached = np.flatnonzero(shares >= MIN_EDGE_SHARE)
    return float(np.nanmedian(shares[reached[0] : reached[-1] + 1])) if len(reached) else float("nan")


@judge("width depth first missed")
def flat_over_size(values: Values, *, statements: list[str]) -> Judgement:
    """Slopes of recorded sizes after the last step, over width and depth, by parametrisation.

    `values["numbers"]` has the coordinate checks by (field, parametrisation).
    """
    checks: dict[tuple[str, str], Coordinates] = values["numbers"]
    last = next(iter(checks.values())).steps
    slopes = {key: {site: check.slope(last, site) for site in check.sites} for key, check in checks.items()}
    last_site = {"width": "logits", "depth": "end"}
    end_slopes = {(field, name): by_site[last_site[field]] for (field, name), by_site in slopes.items()}
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
    curves = {}
    for name in (mup, standard):
        logs = [[np.log(seed[last][index]) for seed in sizes] for sizes in checks["width", name].size]
        curves[name] = np.array([np.exp(np.mean(logs_by_seed)) for logs_by_seed in logs])
    places = tuple(map(str, checks["width", mup].values))
    lines = Lines(f"Size of the logits after {last} steps", "RMS", curves, places, "width")
    numbers = {
        "width": {name: end_slopes["width", name] for name in (standard, mup)},
        "depth": {name: end_slopes["depth", name] for name in (standard, mup, by_depth)},
        "first": checks["width", mup].slope(0, "logits"),
    }
    return judge_statements(statements, holds, numbers, table=table, lines=lines)
