"""Judges of papers on depth, initialisation, norms and attention. Texts: `content/en/papers/`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from models.experiment import Judgement, Lines, Plane, Values, judge
from models.insight.baseline import loss_of_guessing
from models.insight.outcome import final_loss
from models.papers.judging import judge_statements, per_layer, slope
from models.trace import Trace

SAME_LOSS = 0.05  # nats up to which two final losses count as the same
LOSS_STEPS = 5  # steps that a point of a training curve averages
MIN_STALLED_LOSS = 0.98  # share of the loss of guessing: a net above it has learnt nothing
MAX_LEARNT_LOSS = 0.9  # share of the loss of guessing: a net below it has learnt something
MAX_HARMLESS_DROP = 0.05  # accuracy: a block is dispensable if a net without it loses less
MAX_BROKEN_ACCURACY = 0.35  # on ten classes: a net below it is broken
MAX_ROUNDING_ERROR = 1e-6  # distances below it are rounding errors
MIN_LOG_RATIO = 2.0  # a fall is faster than exponential if each block multiplies the logarithm by more
MIN_SPREAD = 0.05  # share of the initial distance between tokens: below it they are alike
MAX_STARVED_SHARE = 1e-6  # of the gradient: queries and keys below it get no gradient
MIN_FED_SHARE = 1e-3  # of the gradient: queries and keys above it get some
MAX_STEADY_VARIANCE = 0.1  # of the log of a length: below it the length hardly fluctuates
MAX_LEVEL_FACTOR = 1.05  # per layer: a gradient below it counts as level
MAX_FLAT_FACTOR = 1.5  # a gradient that changes by less does not depend on depth
# Accepted powers of depth, around -1/2: of the gradient in pre-norm, and of a correlation.
GRADIENT_POWERS = (-0.6, -0.35)
CORRELATION_POWERS = (-0.65, -0.35)
MAX_CORRELATION_LAYERS = 8  # in a deeper plain net the correlation is noise
# Accepted relative errors:
FACTOR_TOLERANCE = 0.05  # of a factor per layer
HALVING_TOLERANCE = 0.1  # of a factor 1/2 per layer
LENGTH_TOLERANCE = 0.1  # of a mean path length
MEAN_SQUARE_TOLERANCE = 0.15  # of a stream's mean square
VARIANCE_TOLERANCE = 0.2  # of a variance over a few hundred nets
DEPTH_SCALE_TOLERANCE = 0.2  # of a depth scale, which amplifies the error of a factor


@judge("ends missed")
def degradation(values: Values, *, statements: list[str], shallow: str, deep: str) -> Judgement:
    """Final training losses by net and seed: plain nets get worse with depth, residual nets do not."""
    final_losses = _final_losses(values)
    plain = {size: final_losses[f"plain, {size}"] for size in (shallow, deep)}
    residual = {size: final_losses[f"residual, {size}"] for size in (shallow, deep)}
    holds = [
        bool((plain[deep] > plain[shallow] + SAME_LOSS).all()),
        bool((residual[deep] <= residual[shallow] + SAME_LOSS).all()),
        bool((residual[deep] < plain[deep] - SAME_LOSS).all()),
    ]
    table = {"net": list(final_losses)} | {
        f"loss, seed {seed}": [losses[seed] for losses in final_losses.values()] for seed in range(len(plain[deep]))
    }
    curve_names = [f"{net}, {size}" for net in ("plain", "residual") for size in (shallow, deep)]
    curves = {name: _curve(values[name]) for name in curve_names}
    lines = Lines("Loss in training, mean of the seeds", "cross-entropy", curves, _steps(curves), "step", "linear")
    mean_losses = {name: float(losses.mean()) for name, losses in final_losses.items()}
    return judge_statements(statements, holds, {"ends": mean_losses}, table=table, lines=lines)


@judge("measured formula scale expected missed")
def order_to_chaos(values: Values, *, statements: list[str]) -> Judgement:
    """Gradient factor per layer below, at and above the edge of chaos, against chi."""
    computed = values["numbers"]
    by_seed = {variance: 1 / per_layer(profile) for variance, profile in computed["profiles"].items()}
    measured = {variance: float(_geometric_mean(factors)) for variance, factors in by_seed.items()}
    formula = computed["chi"]
    low, critical, high = measured
    scale = {variance: 1 / abs(np.log(measured[variance])) for variance in (low, high)}
    expected = {variance: 1 / abs(np.log(formula[variance])) for variance in (low, high)}
    factors_agree = all(abs(measured[variance] / formula[variance] - 1) < FACTOR_TOLERANCE for variance in measured)
    scales_agree = all(abs(scale[variance] / expected[variance] - 1) < DEPTH_SCALE_TOLERANCE for variance in scale)
    holds = [
        bool((by_seed[low] < 1 - FACTOR_TOLERANCE).all()),
        abs(measured[critical] - 1) < FACTOR_TOLERANCE,
        bool((by_seed[high] > 1 + FACTOR_TOLERANCE).all()),
        factors_agree and scales_agree,
    ]
    names = {low: "order", critical: "edge", high: "chaos"}
    profiles = {}
    for variance, name in names.items():
        rows = computed["profiles"][variance]
        profiles[f"{name} ({variance:g})"] = _geometric_mean(rows, 0) / _geometric_mean(rows[:, -1])
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
    return judge_statements(statements, holds, numbers, table=table, lines=lines, plane=plane)


@judge("ratio pre post missed")
def last_gradient(values: Values, *, statements: list[str]) -> Judgement:
    """Gradient of the last block at step 0, by depth, in pre-norm and post-norm."""
    gradients: dict[str, dict[int, np.ndarray]] = {"post-LN": {}, "pre-LN": {}}
    for name, traces in values.items():
        placement, depth = name.split(", ")
        gradients[placement][int(depth)] = np.array([trace.weight_grad_rms[0, -1] for trace in traces], float)
    depths = sorted(gradients["pre-LN"])
    post = np.stack([gradients["post-LN"][depth] for depth in depths], 1)
    pre = np.stack([gradients["pre-LN"][depth] for depth in depths], 1)
    mean_post = _geometric_mean(post, 0)
    mean_pre = _geometric_mean(pre, 0)
    ratio = slope(depths, mean_pre / mean_post)
    powers = [slope(depths, row) for row in pre / post]
    holds = [
        bool(1 / MAX_FLAT_FACTOR < mean_post[-1] / mean_post[0] < MAX_FLAT_FACTOR),
        all(power < GRADIENT_POWERS[1] / 2 for power in powers) and GRADIENT_POWERS[0] < ratio < GRADIENT_POWERS[1],
    ]
    table = {"blocks": depths, "post-LN": list(mean_post), "pre-LN": list(mean_pre)} | {
        f"pre over post, seed {seed}": list(row) for seed, row in enumerate(pre / post)
    }
    inverse_root = mean_pre[0] * np.sqrt(depths[0] / np.array(depths))
    curves = {"post-LN": mean_post, "pre-LN": mean_pre, "1/√L": inverse_root}
    places = tuple(str(depth) for depth in depths)
    lines = Lines("Gradient of the last block's weights", "RMS", curves, places, "blocks L")
    numbers = {"ratio": ratio, "pre": slope(depths, mean_pre), "post": slope(depths, mean_post)}
    return judge_statements(statements, holds, numbers, table=table, lines=lines)


@judge("he xavier back ends chance missed")
def he_weights(values: Values, *, statements: list[str]) -> Judgement:
    """Factors per layer, forward and backward, and final losses, with He and Xavier initialisation."""
    signals = {name: values[f"{name}, before training"] for name in ("He", "Xavier")}
    forward = {name: per_layer(signal.mean_square) for name, signal in signals.items()}
    back = {name: 1 / per_layer(np.square(signal.grad_norm)) for name, signal in signals.items()}
    final_losses = _final_losses({name: values[f"{name}, trained"] for name in signals})
    chance = loss_of_guessing("digits")
    he = float(_geometric_mean(forward["He"]))
    xavier = float(_geometric_mean(forward["Xavier"]))
    he_back = float(_geometric_mean(back["He"]))
    holds = [
        abs(he - 1) < FACTOR_TOLERANCE and abs(he_back - 1) < FACTOR_TOLERANCE,
        abs(2 * xavier - 1) < FACTOR_TOLERANCE,
        bool(
            (final_losses["He"] < MAX_LEARNT_LOSS * chance).all()
            and (final_losses["Xavier"] > MIN_STALLED_LOSS * chance).all()
        ),
    ]
    table = {
        "weights": list(signals),
        "factor per layer": [he, xavier],
        "of the gradient": [he_back, float(_geometric_mean(back["Xavier"]))],
    } | {
        f"loss, seed {seed}": [losses[seed] for losses in final_losses.values()]
        for seed in range(len(final_losses["He"]))
    }
    curves = {name: _curve(values[f"{name}, trained"]) for name in signals}
    lines = Lines("Loss in training, mean of the seeds", "cross-entropy", curves, _steps(curves), "step", "linear")
    numbers = {"he": he, "xavier": xavier, "back": he_back, "chance": chance}
    mean_losses = {name: float(losses.mean()) for name, losses in final_losses.items()}
    return judge_statements(statements, holds, numbers | {"ends": mean_losses}, table=table, lines=lines)


@judge("nets narrow wide expected residual missed")
def length_fluctuates(values: Values, *, statements: list[str]) -> Judgement:
    """Variance over draws of the log of a net's squared length, by shape, against 5 L / n."""
    logs_by_net = values["numbers"]
    plain = {shape: float(logs.var()) for shape, logs in logs_by_net["plain"].items()}
    residual = {shape: float(logs.var()) for shape, logs in logs_by_net["residual"].items()}
    shapes = sorted(plain, key=lambda shape: shape[1] / shape[0])
    formula = {(width, layers): 5 * layers / width for width, layers in shapes}
    widths = sorted({width for width, _ in shapes})
    narrow = (widths[0], 16)  # width, layers
    wide = (widths[-1], 16)
    holds = [
        all(abs(plain[shape] / formula[shape] - 1) < VARIANCE_TOLERANCE for shape in shapes),
        plain[narrow] > plain[wide],
        all(variance < MAX_STEADY_VARIANCE for variance in residual.values()),
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
        "nets": len(logs_by_net["plain"][narrow]),
        "narrow": plain[narrow],
        "wide": plain[wide],
        "expected": {"narrow": formula[narrow], "wide": formula[wide]},
        "residual": max(residual.values()),
    }
    return judge_statements(statements, holds, numbers, table=table, lines=lines)


@judge("relu formula linear skip missed")
def norm_explodes(values: Values, *, statements: list[str]) -> Judgement:
    """Gradient factor per layer with batch norm, without layer 1, whose input has another distribution."""
    profiles = values["numbers"]
    by_seed = {name: 1 / per_layer(rows[:, 1:]) for name, rows in profiles.items()}
    factor = {name: float(_geometric_mean(factors)) for name, factors in by_seed.items()}
    formula = float(np.pi / (np.pi - 1))
    holds = [
        bool((by_seed["ReLU"] > MAX_LEVEL_FACTOR).all()),
        abs(factor["ReLU"] / formula - 1) < FACTOR_TOLERANCE,
        factor["linear"] < MAX_LEVEL_FACTOR,
    ]
    table = {"net": list(factor), "factor per layer": list(factor.values())} | {
        f"seed {index}": [factors[index] for factors in by_seed.values()] for index in range(len(by_seed["ReLU"]))
    }
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
    return judge_statements(statements, holds, numbers, table=table, lines=lines)


@judge("plain residual power deep missed")
def gradients_shatter(values: Values, *, statements: list[str]) -> Judgement:
    """Decay with depth of the correlation between input gradients of different samples, by kind of net."""
    layers = values["numbers"]["layers"]
    rows = values["numbers"]["correlation"]
    mean = {name: correlations.mean(0) for name, correlations in rows.items()}
    shallow = [index for index, depth in enumerate(layers) if depth <= MAX_CORRELATION_LAYERS]
    fits = {
        name: float(np.exp(np.polyfit(np.take(layers, shallow), np.log(correlations[shallow]), 1)[0]))
        for name, correlations in mean.items()
    }
    normed = "residual with batch norm"
    power = slope(layers[1:], mean[normed][1:])
    residual_exceeds_plain = bool((rows["residual"][:, shallow[-1]] > rows["plain"][:, shallow[-1]]).all())
    holds = [
        abs(2 * fits["plain"] - 1) < HALVING_TOLERANCE,
        residual_exceeds_plain and fits["residual"] > 3 / 4 * (1 - HALVING_TOLERANCE),
        bool((rows[normed][:, -1] > rows["residual"][:, -1]).all()),
        CORRELATION_POWERS[0] < power < CORRELATION_POWERS[1],
    ]
    table = {"layers": list(layers)} | {name: list(correlations) for name, correlations in mean.items()}
    curves = {name: correlations for name, correlations in mean.items() if name != "plain"}
    curves["plain"] = mean["plain"][: len(shallow)]
    curves["1/√L"] = mean[normed][0] / np.sqrt(layers)
    order = ("plain", normed, "1/√L", "residual")
    places = tuple(str(depth) for depth in layers)
    ordered_curves = {name: curves[name] for name in order}
    lines = Lines("Gradient of one sample beside another's", "correlation", ordered_curves, places, "layers")
    numbers = {"plain": fits["plain"], "residual": fits["residual"], "power": power, "deep": float(mean[normed][-1])}
    return judge_statements(statements, holds, numbers, table=table, lines=lines)


@judge("share last ends missed")
def nearly_identity(values: Values, *, statements: list[str]) -> Judgement:
    """Share of the branch in the variance after a block, by block, and final losses without the norm."""
    final_losses = _final_losses(values)
    traces = values["batch norm"]
    shares = np.stack([(trace.branch_rms[0] / trace.act_rms[0, 1:]) ** 2 for trace in traces]).astype(float)
    blocks = np.arange(1, shares.shape[1] + 1)
    share = _geometric_mean(shares, 0)
    share_times_block = float((share * blocks)[len(blocks) // 2 :].mean())
    chance = loss_of_guessing("digits")
    holds = [
        abs(share_times_block - 1) < VARIANCE_TOLERANCE,
        bool((final_losses["SkipInit"] < final_losses["batch norm"] + SAME_LOSS).all()),
        bool((final_losses["neither"] > MIN_STALLED_LOSS * chance).all()),
    ]
    table = {"net": list(final_losses)} | {
        f"loss, seed {seed}": [
            losses[seed] if np.isfinite(losses[seed]) else "diverged" for losses in final_losses.values()
        ]
        for seed in range(len(traces))
    }
    lines = Lines(
        "Share of the branch in the variance",
        "share",
        {"batch norm": share, "1/l": 1 / blocks},
        tuple(map(str, blocks)),
        "block l",
    )
    mean_losses = {name: float(losses.mean()) for name, losses in final_losses.items()}
    numbers = {"share": share_times_block, "last": float(share[-1]), "ends": mean_losses}
    return judge_statements(statements, holds, numbers, table=table, lines=lines)


def _final_losses(traces_by_net: Mapping[str, list[Trace]]) -> dict[str, np.ndarray]:
    """The final training losses of each net, one per seed."""
    return {name: np.array([final_loss(trace) for trace in traces]) for name, traces in traces_by_net.items()}


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
def short_paths(values: Values, *, statements: list[str], v: float) -> Judgement:
    """Accuracy of trained nets without each block, and mean length of gradient paths.

    `v` is the variance gain of a branch.
    """
    lesions = {net: _measures(values, net) for net in ("residual", "plain")}
    drops = [float(np.median(measure.accuracy - measure.skipped_accuracy)) for measure in lesions["residual"]]
    best_accuracies = [float(measure.skipped_accuracy.max()) for measure in lesions["plain"]]
    squares = [np.square(paths.length) for paths in _measures(values, "paths")]
    mean_lengths = [float((np.arange(len(square)) * square).sum() / square.sum()) for square in squares]
    blocks = len(squares[0]) - 1
    formula = blocks * v / (1 + v)
    holds = [
        all(drop < MAX_HARMLESS_DROP for drop in drops),
        all(accuracy < MAX_BROKEN_ACCURACY for accuracy in best_accuracies),
        abs(float(np.mean(mean_lengths)) / formula - 1) < LENGTH_TOLERANCE,
    ]
    table = {
        "seed": [str(index) for index in range(len(drops))],
        "residual: accuracy lost": drops,
        "plain: most that is left": best_accuracies,
        "mean path length": mean_lengths,
    }
    curves = {net: np.mean([measure.skipped_accuracy for measure in lesions[net]], 0) for net in lesions}
    places = tuple(str(index + 1) for index in range(max(map(len, curves.values()))))
    lines = Lines("Accuracy without one block", "held-out", curves, places, "block taken out", "linear")
    numbers = {
        "left": float(np.mean(drops)),
        "plain": float(np.mean(best_accuracies)),
        "lengths": float(np.mean(mean_lengths)),
        "formula": formula,
    }
    return judge_statements(statements, holds, numbers, table=table, lines=lines)


@judge("bare skipped bare_share skipped_share missed")
def rank_collapses(values: Values, *, statements: list[str]) -> Judgement:
    """Distance of tokens from their mean in nets of attention alone, by block, with and without skips."""
    measures = {net: _measures(values, net) for net in ("no skip", "skip")}
    spreads = {
        net: np.stack([entry.spread[::2] for entry in entries]).astype(float) for net, entries in measures.items()
    }
    shares = {
        net: np.stack([entry.query_key_share for entry in entries]).astype(float) for net, entries in measures.items()
    }
    log_ratios: list[float] = []
    for row in spreads["no skip"]:
        logs = np.log(row[1:][row[1:] > MAX_ROUNDING_ERROR])
        log_ratios += list(logs[1:] / logs[:-1]) or [np.nan]
    holds = [
        all(ratio > MIN_LOG_RATIO for ratio in log_ratios),
        bool((spreads["skip"][:, -1] > MIN_SPREAD).all()),
        bool((shares["no skip"][:, 2:] < MAX_STARVED_SHARE).all() and (shares["skip"] > MIN_FED_SHARE).all()),
    ]
    mean = {net: _geometric_mean(np.maximum(rows, np.finfo(float).tiny), 0) for net, rows in spreads.items()}
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
    return judge_statements(statements, holds, numbers, table=table, lines=lines)


@judge("size formula late missed")
def curse_of_depth(values: Values, *, statements: list[str], v: float) -> Judgement:
    """Growth of the stream with and without LayerNorm scaling, and loss without a late block after training."""
    nets = ("pre-norm", "LayerNorm scaling")
    squares = {net: _geometric_mean(values[f"{net}, before training"].mean_square, 0) for net in nets}
    blocks = np.arange(1, len(squares["pre-norm"]))
    expected = {"pre-norm": 1 + v * blocks[-1], "LayerNorm scaling": 1 + v * float((1 / blocks).sum())}
    size = {net: float(squares[net][-1] / squares[net][0]) for net in nets}
    late = {net: [_late_lesion_cost(measure) for measure in _measures(values, f"{net}, lesions")] for net in nets}
    holds = [
        abs(size["pre-norm"] / expected["pre-norm"] - 1) < MEAN_SQUARE_TOLERANCE,
        abs(size["LayerNorm scaling"] / expected["LayerNorm scaling"] - 1) < MEAN_SQUARE_TOLERANCE,
        all(scaled > plain for scaled, plain in zip(late["LayerNorm scaling"], late["pre-norm"], strict=True)),
    ]
    table = {"net": list(nets), "growth of the mean square": list(size.values()), "formula": list(expected.values())}
    table |= {
        f"loss without a late block, seed {seed}": [late[net][seed] for net in nets]
        for seed in range(len(late["pre-norm"]))
    }
    numbers = {
        "size": size,
        "formula": expected,
        "late": {net: float(np.mean(losses)) for net, losses in late.items()},
    }
    lines = Lines("Mean square of the stream", "mean square", squares)
    return judge_statements(statements, holds, numbers, table=table, lines=lines)


def _late_lesion_cost(lesions: Any) -> float:
    """Mean rise of the loss without a block, over the last third of the blocks."""
    rises = lesions.skipped_loss - lesions.loss
    return float(rises[-len(rises) // 3 :].mean())


def _measures(values: Values, net: str) -> list[Any]:
    """Values of a net, one per seed."""
    return [value for name, value in values.items() if name.startswith(f"{net}, seed")]


@judge("steps ends missed")
def zero_gates(values: Values, *, statements: list[str], level: float) -> Judgement:
    """Steps until the loss is below `level`, by net and depth, for each seed."""
    steps = {name: np.array([_steps_to(trace, level) for trace in traces]) for name, traces in values.items()}
    depths = sorted({int(name.split(", ")[1]) for name in steps})
    shallow, deep = depths[0], depths[-1]
    holds = [
        bool((steps[f"ReZero, {deep}"] <= steps[f"ReZero, {shallow}"]).all()),
        bool(np.isinf(steps[f"plain, {deep}"]).all() and np.isfinite(steps[f"ReZero, {deep}"]).all()),
        bool((steps[f"ReZero, {deep}"] < steps[f"pre-norm, {deep}"]).all()),
    ]
    mean_losses = {name: float(losses.mean()) for name, losses in _final_losses(values).items()}
    table = {"net": list(steps)} | {
        f"steps, seed {seed}": [
            steps_by_seed[seed] if np.isfinite(steps_by_seed[seed]) else "never" for steps_by_seed in steps.values()
        ]
        for seed in range(len(steps[f"ReZero, {deep}"]))
    }
    curves = {net: _curve(values[f"{net}, {deep}"]) for net in ("ReZero", "pre-norm", "plain")}
    lines = Lines(f"Loss of {deep} blocks", "cross-entropy", curves, _steps(curves), "step", "linear")
    median_steps = {
        name: f"{np.median(steps_by_seed):.0f}" if np.isfinite(np.median(steps_by_seed)) else "never"
        for name, steps_by_seed in steps.items()
    }
    return judge_statements(statements, holds, {"steps": median_steps, "ends": mean_losses}, table=table, lines=lines)


def _steps_to(trace: Trace, level: float) -> float:
    """First step at which LOSS_STEPS losses have a mean below `level`; infinite if there is none."""
    below = np.flatnonzero(np.convolve(trace.loss, np.full(LOSS_STEPS, 1 / LOSS_STEPS), "valid") < level)
    return float(below[0]) if len(below) else np.inf
