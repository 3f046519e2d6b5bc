"""How numbers judge the results of papers. Words: `content/en/papers/`."""

import numpy as np

from models.experiment import Judgement, Lines, Plane, Values, judge
from models.insight.outcome import final_loss
from models.papers.judging import judged, per_layer, slope

SAME_LOSS = 0.05  # nats up to which two final losses count as the same
LOSS_STEPS = 5  # that a point of a training curve averages
SLOPES = (-0.6, -0.35)  # of the power of depth, around the theorem's -1/2
FLAT_FACTOR = 1.5  # up to which a gradient does not depend on depth
CLOSE = 0.05  # relative distance up to which a factor per layer is the formula's
CLOSE_SCALE = 0.2  # the same of a depth scale, in which a factor's error counts several times


@judge("ends missed")
def degradation(values: Values, *, statements: list[str], shallow: str, deep: str) -> Judgement:
    """Final training losses by net and seed: plain nets get worse with depth, residual nets do not."""
    ends = {name: np.array([final_loss(trace) for trace in traces]) for name, traces in values.items()}
    plain, residual = ({size: ends[f"{kind}, {size}"] for size in (shallow, deep)} for kind in ("plain", "residual"))
    true = [
        bool((plain[deep] > plain[shallow] + SAME_LOSS).all()),
        bool((residual[deep] <= residual[shallow] + SAME_LOSS).all()),
        bool((residual[deep] < plain[deep] - SAME_LOSS).all()),
    ]
    table = {"net": list(ends)} | {
        f"loss, seed {at}": [one[at] for one in ends.values()] for at in range(len(plain[deep]))
    }
    drawn = [f"{kind}, {size}" for kind in ("plain", "residual") for size in (shallow, deep)]
    curves = {name: np.mean([trace.loss for trace in values[name]], axis=0) for name in drawn}
    count = min(len(curve) for curve in curves.values()) // LOSS_STEPS
    curves = {name: one[: count * LOSS_STEPS].reshape(count, LOSS_STEPS).mean(1) for name, one in curves.items()}
    places = tuple(str(LOSS_STEPS * at) for at in range(count))
    lines = Lines("Loss in training, mean of the seeds", "cross-entropy", curves, places, "step", "linear")
    means = {name: float(one.mean()) for name, one in ends.items()}
    return judged(statements, true, {"ends": means}, table=table, lines=lines)


@judge("measured formula scale expected missed")
def order_to_chaos(values: Values, *, statements: list[str]) -> Judgement:
    """A gradient's factor per layer below, at and above the edge of chaos, beside chi."""
    found = values["numbers"]
    by_seed = {variance: 1 / per_layer(profile) for variance, profile in found["profiles"].items()}
    measured = {variance: float(np.exp(np.log(one).mean())) for variance, one in by_seed.items()}
    formula, (low, critical, high) = found["chi"], measured
    near = [abs(measured[variance] / formula[variance] - 1) < CLOSE for variance in measured]
    scale, expected = (
        {variance: 1 / abs(np.log(one[variance])) for variance in (low, high)} for one in (measured, formula)
    )
    true = [
        bool((by_seed[low] < 1 - CLOSE).all()),
        abs(measured[critical] - 1) < CLOSE,
        bool((by_seed[high] > 1 + CLOSE).all()),
        all(near) and all(abs(scale[one] / expected[one] - 1) < CLOSE_SCALE for one in scale),
    ]
    names = {low: "order", critical: "edge", high: "chaos"}
    profiles = {
        f"{name} ({variance:g})": np.exp(np.log(found["profiles"][variance]).mean(0))
        / np.exp(np.log(found["profiles"][variance][:, -1]).mean())
        for variance, name in names.items()
    }
    table = {
        "weight variance": list(measured),
        "factor per layer": list(measured.values()),
        "χ of the formula": list(formula.values()),
    } | {f"seed {at}": [one[at] for one in by_seed.values()] for at in range(len(by_seed[low]))}
    places = tuple(str(at) for at in range(len(next(iter(profiles.values())))))
    lines = Lines("Gradient over that at the last layer", "mean square, ratio", profiles, places, "layer")
    plane = Plane(
        title="Order and chaos",
        unit="factor per layer",
        x="weight variance",
        y="bias variance",
        xs=found["xs"],
        ys=found["ys"],
        cells=found["cells"],
        edge=found["edge"],
        edge_name="χ = 1 (formula)",
    )
    words = {
        "measured": {names[one]: value for one, value in measured.items()},
        "formula": {names[one]: formula[one] for one in measured},
        "scale": {names[one]: value for one, value in scale.items()},
        "expected": {names[one]: value for one, value in expected.items()},
    }
    return judged(statements, true, words, table=table, lines=lines, plane=plane)


@judge("ratio pre post missed")
def last_gradient(values: Values, *, statements: list[str]) -> Judgement:
    """The first gradient of the last block by depth, in pre-norm and post-norm."""
    by_kind: dict[str, dict[int, np.ndarray]] = {"post-LN": {}, "pre-LN": {}}
    for name, traces in values.items():
        kind, depth = name.split(", ")
        by_kind[kind][int(depth)] = np.array([trace.weight_grad_rms[0, -1] for trace in traces], float)
    depths = sorted(by_kind["pre-LN"])
    post, pre = (np.stack([by_kind[kind][depth] for depth in depths], 1) for kind in ("post-LN", "pre-LN"))
    mean_post, mean_pre = (np.exp(np.log(rows).mean(0)) for rows in (post, pre))
    ratio, powers = slope(depths, mean_pre / mean_post), [slope(depths, row) for row in pre / post]
    true = [
        bool(1 / FLAT_FACTOR < mean_post[-1] / mean_post[0] < FLAT_FACTOR),
        all(power < SLOPES[1] / 2 for power in powers) and SLOPES[0] < ratio < SLOPES[1],
    ]
    table = {"blocks": depths, "post-LN": list(mean_post), "pre-LN": list(mean_pre)} | {
        f"pre over post, seed {at}": list(row) for at, row in enumerate(pre / post)
    }
    root = mean_pre[0] * np.sqrt(depths[0] / np.array(depths))
    curves = {"post-LN": mean_post, "pre-LN": mean_pre, "1/√L": root}
    places = tuple(str(depth) for depth in depths)
    lines = Lines("Gradient of the last block's weights", "RMS", curves, places, "blocks L")
    numbers = {"ratio": ratio, "pre": slope(depths, mean_pre), "post": slope(depths, mean_post)}
    return judged(statements, true, numbers, table=table, lines=lines)
