"""Judges of papers on depth, initialisation, norms and attention. Texts: `exhibits/papers/`.

A judge gives `judge_statements` one number per seed for each statement of its card.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from models.experiment import Judgement, Lines, Plane, Values, judge
from models.insight.baseline import LEARNED_BELOW, loss_of_guessing
from models.papers.judging import (
    Statements,
    final_losses,
    judge_statements,
    means,
    measured_nets,
    measures,
    per_layer,
    slope,
    spread,
)
from models.trace import Trace

LOSS_STEPS = 5  # steps that a point of a training curve averages
MAX_ROUNDING_ERROR = 1e-6  # distances below it are rounding errors


@judge("ends missed")
def degradation(values: Values, *, statements: Statements, shallow: str, deep: str) -> Judgement:
    """Final training losses by net and seed: plain nets get worse with depth, residual nets do not."""
    ends = final_losses(values, loss_of_guessing("digits"))
    measured = [
        ends[f"plain, {deep}"] - ends[f"plain, {shallow}"],
        ends[f"residual, {deep}"] - ends[f"residual, {shallow}"],
        ends[f"plain, {deep}"] - ends[f"residual, {deep}"],
    ]
    curve_names = [f"{net}, {size}" for net in ("plain", "residual") for size in (shallow, deep)]
    curves = {name: _curve(values[name]) for name in curve_names}
    lines = Lines("Loss in training, mean of the seeds", "cross-entropy", curves, _steps(curves), "step", "linear")
    numbers = {"ends": means(ends)}
    return judge_statements(statements, measured, numbers, table=spread("loss", ends), lines=lines)


@judge("measured formula scale expected missed")
def order_to_chaos(values: Values, *, statements: Statements) -> Judgement:
    """Gradient factor per layer below, at and above the edge of chaos, against chi, and two depth scales in chaos."""
    computed = values["numbers"]
    by_seed = {variance: 1 / per_layer(profile) for variance, profile in computed["profiles"].items()}
    formula = computed["chi"]
    slopes_of_gap = per_layer(computed["gaps"])
    ratio = np.log(computed["correlation slope"]) / np.log(slopes_of_gap)
    measured = [by_seed[variance] / formula[variance] for variance in by_seed] + [ratio]
    names = dict(zip(by_seed, ("order", "edge", "chaos"), strict=True))
    high = list(by_seed)[-1]
    profiles = {}
    for variance, name in names.items():
        rows = computed["profiles"][variance]
        profiles[f"{name} ({variance:g})"] = _geometric_mean(rows, 0) / _geometric_mean(rows[:, -1])
    table = {
        "weight variance": list(by_seed),
        "factor per layer": [float(_geometric_mean(factors)) for factors in by_seed.values()],
        "χ of the formula": list(formula.values()),
    }
    places = tuple(str(layer) for layer in range(len(next(iter(profiles.values())))))
    lines = Lines("Gradient over that at the last layer", "mean square, ratio", profiles, places, "layer")
    plane = Plane(
        title="Order and chaos",
        unit="gradient's factor per layer",
        x="weight variance",
        y="bias variance",
        xs=computed["xs"],
        ys=computed["ys"],
        cells=computed["cells"],
        edge=computed["edge"],
        edge_name="χ = 1 (formula)",
    )
    numbers = {
        "measured": {names[variance]: float(_geometric_mean(factors)) for variance, factors in by_seed.items()},
        "formula": {names[variance]: value for variance, value in formula.items()},
        "scale": {
            "gradient": 1 / abs(np.log(float(_geometric_mean(by_seed[high])))),
            "correlation": -1 / np.log(float(_geometric_mean(slopes_of_gap))),
        },
        "expected": {
            "gradient": 1 / abs(np.log(formula[high])),
            "correlation": -1 / np.log(computed["correlation slope"]),
        },
    }
    return judge_statements(statements, measured, numbers, table=table, lines=lines, plane=plane)


@judge("ratio pre post missed")
def last_gradient(values: Values, *, statements: Statements) -> Judgement:
    """Gradient of the last block's last matrix at step 0, by depth, in pre-norm and post-norm."""
    depths = sorted({int(net.split(", ")[1]) for net in measured_nets(values)})
    post, pre = (
        np.stack([[measure.last_gradient for measure in measures(values, f"{kind}, {depth}")] for depth in depths], 1)
        for kind in ("post-LN", "pre-LN")
    )
    powers = {
        name: np.array([slope(depths, row) for row in rows])
        for name, rows in {"post": post, "pre": pre, "ratio": pre / post}.items()
    }
    mean_post, mean_pre = _geometric_mean(post, 0), _geometric_mean(pre, 0)
    table = {"blocks": depths, "post-LN": list(mean_post), "pre-LN": list(mean_pre)}
    inverse_root = mean_pre[0] * np.sqrt(depths[0] / np.array(depths))
    curves = {"post-LN": mean_post, "pre-LN": mean_pre, "1/√L": inverse_root}
    places = tuple(str(depth) for depth in depths)
    lines = Lines("Gradient of the last block's last matrix", "L2 norm", curves, places, "blocks L")
    measured = [powers["post"], powers["pre"]]
    return judge_statements(statements, measured, means(powers), table=table, lines=lines)


@judge("he xavier back ends chance learn missed")
def he_weights(values: Values, *, statements: Statements) -> Judgement:
    """Factors per layer, forward and backward, and final losses, with He and Xavier initialisation."""
    signals = {name: values[f"{name}, before training"] for name in ("He", "Xavier")}
    forward = {name: per_layer(signal.mean_square) for name, signal in signals.items()}
    back = {name: 1 / per_layer(np.square(signal.grad_norm)) for name, signal in signals.items()}
    chance = loss_of_guessing("digits")
    traces = {name: values[f"{name}, trained"] for name in signals}
    ends = final_losses(traces, chance)
    learnt = {name: losses < LEARNED_BELOW * chance for name, losses in ends.items()}
    measured = [forward["He"], back["He"], forward["Xavier"], learnt["He"], learnt["Xavier"]]
    table = {
        "weights": list(signals),
        "factor per layer": [float(_geometric_mean(factors)) for factors in forward.values()],
        "of the gradient": [float(_geometric_mean(factors)) for factors in back.values()],
    } | {name: column for name, column in spread("loss", ends).items() if name != "net"}
    curves = {name: _curve(of) for name, of in traces.items()}
    lines = Lines("Loss in training, mean of the seeds", "cross-entropy", curves, _steps(curves), "step", "linear")
    numbers = {
        "he": float(_geometric_mean(forward["He"])),
        "xavier": float(_geometric_mean(forward["Xavier"])),
        "back": float(_geometric_mean(back["He"])),
        "chance": chance,
        "ends": means(ends),
        "learn": {name: int(of.sum()) for name, of in learnt.items()},
    }
    return judge_statements(statements, measured, numbers, table=table, lines=lines)


@judge("narrow wide expected residual missed")
def length_fluctuates(values: Values, *, statements: Statements) -> Judgement:
    """Variance across layers of the log of a net's squared length, by shape, against 5 (L^2 - 1) / 6 L n."""
    plain, residual = values["numbers"]["plain"], values["numbers"]["residual"]
    shapes = sorted(plain, key=lambda shape: shape[1] / shape[0])
    formula = {(width, layers): 5 * (layers**2 - 1) / (6 * layers * width) for width, layers in shapes}
    widths = sorted({width for width, _ in shapes})
    wide = next(shape for shape in shapes if shape[0] == widths[-1])
    narrow = (widths[0], wide[1])
    shallow, *_, deep = sorted(residual)
    measured = [
        _geometric_mean(np.stack([plain[shape] / formula[shape] for shape in shapes]), 0),
        plain[narrow] / plain[wide],
        residual[deep] / residual[shallow],
    ]
    names = tuple(f"{layers}/{width}" for width, layers in shapes)
    columns = {"plain": means(plain), "5(L² − 1)/6Ln": formula}
    table = {"layers / width": list(names)} | {
        name: [column[shape] for shape in shapes] for name, column in columns.items()
    }
    table["residual"] = [float(residual[shape].mean()) if shape in residual else "" for shape in shapes]
    curves = {name: np.array([column[shape] for shape in shapes]) for name, column in columns.items()}
    curves["residual"] = np.array([residual[shape].mean() if shape in residual else np.nan for shape in shapes])
    lines = Lines("Variance of the log length across layers", "variance", curves, names, "layers over width", "linear")
    numbers = {
        "narrow": float(plain[narrow].mean()),
        "wide": float(plain[wide].mean()),
        "expected": {"narrow": formula[narrow], "wide": formula[wide]},
        "residual": {"shallow": float(residual[shallow].mean()), "deep": float(residual[deep].mean())},
    }
    return judge_statements(statements, measured, numbers, table=table, lines=lines)


@judge("relu formula linear skip missed")
def norm_explodes(values: Values, *, statements: Statements) -> Judgement:
    """Gradient factor per layer with batch norm, without layer 1, whose input has another distribution."""
    profiles = values["numbers"]
    by_seed = {name: 1 / per_layer(rows[:, 1:]) for name, rows in profiles.items()}
    factor = {name: float(_geometric_mean(factors)) for name, factors in by_seed.items()}
    formula = float(np.pi / (np.pi - 1))
    curves = {name: _geometric_mean(rows / rows[:, -1:], 0)[1:] for name, rows in profiles.items()}
    count = len(curves["ReLU"])
    curves["(π/(π−1))^layers"] = formula ** np.arange(count - 1, -1, -1.0)
    order = ("ReLU", "linear", "(π/(π−1))^layers", "ReLU with a skip")
    places = tuple(str(index + 1) for index in range(count))
    ordered_curves = {name: curves[name] for name in order}
    lines = Lines("Gradient over that at the last layer", "mean square", ordered_curves, places, "layer")
    numbers = {
        "relu": factor["ReLU"],
        "formula": formula,
        "linear": factor["linear"],
        "skip": factor["ReLU with a skip"],
    }
    measured = [by_seed["ReLU"], by_seed["linear"], by_seed["ReLU with a skip"]]
    return judge_statements(statements, measured, numbers, table=spread("factor per layer", by_seed), lines=lines)


@judge("plain residual root deep law missed")
def gradients_shatter(values: Values, *, statements: Statements) -> Judgement:
    """Decay with depth of the correlation between input gradients of different samples, by kind of net."""
    layers, rows, law = (values["numbers"][name] for name in ("layers", "correlation", "law"))
    normed = "residual with batch norm"
    early, later = 2, 3  # indices of depths; the plain nets' correlation is above the noise at the first
    per_layer_by_kind = {
        kind: np.maximum(rows[kind][:, at], 0.0) ** (1 / layers[at])
        for kind, at in (("plain", early), ("residual", later))
    }
    root = rows[normed][:, -1] / rows[normed][:, early] * np.sqrt(layers[-1] / layers[early])
    measured = [
        per_layer_by_kind["plain"],
        per_layer_by_kind["residual"],
        root,
        (rows[normed] / law[normed]).mean(1),
        rows[normed][:, -1] - rows["residual"][:, -1],
    ]
    mean = {kind: correlations.mean(0) for kind, correlations in rows.items()}
    table = {"layers": list(layers)} | {kind: list(correlations) for kind, correlations in mean.items()}
    table["law with batch norm"] = list(law[normed])
    curves = {
        "plain": mean["plain"][: early + 1],
        normed: mean[normed],
        "law with batch norm": law[normed],
        "1/√L": mean[normed][0] * np.sqrt(layers[0] / np.array(layers)),
        "residual": mean["residual"],
    }
    places = tuple(str(depth) for depth in layers)
    lines = Lines("Gradient of one sample beside another's", "correlation", curves, places, "layers")
    numbers = {
        **{kind: float(factors.mean()) for kind, factors in per_layer_by_kind.items()},
        "root": float(root.mean()),
        "deep": float(mean[normed][-1]),
        "law": float(law[normed][-1]),
    }
    return judge_statements(statements, measured, numbers, table=table, lines=lines)


@judge("share last ends missed")
def nearly_identity(values: Values, *, statements: Statements) -> Judgement:
    """Share of the branch in the variance after a block, by block, and final losses without the norm."""
    chance = loss_of_guessing("digits")
    ends = final_losses(values, chance)
    shares = np.stack([(trace.branch_rms[0] / trace.act_rms[0, 1:]) ** 2 for trace in values["batch norm"]])
    shares = shares.astype(float)
    blocks = np.arange(1, shares.shape[1] + 1)
    share = _geometric_mean(shares, 0)
    by_seed = (shares * blocks)[:, len(blocks) // 2 :].mean(1)
    measured = [by_seed, ends["SkipInit"] - ends["batch norm"], ends["neither"] < LEARNED_BELOW * chance]
    lines = Lines(
        "Share of the branch in the variance",
        "share",
        {"batch norm": share, "1/l": 1 / blocks},
        tuple(map(str, blocks)),
        "block l",
    )
    numbers = {"share": float(by_seed.mean()), "last": float(share[-1]), "ends": means(ends)}
    return judge_statements(statements, measured, numbers, table=spread("loss", ends), lines=lines)


def _geometric_mean(values: np.ndarray, axis: int | None = None) -> np.ndarray:
    return np.asarray(np.exp(np.log(values).mean(axis)))


def _curve(traces: list[Trace]) -> np.ndarray:
    """Training loss, mean over seeds and over LOSS_STEPS steps each."""
    shortest = min(len(trace.loss) for trace in traces) // LOSS_STEPS
    loss = np.mean([trace.loss[: shortest * LOSS_STEPS] for trace in traces], axis=0, dtype=np.float64)
    return np.asarray(loss.reshape(shortest, LOSS_STEPS).mean(1))


def _steps(curves: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    """Labels of the curves' points: the first step of each."""
    return tuple(str(LOSS_STEPS * index) for index in range(max(len(curve) for curve in curves.values())))


@judge("left plain lengths formula missed")
def short_paths(values: Values, *, statements: Statements, v: float) -> Judgement:
    """Accuracy of trained nets without each block, and mean length of gradient paths.

    `v` is the variance gain of a branch.
    """
    lesions = {net: measures(values, net) for net in ("residual", "plain")}
    drops = np.array([np.median(measure.accuracy - measure.skipped_accuracy) for measure in lesions["residual"]])
    left = np.array([measure.skipped_accuracy.max() for measure in lesions["plain"]])
    squares = [np.square(paths.length) for paths in measures(values, "paths")]
    lengths = np.array([float((np.arange(len(square)) * square).sum() / square.sum()) for square in squares])
    formula = (len(squares[0]) - 1) * v / (1 + v)
    by_number = {"residual: accuracy lost": drops, "plain: most that is left": left, "mean path length": lengths}
    table = spread("value", by_number)
    table["number"] = table.pop("net")
    curves = {net: np.mean([measure.skipped_accuracy for measure in of], 0) for net, of in lesions.items()}
    places = tuple(str(index + 1) for index in range(max(map(len, curves.values()))))
    lines = Lines("Accuracy without one block", "held-out", curves, places, "block taken out", "linear")
    numbers = {
        "left": float(drops.mean()),
        "plain": float(left.mean()),
        "lengths": float(lengths.mean()),
        "formula": formula,
    }
    return judge_statements(statements, [drops, left, lengths / formula], numbers, table=table, lines=lines)


@judge("bare skipped mlps bare_share skipped_share missed")
def rank_collapses(values: Values, *, statements: Statements) -> Judgement:
    """Distance of tokens from their mean by block: attention alone, with skips, and with feed-forward nets."""
    collapses = {net: measures(values, net) for net in ("no skip", "skip", "feed-forward, no skip")}
    spreads = {net: np.stack([measure.spread[::2] for measure in of]).astype(float) for net, of in collapses.items()}
    shares = {net: np.stack([measure.query_key_share for measure in of]).astype(float) for net, of in collapses.items()}
    starved = shares["no skip"][:, 2:].max(1)
    fed = shares["skip"].min(1)
    measured = [
        np.array([_log_ratio(row[1:]) for row in spreads["no skip"]]),
        spreads["skip"][:, -1],
        spreads["feed-forward, no skip"][:, -1],
        np.log10(np.maximum(starved, np.finfo(float).tiny)),
        np.log10(np.maximum(fed, np.finfo(float).tiny)),
    ]
    mean = {net: _geometric_mean(np.maximum(rows, np.finfo(float).tiny), 0) for net, rows in spreads.items()}
    table = {"blocks": list(range(len(mean["skip"])))}
    table |= {f"distance, {net}": list(distances) for net, distances in mean.items()}
    places = tuple(str(block) for block in range(len(mean["skip"])))
    lines = Lines("Distance of the tokens from their mean", "share of their length", mean, places, "blocks")
    numbers = {
        "bare": mean["no skip"][1:4],
        "skipped": float(mean["skip"][-1]),
        "mlps": float(mean["feed-forward, no skip"][-1]),
        "bare_share": float(starved.max()),
        "skipped_share": float(fed.min()),
    }
    return judge_statements(statements, measured, numbers, table=table, lines=lines)


def _log_ratio(distances: np.ndarray) -> float:
    """Mean of ln d_(l+1) / ln d_l before rounding: 3 if a distance is cubed; NaN if fewer than two are left."""
    logs = np.log(distances[distances > MAX_ROUNDING_ERROR])
    return float(np.mean(logs[1:] / logs[:-1])) if len(logs) > 1 else float("nan")


@judge("size formula exponent late missed")
def curse_of_depth(values: Values, *, statements: Statements, v: float) -> Judgement:
    """Growth of the stream with and without LayerNorm scaling, and loss without a late block after training."""
    nets = ("pre-norm", "LayerNorm scaling")
    rows = {net: values[f"{net}, before training"].mean_square for net in nets}
    squares = {net: _geometric_mean(of, 0) for net, of in rows.items()}
    blocks = np.arange(1, len(squares["pre-norm"]))
    expected = {"pre-norm": 1 + v * blocks[-1], "LayerNorm scaling": 1 + v * float((1 / blocks).sum())}
    growth = {net: of[:, -1] / of[:, 0] for net, of in rows.items()}
    logs = np.log(rows["pre-norm"])
    half = len(blocks) // 2
    exponent = (logs[:, -1] - logs[:, half]) / (logs[:, half] - logs[:, 0])
    late = {
        net: np.array([_late_lesion_cost(measure) for measure in measures(values, f"{net}, lesions")]) for net in nets
    }
    measured = [
        exponent,
        growth["pre-norm"] / expected["pre-norm"],
        growth["LayerNorm scaling"] / expected["LayerNorm scaling"],
        late["LayerNorm scaling"] - late["pre-norm"],
    ]
    table = spread("loss without a late block", late)
    table |= {"growth of the mean square": list(means(growth).values()), "formula": list(expected.values())}
    numbers = {
        "size": means(growth),
        "formula": expected,
        "exponent": float(exponent.mean()),
        "late": means(late),
    }
    lines = Lines("Mean square of the stream", "mean square", squares)
    return judge_statements(statements, measured, numbers, table=table, lines=lines)


def _late_lesion_cost(lesions: Any) -> float:
    """Mean rise of the loss without a block, over the last third of the blocks."""
    rises = lesions.skipped_loss - lesions.loss
    return float(rises[-len(rises) // 3 :].mean())


@judge("steps ends missed")
def zero_gates(values: Values, *, statements: Statements, level: float) -> Judgement:
    """Steps until the loss is below `level`, by net and depth, for each seed; all of the run's if it never is."""
    steps = {name: np.array([_steps_to(trace, level) for trace in traces]) for name, traces in values.items()}
    depths = sorted({int(name.split(", ")[1]) for name in steps})
    shallow, deep = depths[0], depths[-1]
    longest = max(len(trace.loss) for traces in values.values() for trace in traces)
    counted = {name: np.minimum(by_seed, longest) for name, by_seed in steps.items()}
    measured = [
        counted[f"ReZero, {deep}"] - counted[f"ReZero, {shallow}"],
        np.isfinite(steps[f"ReZero, {deep}"]),
        np.isfinite(steps[f"plain, {deep}"]),
        counted[f"ReZero, {deep}"] - counted[f"pre-norm, {deep}"],
    ]
    ends = means(final_losses(values, loss_of_guessing("digits")))
    curves = {net: _curve(values[f"{net}, {deep}"]) for net in ("ReZero", "pre-norm", "plain")}
    lines = Lines("Loss of the deep nets", "cross-entropy", curves, _steps(curves), "step", "linear")
    median_steps = {
        name: f"{np.median(by_seed):.0f}" if np.isfinite(np.median(by_seed)) else "never"
        for name, by_seed in steps.items()
    }
    numbers = {"steps": median_steps, "ends": ends}
    return judge_statements(statements, measured, numbers, table=spread("steps", counted), lines=lines)


def _steps_to(trace: Trace, level: float) -> float:
    """First step at which LOSS_STEPS losses have a mean below `level`; infinite if there is none."""
    below = np.flatnonzero(np.convolve(trace.loss, np.full(LOSS_STEPS, 1 / LOSS_STEPS), "valid") < level)
    return float(below[0]) if len(below) else np.inf
