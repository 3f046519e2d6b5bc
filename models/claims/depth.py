"""Judges of claims about placement, residual and initialisation. Texts: `exhibits/claims/`.

Each gets the measured values by name and returns a Judgement: the verdict, the numbers that its text quotes (named in
`@judge`), a table and, where there is one, a chart.
"""

import numpy as np

from models.claims.judging import (
    FAILS,
    HOLDS,
    PARTLY,
    gradient,
    gradient_lines,
    growth,
    loss_or_divergence,
    relative_gradient,
    size_lines,
    verdict,
)
from models.experiment import Judgement, Values, judge
from models.insight.formula import geometric_mean
from models.insight.outcome import final_cosine, gradient_change
from models.insight.theory import factor_per_sublayer
from models.insight.words import change_in_words, number
from models.lessons.judges import DIGITS, learned

SAME_FACTOR = 1.5  # two sizes or branch shares within this factor count as the same
NORMALISED_TOLERANCE = 0.05  # a stream whose mean square is this close to 1 is normalised
MIN_GROWTH = 1.1  # an output RMS above this multiple of the shallowest encoder's has grown
MAX_LINEAR_POWER = 1.3  # a power of depth up to this one counts as linear
DOUBLING_TOLERANCE = 0.05  # relative distance from 2 at which a factor per block counts as a doubling
MAX_LEVEL_DECADES = 1.0  # change over depth up to which a gradient looks level
FACTOR_TOLERANCE = 0.05  # relative difference up to which two factors count as equal
PRESERVED_FACTOR = 2.0  # factor up to which a mean square counts as preserved
MIN_DEAD_SHARE = 0.1  # share of dead units above which training has killed them
MAX_VANISHED_SHARE = 0.1  # share of the gradient below which it has vanished
PRE_AND_POST = ("pre-norm", "post-norm")


@judge("gradients")
def gradient_ratio(
    values: Values, *, above: float = 0.0, below: float = np.inf, about: str = "", drawn: str = ""
) -> Judgement:
    """Gradient at the stream's start over that at its end, claimed to lie between `above` and `below`.

    The claim covers nets whose names contain `about`; the chart shows those whose names contain `drawn`.
    """
    measured = {name: gradient(value) for name, value in values.items()}
    table = {"net": list(measured), "gradient, start over end": list(measured.values())}
    holds = [above < value < below for name, value in measured.items() if about in name]
    lines = gradient_lines({name: value for name, value in values.items() if drawn in name})
    return Judgement(verdict(holds), {"gradients": measured}, table, lines)


@judge("growth end")
def never_explodes(values: Values) -> Judgement:
    """Whether a stream keeps its size before training, and a run at a high learning rate stays finite."""
    signal, trace = values["before training"], values["learning rate 3"]
    mean_square_ratio, divergence = growth(signal), trace.divergence
    end = f"d{divergence.sentence()[1:]}" if divergence else f"ends at loss {number(float(trace.loss[-1]))}."
    table = {
        "what": ["stream's mean square, end over start", "first step that is not finite"],
        "found": [mean_square_ratio, divergence.step if divergence else "none"],
    }
    lines = size_lines({"geometric mean of six seeds": signal})
    return Judgement(
        answer=verdict([mean_square_ratio < SAME_FACTOR, divergence is None]),
        numbers={"growth": mean_square_ratio, "end": end},
        table=table,
        lines=lines,
    )


@judge("final depth bare normed moved")
def final_norm(values: Values) -> Judgement:
    """RMS of the output of torch's pre-norm encoder, by depth, with and without a final norm."""
    measured = values["torch"]
    table = {"layers": measured.depth, "RMS by default": measured.bare, "RMS with a final norm": measured.normed}
    grown = measured.bare[-1] / measured.bare[0]
    numbers = vars(measured) | {"final": "without" if measured.absent else "with", "grown": grown}
    return Judgement(verdict([not measured.absent, grown < MIN_GROWTH]), numbers, table)


@judge("growth")
def same_growth(values: Values) -> Judgement:
    """Whether the streams of the first two nets grow by the same factor."""
    measured = {name: growth(value) for name, value in values.items()}
    first, second = list(measured.values())[:2]
    table = {"net": list(measured), "mean square, end over start": list(measured.values())}
    apart = max(first, second) / min(first, second)
    numbers = {"growth": measured, "apart": apart}
    return Judgement(verdict([apart < SAME_FACTOR]), numbers, table, size_lines(values))


@judge("tokens layers condition")
def two_collapses(values: Values) -> Judgement:
    """Whether both tokens and neighbouring sublayers become more alike in pre-norm than in post-norm."""
    tokens = {name: float(values[f"{name}, tokens"].cosine[-1]) for name in PRE_AND_POST}
    layers = {name: float(np.mean(values[f"{name}, layers"].neighbour_cosine)) for name in PRE_AND_POST}
    table = {"net": list(tokens), "tokens alike": list(tokens.values()), "sublayers alike": list(layers.values())}
    holds = [value["pre-norm"] > value["post-norm"] for value in (tokens, layers)]
    condition = "for layers, not for tokens" if holds[1] else "for tokens, not for layers"
    return Judgement(verdict(holds), {"tokens": tokens, "layers": layers, "condition": condition}, table)


@judge("square blocks power times exponential")
def power_of_depth(values: Values) -> Judgement:
    """Power of depth by which the stream's mean square grows, fitted on the second half."""
    by_block = geometric_mean(values["pre-norm"].mean_square)
    last_block = len(by_block) - 1
    half_block = len(by_block) // 2
    blocks = [0, half_block, last_block]
    mean_squares = [float(by_block[block]) for block in blocks]
    start, half, end = mean_squares
    power = float(np.log((end - start) / (half - start)) / np.log(last_block / half_block))
    numbers = {
        "square": mean_squares,
        "blocks": blocks,
        "power": power,
        "times": half / start,
        "exponential": half**2 / start,
    }
    lines = size_lines({"geometric mean of six seeds": values["pre-norm"]})
    if power > 2 * MAX_LINEAR_POWER:
        answer = HOLDS
    elif power > MAX_LINEAR_POWER:
        answer = PARTLY
    else:
        answer = FAILS
    return Judgement(answer, numbers, {"blocks": blocks, "mean square": mean_squares}, lines)


@judge("least most")
def reads_unnormalised_stream(values: Values) -> Judgement:
    """Whether a post-norm net's sublayers, all but the first, read a stream whose mean square is not 1."""
    stream_inputs = {name: geometric_mean(value.mean_square)[1:-1] for name, value in values.items()}
    lowest = {name: np.min(mean_squares) for name, mean_squares in stream_inputs.items()}
    highest = {name: np.max(mean_squares) for name, mean_squares in stream_inputs.items()}
    table = {"net": list(stream_inputs), "least": list(lowest.values()), "most": list(highest.values())}
    raw = float(np.abs(stream_inputs["post-norm"] - 1).max()) > NORMALISED_TOLERANCE
    return Judgement(verdict([raw]), {"least": lowest, "most": highest}, table, size_lines(values))


@judge("share times")
def skip_weight_suffices(values: Values) -> Judgement:
    """Whether DeepNorm's skip weight alone gives its share of branch in the stream, before training."""
    share = {name: float(np.mean(value.branch_rms[0] / value.act_rms[0, :-1])) for name, value in values.items()}
    times = share["skip weight alone"] / share["DeepNorm"]
    table = {"net": list(share), "branch over stream, mean over blocks": list(share.values())}
    return Judgement(verdict([1 / SAME_FACTOR < times < SAME_FACTOR]), {"share": share, "times": times}, table)


@judge("ends chance")
def all_train(values: Values, *, about: list[str]) -> Judgement:
    """Whether the nets named in `about` learn."""
    ends = {name: loss_or_divergence(value) for name, value in values.items()}
    table = {"net": list(ends), "loss": list(ends.values())}
    holds = [learned(values[name]) for name in about]
    return Judgement(verdict(holds), {"ends": ends, "chance": DIGITS}, table)


@judge("v factor")
def doubles(values: Values) -> Judgement:
    """Factor by which a block multiplies the stream's mean square, and the v of its branch."""
    measured = {name: factor_per_sublayer(geometric_mean(value.mean_square)) for name, value in values.items()}
    v = {name: float(np.mean(value.v_f)) for name, value in values.items()}
    table = {"weights": list(measured), "v of a branch": list(v.values()), "factor per block": list(measured.values())}
    holds = [abs(value - 2) < 2 * DOUBLING_TOLERANCE for value in measured.values()]
    return Judgement(verdict(holds), {"v": v, "factor": measured}, table, size_lines(values))


@judge("still later")
def closed_gates(values: Values) -> Judgement:
    """Which parts of nets with closed gates get no gradient at step 0, and the smallest weight gradient at step 1."""
    measured = values["parts"].rms
    names = [name for name in values if name != "parts"]
    still = {name: [part for part, size in measured[name].items() if size == 0] for name in names}
    smallest_later = {name: float(np.min(values[name].weight_grad_rms[1])) for name in names}
    all_parts = list(dict.fromkeys(part for name in names for part in measured[name]))
    table = {"RMS of the first gradient of": all_parts} | {
        name: [measured[name].get(part, "-") for part in all_parts] for name in names
    }
    numbers = {"still": {name: ", ".join(parts) or "no part" for name, parts in still.items()}, "later": smallest_later}
    return Judgement(verdict([not parts for parts in still.values()]), numbers, table)


@judge("change spread alike learns")
def level_gradient_predicts_learning(values: Values) -> Judgement:
    """Whether exactly the nets with a level gradient learn."""
    change = {name: gradient_change(value) for name, value in values.items()}
    spread = {name: float(np.ptp(np.log10(value.weight_grad_rms[0]))) for name, value in values.items()}
    alike = {name: final_cosine(value) for name, value in values.items()}
    learns = {name: learned(value) for name, value in values.items()}
    ends = {name: loss_or_divergence(value) for name, value in values.items()}
    table = {
        "net": list(values),
        "stream gradient, start over end": [10**value for value in change.values()],
        "weight gradients, largest over least": [10**value for value in spread.values()],
        "sample cosine at the end": list(alike.values()),
        "mean loss of the last 20 steps": list(ends.values()),
    }
    numbers = {
        "change": {name: change_in_words("", value.grad_rms[0, ::-1], "") for name, value in values.items()},
        "spread": {name: number(10**value, 2) for name, value in spread.items()},
        "sizes": [value.grad_rms[0] for value in values.values()],
        "alike": alike,
        "learns": {
            name: end if isinstance(end, str) else "learns" if learns[name] else "does not learn"
            for name, end in ends.items()
        },
    }
    return Judgement(
        verdict([(abs(change[name]) < MAX_LEVEL_DECADES) == learns[name] for name in values]), numbers, table
    )


@judge("factors condition")
def factor_per_layer(values: Values, *, claimed: dict[str, float]) -> Judgement:
    """Gradient factor per layer, against the factor `claimed` for the activation."""
    measured = {name: 1 / factor_per_sublayer(relative_gradient(value)) for name, value in values.items()}
    near = {name: abs(value / claimed[name.split(",")[0]] - 1) < FACTOR_TOLERANCE for name, value in measured.items()}
    holds_for_he = any(near[name] for name in measured if name.endswith(", he"))
    condition = "if the net has ReLU and He's initialisation" if holds_for_he else "if the weights are chosen for it"
    table = {"net": list(measured), "factor per layer": list(measured.values())}
    numbers = {"factors": measured, "condition": condition}
    return Judgement(verdict(list(near.values())), numbers, table, gradient_lines(values))


@judge("least geometric most")
def size_kept(values: Values) -> Judgement:
    """Least, mean and largest ratio of mean squares, end over start, over seeds."""
    mean_squares = {name: np.asarray(value.mean_square) for name, value in values.items()}
    ratios = {name: by_seed[:, -1] / by_seed[:, 0] for name, by_seed in mean_squares.items()}
    least = {name: float(np.min(ratio)) for name, ratio in ratios.items()}
    mean = {name: float(np.mean(ratio)) for name, ratio in ratios.items()}
    largest = {name: float(np.max(ratio)) for name, ratio in ratios.items()}
    geometric = {name: float(np.exp(np.log(value).mean())) for name, value in ratios.items()}
    columns = {"least": least, "mean": mean, "most": largest}
    table = {"net": list(ratios)} | {heading: list(value.values()) for heading, value in columns.items()}
    numbers = {"least": least, "geometric": geometric, "most": largest}
    holds = [1 / PRESERVED_FACTOR < value < PRESERVED_FACTOR for value in geometric.values()]
    return Judgement(verdict(holds), numbers, table, size_lines(values))


@judge("apart")
def layers_start_different(values: Values) -> Judgement:
    """Whether the layers of `nn.TransformerEncoder` start with different weights."""
    measured = dict(zip(values["torch"].names, values["torch"].apart, strict=True))
    table = {"encoder": list(measured), "difference": list(measured.values())}
    return Judgement(verdict([measured["nn.TransformerEncoder"] > 0]), {"apart": measured}, table)


@judge("mean worst")
def dead_units(values: Values, *, plain: str, trained: str) -> Judgement:
    """Shares of dead units: in the plain net before training, and after a run with too large steps."""
    frames = {name: trace.frames[-1 if name == trained else 0] for name, trace in values.items()}
    dead = {name: np.asarray(frame.dead_units, float) for name, frame in frames.items()}
    if values[trained].divergence:
        dead[trained] = np.full(1, np.nan)  # these are units of an earlier step
    mean = {name: float(np.mean(shares)) for name, shares in dead.items()}
    worst = {name: float(np.max(shares)) for name, shares in dead.items()}
    table = {"net": list(dead), "dead, mean over blocks": list(mean.values()), "most": list(worst.values())}
    return Judgement(
        verdict([mean[plain] < MIN_DEAD_SHARE, mean[trained] > MIN_DEAD_SHARE]), {"mean": mean, "worst": worst}, table
    )


@judge("gradients median largest count")
def small_weights(values: Values) -> Judgement:
    """Whether the gradient vanishes in nets of several widths with equally distributed weights."""
    weights = values["numbers"]
    signals = {name: value for name, value in values.items() if name != "numbers"}
    measured = {name: gradient(value) for name, value in signals.items()}
    table = {"net": list(measured), "gradient, start over end": list(measured.values())}
    answer = verdict([value < MAX_VANISHED_SHARE and weights["largest"] < 1 for value in measured.values()])
    return Judgement(answer, weights | {"gradients": measured}, table, gradient_lines(signals))


@judge("shares older claimed")
def identity_before(values: Values, *, claimed: int, years: dict[str, int]) -> Judgement:
    """Whether a design older than `claimed` preserves the gradient over many layers."""
    shares = values["numbers"]["shares"]
    older = [name for name, share in shares.items() if share > MAX_VANISHED_SHARE and years[name] < claimed]
    table = {
        "design": list(shares),
        "year": [str(years[name]) for name in shares],  # a year has no thousands
        "gradient returned": list(shares.values()),
    }
    numbers = {"shares": shares, "older": ", ".join(f"{name} ({years[name]})" for name in older), "claimed": claimed}
    return Judgement(verdict([not older]), numbers, table)
