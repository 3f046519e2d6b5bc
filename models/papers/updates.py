"""Judges of papers on training steps: updates, learning rates, sharpness. Texts: `exhibits/papers/`."""

from typing import Any

import numpy as np

from addnorm.coordinate_check import Coordinates
from models.experiment import Judgement, Lines, Values, judge
from models.insight.baseline import loss_of_guessing
from models.insight.outcome import final_loss
from models.papers.judging import (
    Statements,
    final_losses,
    judge_statements,
    means,
    measured_nets,
    measures,
    slope,
    spread,
)
from models.trace import Trace

FINAL_STEPS = 20  # steps that a final loss averages
PLATEAU = 8  # measurements of the sharpness, from the first at 2/rate on, whose median counts


@judge("powers everything missed")
def bounded_update(values: Values, *, statements: Statements, bounded: str) -> Judgement:
    """Change of the logits by one step, over depth, by net: updating matrices alone, and all parameters."""
    names = measured_nets(values)
    nets = dict.fromkeys(name.split(", ")[0] for name in names)
    depths = sorted({int(name.split(", ")[1]) for name in names})
    changes = {
        what: {
            net: np.stack(
                [[getattr(measure, what) for measure in measures(values, f"{net}, {depth}")] for depth in depths], 1
            )
            for net in nets
        }
        for what in ("matrices", "everything")
    }
    powers = {net: np.array([slope(depths, row) for row in rows]) for net, rows in changes["matrices"].items()}
    everything = np.array([slope(depths, row) for row in changes["everything"][bounded]])
    mean = {
        what: {net: np.exp(np.log(rows).mean(0)) for net, rows in by_net.items()} for what, by_net in changes.items()
    }
    table = {"blocks": depths} | {net: list(row) for net, row in mean["matrices"].items()}
    table |= {f"{net}, with biases and gains": list(row) for net, row in mean["everything"].items()}
    places = tuple(map(str, depths))
    lines = Lines("Change of the logits by one step", "RMS", mean["matrices"], places, "blocks")
    numbers = {
        "powers": means(powers),
        "everything": float(everything.mean()),
    }
    return judge_statements(statements, [*powers.values(), everything], numbers, table=table, lines=lines)


@judge("ends without missed")
def no_norm_needed(values: Values, *, statements: Statements) -> Judgement:
    """Final losses with layer norm, dynamic tanh and no norm, with skips and without."""
    worst = {name: loss_of_guessing("digits" if name.endswith("no skip") else "book") for name in values}
    ends = {name: final_losses({name: traces}, worst[name])[name] for name, traces in values.items()}
    measured = [ends["dynamic tanh"] - ends["layer norm"], ends["dynamic tanh"] - ends["no norm"]]
    nets = ("dynamic tanh", "layer norm", "no norm")
    curves = {name: np.mean([_block_means(trace.loss) for trace in values[name]], axis=0) for name in nets}
    places = tuple(str(FINAL_STEPS * point) for point in range(len(curves["layer norm"])))
    lines = Lines("Loss in training, mean of the seeds", "cross-entropy", curves, places, "step", "linear")
    numbers = {
        "ends": {name: float(ends[name].mean()) for name in nets},
        "without": {name: float(ends[f"{name}, no skip"].mean()) for name in nets[:2]},
    }
    return judge_statements(statements, measured, numbers, table=spread("loss", ends), lines=lines)


def _block_means(loss: np.ndarray) -> np.ndarray:
    """Means over FINAL_STEPS steps each; a remainder is dropped."""
    end = len(loss) // FINAL_STEPS * FINAL_STEPS
    return np.asarray(loss[:end], float).reshape(-1, FINAL_STEPS).mean(1)


@judge("sensitivity logits missed")
def wide_rates(values: Values, *, statements: Statements, normed: str, bare: str) -> Judgement:
    """Excess of the final loss over the best learning rate's, and the largest logit, with QK-norm and without.

    `normed` and `bare` name the nets with and without QK-norm. The loss of the net before training bounds the excess
    (Wortsman 2023).
    """
    nets = (normed, bare)
    traces = {name: of for name, of in values.items() if ", rate " in name}
    rates = sorted({float(name.split(", rate ")[1]) for name in traces})
    bounded = {
        net: np.array([[_bounded_by_start(trace) for trace in traces[f"{net}, rate {rate:g}"]] for rate in rates])
        for net in nets
    }
    excess = {net: (rows - rows.min(0)).mean(0) for net, rows in bounded.items()}
    logits = {
        net: np.array([measure.max_logit.max() for measure in measures(values, f"{net}, logits")]) for net in nets
    }
    measured = [excess[bare] - excess[normed], np.log10(logits[bare] / logits[normed])]
    table: dict[str, Any] = {"rate": rates}
    for net in nets:
        table |= {f"{net}, mean loss": list(bounded[net].mean(1)), f"{net}, highest": list(bounded[net].max(1))}
    curves = {net: bounded[net].mean(1) for net in nets}
    places = tuple(f"{rate:g}" for rate in rates)
    lines = Lines("Loss at the end over the rate", "cross-entropy", curves, places, "learning rate", "linear")
    numbers = {
        "sensitivity": means(excess),
        "logits": {net: float(np.median(logits[net])) for net in nets},
    }
    return judge_statements(statements, measured, numbers, table=table, lines=lines)


def _bounded_by_start(trace: Trace) -> float:
    return min(final_loss(trace), float(trace.loss[0]))


@judge("change ends missed")
def smoother(values: Values, *, statements: Statements) -> Judgement:
    """Change of the gradient along a step, and final losses: batch norm, no norm, and noise after the norm.

    A run that diverges counts with the loss of guessing, and with the changes measured before.
    """
    names = ("batch norm", "no norm", "batch norm and noise")
    descents = {name: measures(values, name) for name in names}
    changes = {name: np.array([np.nanmean(measure.change[1:]) for measure in of]) for name, of in descents.items()}
    ends = {name: np.array([_bounded_end(measure.loss) for measure in of]) for name, of in descents.items()}
    measured = [
        changes["no norm"] / changes["batch norm"],
        ends["no norm"] - ends["batch norm"],
        ends["no norm"] - ends["batch norm and noise"],
    ]
    table = spread("loss", ends) | {"change, mean": list(means(changes).values())}
    curves = {name: np.nanmean([measure.change for measure in of], axis=0) for name, of in descents.items()}
    places = tuple(str(step) for step in descents["batch norm"][0].steps)
    lines = Lines("Gradient's change along a step", "times its length", curves, places, "step", "linear")
    numbers = {"change": means(changes), "ends": means(ends)}
    return judge_statements(statements, measured, numbers, table=table, lines=lines)


def _bounded_end(loss: np.ndarray) -> float:
    """Mean of the last losses of a run on digits, at most that of guessing."""
    end, worst = float(loss[-FINAL_STEPS:].mean()), loss_of_guessing("digits")
    return min(end, worst) if np.isfinite(end) else worst


@judge("start hovers level rises missed")
def at_the_edge(values: Values, *, statements: Statements) -> Judgement:
    """Sharpness under full-batch gradient descent, against 2 / rate; a seed's numbers are means over the rates."""
    nets = measured_nets(values)
    descents = {net: measures(values, net) for net in nets}
    level = {net: 2 / of[0].rate for net, of in descents.items()}
    shares = {net: np.stack([measure.sharpness for measure in of]) / level[net] for net, of in descents.items()}
    losses = {net: np.stack([measure.loss for measure in of]) for net, of in descents.items()}
    hovers = {net: np.array([_plateau(row) for row in rows]) for net, rows in shares.items()}
    rises = {net: (np.diff(rows, axis=1) > 0).sum(1) for net, rows in losses.items()}
    measured = [
        np.mean([rows[:, 0] for rows in shares.values()], axis=0),
        np.mean(list(hovers.values()), axis=0),
        np.mean(list(rises.values()), axis=0),
        np.mean([rows[:, -1] / rows[:, 0] for rows in losses.values()], axis=0),
    ]
    table: dict[str, Any] = spread("hovers at", {net: rows * level[net] for net, rows in hovers.items()})
    table |= {"2 / rate": list(level.values()), "steps that raise the loss": [float(r.mean()) for r in rises.values()]}
    curves = {net: np.nanmean(rows * level[net], axis=0) for net, rows in shares.items()}
    places = tuple(str(step) for step in next(iter(descents.values()))[0].steps)
    lines = Lines("Sharpness", "largest eigenvalue", curves, places, "step", "linear", guides=tuple(level.values()))
    numbers = {
        "start": {net: float(np.mean(rows[:, 0] * level[net])) for net, rows in shares.items()},
        "hovers": {net: float(np.mean(hovers[net] * level[net])) for net in nets},
        "level": level,
        "rises": {net: float(np.mean(counts)) for net, counts in rises.items()},
    }
    return judge_statements(statements, measured, numbers, table=table, lines=lines)


def _plateau(shares: np.ndarray) -> float:
    """Median of PLATEAU shares from the first that is at least 1 on; the largest of all if none is."""
    reached = np.flatnonzero(shares >= 1)
    if not len(reached):
        return float(np.nanmax(shares))
    return float(np.nanmedian(shares[reached[0] : reached[0] + PLATEAU]))


@judge("width depth first missed")
def flat_over_size(values: Values, *, statements: Statements) -> Judgement:
    """Slopes of recorded sizes after the last step, over width and depth, by parametrisation.

    `values["numbers"]` has the coordinate checks by (field, parametrisation).
    """
    checks: dict[tuple[str, str], Coordinates] = values["numbers"]
    steps = next(iter(checks.values())).steps
    slopes = {key: _slopes(check, steps) for key, check in checks.items()}
    standard, mup, by_depth = dict.fromkeys(name for _, name in checks)
    measured = [slopes["width", name]["logits"] for name in (mup, standard)]
    measured += [slopes["depth", name]["end"] for name in (by_depth, mup, standard)]
    table: dict[str, Any] = {"parametrisation": [standard, mup, by_depth]}
    table |= {
        f"{site}, over {field}": [float(slopes[field, name][site].mean()) for name in (standard, mup, by_depth)]
        for field in ("width", "depth")
        for site in checks[field, mup].sites
    }
    curves = {name: np.array(checks["width", name].mean(steps, "logits")) for name in (mup, standard)}
    places = tuple(map(str, checks["width", mup].values))
    lines = Lines(f"Size of the logits after {steps} steps", "RMS", curves, places, "width")
    numbers = {
        "width": {name: float(slopes["width", name]["logits"].mean()) for name in (standard, mup)},
        "depth": {name: float(slopes["depth", name]["end"].mean()) for name in (standard, mup, by_depth)},
        "first": float(_slopes(checks["width", mup], 0)["logits"].mean()),
    }
    return judge_statements(statements, measured, numbers, table=table, lines=lines)


def _slopes(check: Coordinates, step: int) -> dict[str, np.ndarray]:
    """Slope on log-log axes of each site's size after a step, one per seed, (K,)."""
    sizes = np.array([[by_step[step] for by_step in by_seed] for by_seed in check.size])  # (values, K, sites)
    return {
        site: np.array([slope(check.values, by_seed) for by_seed in sizes[:, :, index].T])
        for index, site in enumerate(check.sites)
    }
