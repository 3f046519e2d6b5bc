"""How numbers judge the papers on steps: updates, learning rates, sharpness. Words: `content/en/papers/`."""

from typing import Any

import numpy as np

from addnorm.coordinate_check import FLAT, Coordinates
from models.experiment import Judgement, Lines, Values, judge
from models.insight.baseline import loss_of_guessing
from models.insight.outcome import final_loss
from models.papers.judging import judged, slope

SAME_LOSS = 0.05  # nats up to which two final losses count as the same
STILL, GROWS = 0.1, 0.3  # powers of depth: up to the first an update does not grow, from the second on it does
TIMES_THE_LOGIT = 3.0  # by which the largest logit without a norm exceeds that with it
REACHED = 0.8  # of 2/rate, from which the sharpness counts as having come up to it
AT_THE_EDGE = (0.9, 1.3)  # of 2/rate, the median from the first sharpness that has reached it to the last
FAR_BELOW = 0.6  # of 2/rate, the sharpness before training
FALLEN = 0.2  # of the first loss
SMOOTHER = 1.5  # factor by which the gradient changes more without the norm
LAST = 20  # steps of a final loss


@judge("powers everything missed")
def bounded_update(values: Values, *, statements: list[str], bounded: str) -> Judgement:
    """The change of the logits by one step, over depth, by net: matrices alone, and all parameters."""
    kinds: dict[str, dict[int, Any]] = {}
    for name, update in values.items():
        kind, depth = name.split(", ")
        kinds.setdefault(kind, {})[int(depth)] = update
    depths = sorted(kinds[bounded])
    rows = {kind: np.stack([found[depth].matrices for depth in depths], 1) for kind, found in kinds.items()}
    every = {kind: np.stack([found[depth].everything for depth in depths], 1) for kind, found in kinds.items()}
    powers = {kind: [slope(depths, row) for row in of_kind] for kind, of_kind in rows.items()}
    true = [
        all(power < STILL for power in powers[bounded]),
        *(all(power > GROWS for power in powers[kind]) for kind in kinds if kind != bounded),
    ]
    mean = {kind: np.exp(np.log(of_kind).mean(0)) for kind, of_kind in rows.items()}
    table = {"blocks": depths} | {kind: list(row) for kind, row in mean.items()}
    table |= {f"{kind}, with biases and gains": list(np.exp(np.log(of).mean(0))) for kind, of in every.items()}
    places = tuple(map(str, depths))
    lines = Lines("Change of the logits by one step", "RMS", mean, places, "blocks")
    numbers = {
        "powers": {kind: float(np.mean(one)) for kind, one in powers.items()},
        "everything": float(np.mean([slope(depths, row) for row in every[bounded]])),
    }
    return judged(statements, true, numbers, table=table, lines=lines)


@judge("ends without missed")
def no_norm_needed(values: Values, *, statements: list[str]) -> Judgement:
    """Final losses with layer norm, dynamic tanh and no norm, with skips and without."""
    ends = {name: np.array([final_loss(trace) for trace in traces]) for name, traces in values.items()}
    true = [
        bool((ends["dynamic tanh"] < ends["layer norm"] + SAME_LOSS).all()),
        bool((ends["dynamic tanh"] < ends["no norm"]).all()),
    ]
    table = {"net": list(ends)} | {
        f"loss, seed {at}": [one[at] for one in ends.values()] for at in range(len(ends["layer norm"]))
    }
    means = {name: float(one.mean()) for name, one in ends.items()}
    drawn = ("dynamic tanh", "layer norm", "no norm")
    curves = {name: np.mean([_smooth(trace.loss) for trace in values[name]], axis=0) for name in drawn}
    places = tuple(str(LAST * at) for at in range(len(curves["layer norm"])))
    lines = Lines("Loss in training, mean of the seeds", "cross-entropy", curves, places, "step", "linear")
    numbers = {
        "ends": {name: means[name] for name in drawn},
        "without": {name: means[f"{name}, no skip"] for name in drawn[:2]},
    }
    return judged(statements, true, numbers, table=table, lines=lines)


def _smooth(loss: np.ndarray) -> np.ndarray:
    """Means over LAST steps."""
    whole = len(loss) // LAST * LAST
    return np.asarray(loss[:whole], float).reshape(-1, LAST).mean(1)


@judge("sensitivity logits missed")
def wide_rates(values: Values, *, statements: list[str], normed: str, bare: str, task: str) -> Judgement:
    """How far the loss is above the best over learning rates, and the largest logit, with QK-norm and without."""
    chance, kinds = loss_of_guessing(task), (normed, bare)
    trained = {name: traces for name, traces in values.items() if ", rate " in name}
    rates = sorted({float(name.split(", rate ")[1]) for name in trained})
    ends = {
        kind: np.array([[final_loss(one) for one in trained[f"{kind}, rate {rate:g}"]] for rate in rates])
        for kind in kinds
    }
    bounded = {kind: np.where(np.isfinite(rows), np.minimum(rows, chance), chance) for kind, rows in ends.items()}
    above = {kind: (rows - rows.min(0)).mean(0) for kind, rows in bounded.items()}
    logits = {
        kind: np.array([one.max_logit.max() for name, one in values.items() if name.startswith(f"{kind}, logits")])
        for kind in kinds
    }
    true = [bool((above[normed] < above[bare]).all()), bool((logits[bare] > TIMES_THE_LOGIT * logits[normed]).all())]
    table = {"rate": rates} | {
        f"{kind}, seed {at}": list(ends[kind][:, at]) for kind in kinds for at in range(ends[kind].shape[1])
    }
    curves = {kind: bounded[kind].mean(1) for kind in kinds}
    places = tuple(f"{rate:g}" for rate in rates)
    lines = Lines("Loss at the end over the rate", "cross-entropy", curves, places, "learning rate", "linear")
    numbers = {
        "sensitivity": {kind: float(above[kind].mean()) for kind in kinds},
        "logits": {kind: float(np.median(logits[kind])) for kind in kinds},
    }
    return judged(statements, true, numbers, table=table, lines=lines)


@judge("change ends missed")
def smoother(values: Values, *, statements: list[str]) -> Judgement:
    """How much the gradient changes along a step, and final losses: batch norm, none, and noise behind the norm."""
    change = {name: np.nanmean(one.change[:, 1:], axis=1) for name, one in values.items()}
    ends = {name: one.loss[:, -LAST:].mean(1) for name, one in values.items()}
    true = [
        bool((change["no norm"] > SMOOTHER * change["batch norm"]).all()),
        bool((ends["batch norm"] < ends["no norm"]).all()),
        bool((ends["batch norm and noise"] < ends["no norm"]).all()),
    ]
    table = {"net": list(values)} | {
        f"{what}, seed {at}": [one[at] for one in of.values()]
        for what, of in (("change", change), ("loss", ends))
        for at in range(len(ends["no norm"]))
    }
    curves = {name: np.nanmean(one.change, axis=0) for name, one in values.items()}
    places = tuple(str(step) for step in values["batch norm"].steps)
    lines = Lines("Gradient's change along a step", "times its length", curves, places, "step", "linear")
    numbers = {
        "change": {name: float(one.mean()) for name, one in change.items()},
        "ends": {name: float(one.mean()) for name, one in ends.items()},
    }
    return judged(statements, true, numbers, table=table, lines=lines)


@judge("start hovers level rises missed")
def at_the_edge(values: Values, *, statements: list[str]) -> Judgement:
    """The sharpness under full-batch descent beside 2 / rate."""
    level = {name: 2 / one.rate for name, one in values.items()}
    share = {name: one.sharpness / level[name] for name, one in values.items()}
    hovers = {name: np.array([_plateau(row) for row in rows]) for name, rows in share.items()}
    rises = {name: (np.diff(one.loss, axis=1) > 0).sum(1) for name, one in values.items()}
    true = [
        all(bool((rows[:, 0] < FAR_BELOW).all()) for rows in share.values()),
        all(bool(((one > AT_THE_EDGE[0]) & (one < AT_THE_EDGE[1])).all()) for one in hovers.values()),
        all(
            bool((rises[name] > 0).all() and (one.loss[:, -1] < FALLEN * one.loss[:, 0]).all())
            for name, one in values.items()
        ),
    ]
    table: dict[str, Any] = {"net": list(values), "2 / rate": list(level.values())}
    seeds = range(len(next(iter(hovers.values()))))
    table |= {f"hovers at, seed {at}": [hovers[name][at] * level[name] for name in values] for at in seeds}
    table |= {f"steps that raise the loss, seed {at}": [int(one[at]) for one in rises.values()] for at in seeds}
    curves = {name: np.nanmean(one.sharpness, axis=0) for name, one in values.items()}
    places = tuple(str(step) for step in next(iter(values.values())).steps)
    lines = Lines("Sharpness", "largest eigenvalue", curves, places, "step", "linear", guides=tuple(level.values()))
    numbers = {
        "start": {name: float(np.mean(rows[:, 0] * level[name])) for name, rows in share.items()},
        "hovers": {name: float(np.mean(hovers[name] * level[name])) for name in values},
        "level": level,
        "rises": {name: float(np.mean(one)) for name, one in rises.items()},
    }
    return judged(statements, true, numbers, table=table, lines=lines)


def _plateau(share: np.ndarray) -> float:
    """The median of the shares from the first that is at least REACHED to the last; NaN if there is none."""
    at = np.flatnonzero(share >= REACHED)
    return float(np.nanmedian(share[at[0] : at[-1] + 1])) if len(at) else float("nan")


@judge("width depth first missed")
def flat_over_size(values: Values, *, statements: list[str]) -> Judgement:
    """The recorded slopes of sizes after the last step, over width and depth, by parametrisation."""
    checks: dict[tuple[str, str], Coordinates] = values["numbers"]
    last = next(iter(checks.values())).steps
    slopes = {key: {site: found.slope(last, site) for site in found.sites} for key, found in checks.items()}
    end = {key: one["logits" if key[0] == "width" else "end"] for key, one in slopes.items()}
    standard, mup, by_depth = dict.fromkeys(name for _, name in checks)
    true = [
        abs(max(slopes["width", mup].values(), key=abs)) <= FLAT,
        not checks["width", standard].flat and end["width", standard] > 0,
        checks["depth", by_depth].flat and not checks["depth", mup].flat and not checks["depth", standard].flat,
    ]
    table: dict[str, Any] = {"parametrisation": [standard, mup, by_depth]}
    table |= {
        f"{site}, over {field}": [slopes[field, name][site] for name in (standard, mup, by_depth)]
        for field in ("width", "depth")
        for site in checks[field, mup].sites
    }
    names = checks["width", mup].sites
    at = names.index("logits")
    curves = {
        name: np.array(
            [np.exp(np.mean([np.log(seed[last][at]) for seed in of_width])) for of_width in checks["width", name].size]
        )
        for name in (mup, standard)
    }
    places = tuple(map(str, checks["width", mup].values))
    lines = Lines(f"Size of the logits after {last} steps", "RMS", curves, places, "width")
    numbers = {
        "width": {name: end["width", name] for name in (standard, mup)},
        "depth": {name: end["depth", name] for name in (standard, mup, by_depth)},
        "first": checks["width", mup].slope(0, "logits"),
    }
    return judged(statements, true, numbers, table=table, lines=lines)
