"""Judges of claims about training, and about reading charts and averages. Texts: `exhibits/claims/`."""

from collections.abc import Sequence

import numpy as np

from models.claims.judging import finite_loss, loss_or_divergence, verdict
from models.experiment import Judgement, Values, judge
from models.lessons.judges import DIGITS, learned

MAX_DRAW_GAP = 0.1  # nats between two losses that count as a draw
BETTER_SHARE = 0.9  # below this share of the first net's loss a deeper net computes more
TYPICAL_FACTOR = 2.0  # a mean within this factor of the median describes a typical net


@judge("ends winner")
def same_winner(values: Values, *, pair: list[str], rates: list[str]) -> Judgement:
    """Which of two nets ends at the lower loss, at each learning rate."""
    ends = {name: finite_loss(trace) for name, trace in values.items()}
    gaps = [ends[f"{pair[1]}, {rate}"] - ends[f"{pair[0]}, {rate}"] for rate in rates]
    signs = [0 if abs(gap) < MAX_DRAW_GAP else 1 if gap > 0 else -1 for gap in gaps]
    results = {0: "a draw", 1: f"{pair[0]} ahead", -1: f"{pair[1]} ahead"}
    winners = [results[sign] for sign in signs]
    table = {"net and learning rate": list(ends), "loss": list(ends.values())}
    numbers = {"ends": ends, "winner": dict(zip(rates, winners, strict=True))}
    return Judgement(verdict([len(set(signs)) == 1]), numbers, table)


@judge("ends chance nets")
def needs_warmup(values: Values, *, warmed: str) -> Judgement:
    """Whether all nets but the `warmed` one, which has a warm-up, fail to learn."""
    ends = {name: loss_or_divergence(trace) for name, trace in values.items()}
    learns = {name: learned(trace) for name, trace in values.items()}
    failed = [name for name, has_learned in learns.items() if name != warmed and not has_learned]
    table = {
        "net": list(ends),
        "loss": list(ends.values()),
        "learns": ["yes" if has_learned else "no" for has_learned in learns.values()],
    }
    numbers = {
        "ends": ends,
        "chance": DIGITS,
        "nets": " or ".join(name.replace(", ", " at a learning rate of ") for name in failed),
    }
    return Judgement(verdict([name in failed for name in learns if name != warmed]), numbers, table)


@judge("by_length by_rms numbers")
def largest_gradient(values: Values) -> Judgement:
    """Whether length and RMS rank the gradients of a net's tensors in the same order."""
    reference = values["torch"]

    def names_by(sizes: Sequence[float]) -> list[str]:
        return [name for _, name in sorted(zip(sizes, reference.tensor, strict=True), reverse=True)]

    by_length, by_rms = names_by(reference.length), names_by(reference.rms)
    table = {"tensor": reference.tensor, "numbers": reference.numbers, "length": reference.length, "RMS": reference.rms}
    numbers = {"by_length": by_length, "by_rms": by_rms, "numbers": reference.numbers}
    return Judgement(verdict([by_length == by_rms]), numbers, table)


@judge("seeds mean median geometric below")
def log_normal(values: Values) -> Judgement:
    """Whether the mean of many seeds' gains is close to their median."""
    gains = np.asarray(values["numbers"]["gains"], float)
    mean, median = float(gains.mean()), float(np.median(gains))
    geometric, times = float(np.exp(np.log(gains[gains > 0]).mean())), mean / median
    numbers = {
        "seeds": len(gains),
        "mean": mean,
        "median": median,
        "geometric": geometric,
        "below": (gains < mean).mean(),
        "times": times,
    }
    averages = ["mean", "median", "geometric mean", "largest"]
    table = {"average": averages, "gain": [mean, median, geometric, float(gains.max())]}
    return Judgement(verdict([1 / TYPICAL_FACTOR < times < TYPICAL_FACTOR]), numbers, table)


@judge("ends accuracies matrix count apart")
def depth_computes_more(values: Values, *, bent: str) -> Judgement:
    """Whether deeper linear nets end at a lower loss than the first; `bent` names a net with an activation."""
    product = values["numbers"]
    nets = {name: value for name, value in values.items() if name != "numbers"}
    accuracies = {name: value.frames[-1].held_out_accuracy for name, value in nets.items()}
    ends = {name: finite_loss(value) for name, value in nets.items()}
    first, *deeper = (loss for name, loss in ends.items() if name != bent)
    rows = "; ".join(" ".join(f"{cell:.3f}" for cell in row) for row in product["product"])
    numbers = product | {
        "ends": ends,
        "accuracies": accuracies,
        "matrix": f"[{rows}]",
        "count": product["blocks"],
        "apart": product["apart"],
    }
    table = {"net": list(nets), "loss": list(ends.values()), "accuracy": list(accuracies.values())}
    return Judgement(verdict([loss < BETTER_SHARE * first for loss in deeper]), numbers, table)
