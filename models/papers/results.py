"""Judges of papers on depth, initialisation, norms and attention. Texts: `content/en/papers/`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from models.experiment import Judgement, Lines, Plane, Values, judge
from models.insight.baseline import loss_of_guessing
from models.insight.outcome import final_loss
from models.papers.judging import judged, per_layer, slope
from models.trace import Trace

SAME_LOSS = 0.05  # nats up to which two final losses count as the same
LOSS_STEPS = 5  # steps that a point of a training curve averages
SLOPES = (-0.6, -0.35)  # accepted powers of depth, around the theorem's -1/2
STALLED = 0.98  # of the loss of guessing: above it a net has learnt nothing
MOVED = 0.9  # of the loss of guessing: below it a net has learnt something
HARMLESS = 0.05  # a smaller loss of accuracy without a block is harmless
BROKEN = 0.35  # below this accuracy on ten classes a net without a block is broken
CLOSE_LENGTH = 0.1  # accepted relative error of a mean path length
ROUNDING = 1e-6  # a distance below it is rounding
FASTER = 2.0  # the fall is faster than exponential if each block multiplies the logarithm by more
SPREAD_LEFT = 0.05  # of the initial distance between tokens: below it they are alike
STARVED, FED = 1e-6, 1e-3  # bounds of the share of queries and keys in a gradient
CLOSE_SIZE = 0.15  # accepted relative error of a stream's mean square
STEADY = 0.1  # below this variance of its log a length hardly fluctuates
HARDLY = 1.05  # a factor per layer below it counts as no growth
HALF_CLOSE = 0.1  # accepted relative error of a factor 1/2 per layer
ROOTS = (-0.65, -0.35)  # accepted powers of depth, around -1/2
FLAT_FACTOR = 1.5  # a gradient within this factor does not depend on depth
CLOSE = 0.05  # accepted relative error of a factor per layer
CLOSE_SPREAD = 0.2  # accepted relative error of a variance over a few hundred nets
CLOSE_SCALE = 0.2  # accepted relative error of a depth scale, which amplifies that of a factor


@judge("ends missed")
def degradation(values: Values, *, statements: list[str], shallow: str, deep: str) -> Judgement:
    """Final training losses by net and seed: plain nets get worse with depth, residual nets do not."""
    ends = {name: np.array([final_loss(trace) for trace in traces]) for name, traces in values.items()}
    plain, residual = ({size: ends[f"{kind}, {size}"] for size in (shallow, deep)} for kind in ("plain", "residual"))
    holds = [
        bool((plain[deep] > plain[shallow] + SAME_LOSS).all()),
        bool((residual[deep] <= residual[shallow] + SAME_LOSS).all()),
        bool((residual[deep] < plain[deep] - SAME_LOSS).all()),
    ]
    table = {"net": list(ends)} | {
        f"loss, seed {seed}": [losses[seed] for losses in ends.values()] for seed in range(len(plain[deep]))
    }
    drawn = [f"{kind}, {size}" for kind in ("plain", "residual") for size in (shallow, deep)]
    curves = {name: _curve(values[name]) for name in drawn}
    lines = Lines("Loss in training, mean of the seeds", "cross-entropy", curves, _steps(curves), "step", "linear")
    means = {name: float(losses.mean()) for name, losses in ends.items()}
    return judged(statements, holds, {"ends": means}, table=table, lines=lines)


@judge("measured formula scale expected missed")
def order_to_chaos(values: Values, *, statements: list[str]) -> Judgement:
    """Gradient factor per layer below, at and above the edge of chaos, against chi."""
    computed = values["numbers"]
    by_seed = {variance: 1 / per_layer(profile) for variance, profile in computed["profiles"].items()}
    measured = {variance: float(np.exp(np.log(factors).mean())) for variance, factors in by_seed.items()}
    formula = computed["chi"]
    low, critical, high = measured
    near = [abs(measured[variance] / formula[variance] - 1) < CLOSE for variance in measured]
    scale, expected = (
        {variance: 1 / abs(np.log(factors[variance])) for variance in (low, high)} for factors in (measured, formula)
    )
    holds = [
        bool((by_seed[low] < 1 - CLOSE).all()),
        abs(measured[critical] - 1) < CLOSE,
        bool((by_seed[high] > 1 + CLOSE).all()),
        all(near) and all(abs(scale[variance] / expected[variance] - 1) < CLOSE_SCALE for variance in scale),
    ]
    names = {low: "order", critical: "edge", high: "chaos"}
    profiles = {
        f"{name} ({variance:g})": np.exp(np.log(computed["profiles"][variance]).mean(0))
        / np.exp(np.log(computed["profiles"][variance][:, -1]).mean())
        for variance, name in names.items()
    }
    table = {
        "weight variance": list(measured),
        "factor per layer": list(measured.values()),
        "χ of the formula": list(formula.values()),
    } | {f"seed {seed}": [factors[seed] for factors in by_seed.values()] for seed in range(len(by_seed[low]))}
    places = tuple(str(layer) for layer in range(len(next(iter(profiles.values())))))
    lines = Lines("Gradient over that at the last layer", "mean square, ratio", profiles, places, "layer")
    plane = Plane(
        title="Order and chaos",
        unit="factor per layer",
        x="weight variance",
        y="bias variance",
        xs=computed["xs"],
        ys=computed["ys"],
        cells=computed["cells"],
        edge=computed["edge"],
        edge_name="χ = 1 (formula)",
    )
    numbers = {
        "measured": {names[variance]: value for variance, value in measured.items()},
        "formula": {names[variance]: formula[variance] for variance in measured},
        "scale": {names[variance]: value for variance, value in scale.items()},
        "expected": {names[variance]: value for variance, value in expected.items()},
    }
    return judged(statements, holds, numbers, table=table, lines=lines, plane=plane)


@judge("ratio pre post missed")
def last_gradient(values: Values, *, statements: list[str]) -> Judgement:
    """Gradient of the last block at step 0, by depth, in pre-norm and post-norm."""
    by_kind: dict[str, dict[int, np.ndarray]] = {"post-LN": {}, "pre-LN": {}}
    for name, traces in values.items():
        kind, depth = name.split(", ")
        by_kind[kind][int(depth)] = np.array([trace.weight_grad_rms[0, -1] for trace in traces], float)
    depths = sorted(by_kind["pre-LN"])
    post, pre = (np.stack([by_kind[kind][depth] for depth in depths], 1) for kind in ("post-LN", "pre-LN"))
    mean_post, mean_pre = (np.exp(np.log(rows).mean(0)) for rows in (post, pre))
    ratio = slope(depths, mean_pre / mean_post)
    powers = [slope(depths, row) for row in pre / post]
    holds = [
        bool(1 / FLAT_FACTOR < mean_post[-1] / mean_post[0] < FLAT_FACTOR),
        all(power < SLOPES[1] / 2 for power in powers) and SLOPES[0] < ratio < SLOPES[1],
    ]
    table = {"blocks": depths, "post-LN": list(mean_post), "pre-LN": list(mean_pre)} | {
        f"pre over post, seed {seed}": list(row) for seed, row in enumerate(pre / post)
    }
    root = mean_pre[0] * np.sqrt(depths[0] / np.array(depths))
    curves = {"post-LN": mean_post, "pre-LN": mean_pre, "1/√L": root}
    places = tuple(str(depth) for depth in depths)
    lines = Lines("Gradient of the last block's weights", "RMS", curves, places, "blocks L")
    numbers = {"ratio": ratio, "pre": slope(depths, mean_pre), "post": slope(depths, mean_post)}
    return judged(statements, holds, numbers, table=table, lines=lines)


@judge("he xavier back ends chance missed")
def he_weights(values: Values, *, statements: list[str]) -> Judgement:
    """Factors per layer, forward and backward, and final losses, with He and Xavier initialisation."""
    signals = {name: values[f"{name}, before training"] for name in ("He", "Xavier")}
    forward = {name: per_layer(signal.mean_square) for name, signal in signals.items()}
    back = {name: 1 / per_layer(np.square(signal.grad_norm)) for name, signal in signals.items()}
    ends = {name: np.array([final_loss(trace) for trace in values[f"{name}, trained"]]) for name in signals}
    chance = loss_of_guessing("digits")
    he, xavier, he_back = (
        float(np.exp(np.log(factors).mean())) for factors in (forward["He"], forward["Xavier"], back["He"])
    )
    holds = [
        abs(he - 1) < CLOSE and abs(he_back - 1) < CLOSE,
        abs(2 * xavier - 1) < CLOSE,
        bool((ends["He"] < MOVED * chance).all() and (ends["Xavier"] > STALLED * chance).all()),
    ]
    table = {
        "weights": list(signals),
        "factor per layer": [he, xavier],
        "of the gradient": [he_back, float(np.exp(np.log(back["Xavier"]).mean()))],
    } | {f"loss, seed {seed}": [losses[seed] for losses in ends.values()] for seed in range(len(ends["He"]))}
    curves = {name: _curve(values[f"{name}, trained"]) for name in signals}
    lines = Lines("Loss in training, mean of the seeds", "cross-entropy", curves, _steps(curves), "step", "linear")
    numbers = {"he": he, "xavier": xavier, "back": he_back, "chance": chance}
    means = {name: float(losses.mean()) for name, losses in ends.items()}
    return judged(statements, holds, numbers | {"ends": means}, table=table, lines=lines)


@judge("nets narrow wide expected residual missed")
def length_fluctuates(values: Values, *, statements: list[str]) -> Judgement:
    """Variance over draws of the log of a net's squared length, by shape, against 5 L / n."""
    logs_by_kind = values["numbers"]
    plain, residual = (
        {shape: float(logs.var()) for shape, logs in logs_by_kind[kind].items()} for kind in ("plain", "residual")
    )
    shapes = sorted(plain, key=lambda shape: shape[1] / shape[0])
    formula = {(width, layers): 5 * layers / width for width, layers in shapes}
    widths = sorted({width for width, _ in shapes})
    narrow, wide = ((width, 16) for width in (widths[0], widths[-1]))
    holds = [
        all(abs(plain[shape] / formula[shape] - 1) < CLOSE_SPREAD for shape in shapes),
        plain[narrow] > plain[wide],
        all(variance < STEADY for variance in residual.values()),
    ]
    names = tuple(f"{layers}/{width}" for width, layers in shapes)
    table = {
        "layers / width": list(names),
        "plain": [plain[shape] for shape in shapes],
        "5 L/n": [formula[shape] for shape in shapes],
        "residual": [residual[shape] for shape in shapes],
    }
    columns = {"plain": plain, "residual": residual, "5 L/n": formula}
    curves = {name: np.array([column[shape] for shape in shapes]) for name, column in columns.items()}
    lines = Lines("Variance of the log of the squared length", "variance", curves, names, "layers over width", "linear")
    numbers = {
        "nets": len(logs_by_kind["plain"][narrow]),
        "narrow": plain[narrow],
        "wide": plain[wide],
        "expected": {"narrow": formula[narrow], "wide": formula[wide]},
        "residual": max(residual.values()),
    }
    return judged(statements, holds, numbers, table=table, lines=lines)


@judge("relu formula linear skip missed")
def norm_explodes(values: Values, *, statements: list[str]) -> Judgement:
    """Gradient factor per layer with batch norm, without layer 1, whose input has another distribution."""
    profiles = values["numbers"]
    by_seed = {name: 1 / per_layer(rows[:, 1:]) for name, rows in profiles.items()}
    factor = {name: float(np.exp(np.log(factors).mean())) for name, factors in by_seed.items()}
    formula = float(np.pi / (np.pi - 1))
    holds = [
        bool((by_seed["ReLU"] > HARDLY).all()),
        abs(factor["ReLU"] / formula - 1) < CLOSE,
        factor["linear"] < HARDLY,
    ]
    table = {"net": list(factor), "factor per layer": list(factor.values())} | {
        f"seed {index}": [factors[index] for factors in by_seed.values()] for index in range(len(by_seed["ReLU"]))
    }
    curves = {name: np.exp(np.log(rows / rows[:, -1:]).mean(0))[1:] for name, rows in profiles.items()}
    count = len(curves["ReLU"])
    curves["(π/(π−1))^layers"] = formula ** np.arange(count - 1, -1, -1.0)
    order = ("ReLU", "linear", "(π/(π−1))^layers", "ReLU with a skip")
    places = tuple(str(index + 1) for index in range(count))
    lines = Lines("Gradient over that at the last layer", "mean square", {n: curves[n] for n in order}, places, "layer")
    numbers = {
        "relu": factor["ReLU"],
        "formula": formula,
        "linear": factor["linear"],
        "skip": factor["ReLU with a skip"],
    }
    return judged(statements, holds, numbers, table=table, lines=lines)


@judge("plain residual power deep missed")
def gradients_shatter(values: Values, *, statements: list[str]) -> Judgement:
    """Decay with depth of the correlation between input gradients of different samples, by kind of net."""
    layers = values["numbers"]["layers"]
    rows = values["numbers"]["correlation"]
    mean = {name: correlations.mean(0) for name, correlations in rows.items()}
    shallow = [
        index for index, depth in enumerate(layers) if depth <= 8
    ]  # beyond, the plain net's correlation is noise
    fits = {
        name: float(np.exp(np.polyfit(np.take(layers, shallow), np.log(correlations[shallow]), 1)[0]))
        for name, correlations in mean.items()
    }
    normed = "residual with batch norm"
    power = slope(layers[1:], mean[normed][1:])
    holds = [
        abs(2 * fits["plain"] - 1) < HALF_CLOSE,
        bool((rows["residual"][:, shallow[-1]] > rows["plain"][:, shallow[-1]]).all())
        and fits["residual"] > 3 / 4 * (1 - HALF_CLOSE),
        bool((rows[normed][:, -1] > rows["residual"][:, -1]).all()),
        ROOTS[0] < power < ROOTS[1],
    ]
    table = {"layers": list(layers)} | {name: list(correlations) for name, correlations in mean.items()}
    curves = {name: correlations for name, correlations in mean.items() if name != "plain"}
    curves["plain"] = mean["plain"][: len(shallow)]
    curves["1/√L"] = mean[normed][0] / np.sqrt(layers)
    order = ("plain", normed, "1/√L", "residual")
    places = tuple(str(depth) for depth in layers)
    lines = Lines(
        "Gradient of one sample beside another's", "correlation", {n: curves[n] for n in order}, places, "layers"
    )
    numbers = {"plain": fits["plain"], "residual": fits["residual"], "power": power, "deep": float(mean[normed][-1])}
    return judged(statements, holds, numbers, table=table, lines=lines)


@judge("share last ends missed")
def nearly_identity(values: Values, *, statements: list[str]) -> Judgement:
    """Share of the branch in the variance after a block, by block, and final losses without the norm."""
    ends = {name: np.array([final_loss(trace) for trace in traces]) for name, traces in values.items()}
    traces = values["batch norm"]
    shares = np.stack([(trace.branch_rms[0] / trace.act_rms[0, 1:]) ** 2 for trace in traces]).astype(float)
    blocks = np.arange(1, shares.shape[1] + 1)
    share = np.exp(np.log(shares).mean(0))
    times = float((share * blocks)[len(blocks) // 2 :].mean())
    chance = loss_of_guessing("digits")
    holds = [
        abs(times - 1) < CLOSE_SPREAD,
        bool((ends["SkipInit"] < ends["batch norm"] + SAME_LOSS).all()),
        bool((ends["neither"] > STALLED * chance).all()),
    ]
    table = {"net": list(ends)} | {
        f"loss, seed {seed}": [losses[seed] if np.isfinite(losses[seed]) else "diverged" for losses in ends.values()]
        for seed in range(len(traces))
    }
    lines = Lines(
        "Share of the branch in the variance",
        "share",
        {"batch norm": share, "1/l": 1 / blocks},
        tuple(map(str, blocks)),
        "block l",
    )
    means = {name: float(losses.mean()) for name, losses in ends.items()}
    numbers = {"share": times, "last": float(share[-1]), "ends": means}
    return judged(statements, holds, numbers, table=table, lines=lines)


def _curve(traces: list[Trace]) -> np.ndarray:
    """Training loss, mean over seeds and over LOSS_STEPS steps each."""
    shortest = min(len(trace.loss) for trace in traces) // LOSS_STEPS
    loss = np.mean([trace.loss[: shortest * LOSS_STEPS] for trace in traces], axis=0, dtype=np.float64)
    return np.asarray(loss.reshape(shortest, LOSS_STEPS).mean(1))


def _steps(curves: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    """Labels of the curves' points: the first step of each."""
    return tuple(str(LOSS_STEPS * index) for index in range(max(len(curve) for curve in curves.values())))


@judge("left plain lengths formula missed")
def short_paths(values: Values, *, statements: list[str], v: float) -> Judgement:
    """Accuracy of trained nets without each block, and mean length of gradient paths; `v`: gain of a branch."""
    kinds = {kind: _measures(values, kind) for kind in ("residual", "plain", "paths")}
    lost = [float(np.median(lesions.accuracy - lesions.skipped_accuracy)) for lesions in kinds["residual"]]
    left = [float(lesions.skipped_accuracy.max()) for lesions in kinds["plain"]]
    squares = [np.square(paths.length) for paths in kinds["paths"]]
    mean_lengths = [float((np.arange(len(square)) * square).sum() / square.sum()) for square in squares]
    blocks = len(squares[0]) - 1
    formula = blocks * v / (1 + v)
    holds = [
        all(accuracy < HARMLESS for accuracy in lost),
        all(accuracy < BROKEN for accuracy in left),
        abs(float(np.mean(mean_lengths)) / formula - 1) < CLOSE_LENGTH,
    ]
    table = {
        "seed": [str(index) for index in range(len(lost))],
        "residual: accuracy lost": lost,
        "plain: most that is left": left,
        "mean path length": mean_lengths,
    }
    curves = {kind: np.mean([lesions.skipped_accuracy for lesions in kinds[kind]], 0) for kind in ("residual", "plain")}
    places = tuple(str(index + 1) for index in range(max(map(len, curves.values()))))
    lines = Lines("Accuracy without one block", "held-out", curves, places, "block taken out", "linear")
    numbers = {
        "left": float(np.mean(lost)),
        "plain": float(np.mean(left)),
        "lengths": float(np.mean(mean_lengths)),
        "formula": formula,
    }
    return judged(statements, holds, numbers, table=table, lines=lines)


@judge("bare skipped bare_share skipped_share missed")
def rank_collapses(values: Values, *, statements: list[str]) -> Judgement:
    """Distance of tokens from their mean in nets of attention alone, by block, with and without skips."""
    kinds = {kind: _measures(values, kind) for kind in ("no skip", "skip")}
    spreads = {
        kind: np.stack([measure.spread[::2] for measure in measures]).astype(float) for kind, measures in kinds.items()
    }
    shares = {
        kind: np.stack([measure.query_key_share for measure in measures]).astype(float)
        for kind, measures in kinds.items()
    }
    log_ratios: list[float] = []
    for row in spreads["no skip"]:
        logs = np.log(row[1:][row[1:] > ROUNDING])
        log_ratios += list(logs[1:] / logs[:-1]) or [np.nan]
    holds = [
        all(ratio > FASTER for ratio in log_ratios),
        bool((spreads["skip"][:, -1] > SPREAD_LEFT).all()),
        bool((shares["no skip"][:, 2:] < STARVED).all() and (shares["skip"] > FED).all()),
    ]
    mean = {kind: np.exp(np.log(np.maximum(rows, np.finfo(float).tiny)).mean(0)) for kind, rows in spreads.items()}
    table = {"blocks": list(range(len(mean["skip"]))), "distance, no skip": list(mean["no skip"])}
    table |= {"distance, skip": list(mean["skip"])}
    places = tuple(str(block) for block in range(len(mean["skip"])))
    lines = Lines("Distance of the tokens from their mean", "share of their length", mean, places, "blocks")
    numbers = {
        "bare": mean["no skip"][1:4],
        "skipped": float(mean["skip"][-1]),
        "bare_share": float(shares["no skip"][:, 2].max()),
        "skipped_share": float(shares["skip"].min()),
    }
    return judged(statements, holds, numbers, table=table, lines=lines)


@judge("size formula late missed")
def curse_of_depth(values: Values, *, statements: list[str], v: float) -> Judgement:
    """Growth of the stream with and without LayerNorm scaling, and loss without a late block after training."""
    kinds = ("pre-norm", "LayerNorm scaling")
    squares = {kind: np.exp(np.log(values[f"{kind}, before training"].mean_square).mean(0)) for kind in kinds}
    blocks = np.arange(1, len(squares["pre-norm"]))
    expected = {"pre-norm": 1 + v * blocks[-1], "LayerNorm scaling": 1 + v * float((1 / blocks).sum())}
    size = {kind: float(squares[kind][-1] / squares[kind][0]) for kind in kinds}
    late = {
        kind: [
            float((lesions.skipped_loss - lesions.loss)[-len(lesions.skipped_loss) // 3 :].mean())
            for lesions in _measures(values, f"{kind}, lesions")
        ]
        for kind in kinds
    }
    holds = [
        abs(size["pre-norm"] / expected["pre-norm"] - 1) < CLOSE_SIZE,
        abs(size["LayerNorm scaling"] / expected["LayerNorm scaling"] - 1) < CLOSE_SIZE,
        all(scaled > plain for scaled, plain in zip(late["LayerNorm scaling"], late["pre-norm"], strict=True)),
    ]
    table = {"net": list(kinds), "growth of the mean square": list(size.values()), "formula": list(expected.values())}
    table |= {
        f"loss without a late block, seed {seed}": [late[kind][seed] for kind in kinds]
        for seed in range(len(late["pre-norm"]))
    }
    numbers = {
        "size": size,
        "formula": expected,
        "late": {kind: float(np.mean(losses)) for kind, losses in late.items()},
    }
    return judged(
        statements, holds, numbers, table=table, lines=Lines("Mean square of the stream", "mean square", squares)
    )


def _measures(values: Values, kind: str) -> list[Any]:
    """Values of one kind of net, one per seed."""
    return [value for name, value in values.items() if name.startswith(f"{kind}, seed")]


@judge("steps ends missed")
def zero_gates(values: Values, *, statements: list[str], level: float) -> Judgement:
    """Steps until the loss is below `level`, by net and depth, for each seed."""
    steps = {name: np.array([_steps_to(trace, level) for trace in traces]) for name, traces in values.items()}
    depths = sorted({int(name.split(", ")[1]) for name in steps})
    first, last = depths[0], depths[-1]
    holds = [
        bool((steps[f"ReZero, {last}"] <= steps[f"ReZero, {first}"]).all()),
        bool(np.isinf(steps[f"plain, {last}"]).all() and np.isfinite(steps[f"ReZero, {last}"]).all()),
        bool((steps[f"ReZero, {last}"] < steps[f"pre-norm, {last}"]).all()),
    ]
    ends = {name: float(np.mean([final_loss(trace) for trace in traces])) for name, traces in values.items()}
    table = {"net": list(steps)} | {
        f"steps, seed {seed}": [
            steps_by_seed[seed] if np.isfinite(steps_by_seed[seed]) else "never" for steps_by_seed in steps.values()
        ]
        for seed in range(len(steps[f"ReZero, {last}"]))
    }
    curves = {kind: _curve(values[f"{kind}, {last}"]) for kind in ("ReZero", "pre-norm", "plain")}
    lines = Lines(f"Loss of {last} blocks", "cross-entropy", curves, _steps(curves), "step", "linear")
    words: dict[str, str] = {
        name: f"{np.median(steps_by_seed):.0f}" if np.isfinite(np.median(steps_by_seed)) else "never"
        for name, steps_by_seed in steps.items()
    }
    return judged(statements, holds, {"steps": words, "ends": ends}, table=table, lines=lines)


def _steps_to(trace: Trace, level: float) -> float:
    """First step at which LOSS_STEPS losses have a mean below `level`; infinite if there is none."""
    below = np.flatnonzero(np.convolve(trace.loss, np.full(LOSS_STEPS, 1 / LOSS_STEPS), "valid") < level)
    return float(below[0]) if len(below) else np.inf
