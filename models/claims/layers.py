"""Judges of claims about norms, batch norm and attention. Texts: `exhibits/claims/`."""

import numpy as np

from models.claims.judging import verdict
from models.experiment import Judgement, Values, judge
from models.insight.words import number

SAME_RELATIVE = 1e-3  # relative difference up to which two results count as the same
FORMULA_TOLERANCE = 1e-4  # difference up to which measurement and formula count as equal
MAX_INDEPENDENT_CHANGE = 1e-6  # a smaller change of a result shows no dependence
DOMINANT_SHARE = 0.9  # share of the sum of squares above which one feature dominates
CLAIM_TOLERANCE = 0.01  # tolerance around a claimed number
MAX_REMOVED_SHIFT = 0.1  # a smaller remaining shift (of 3), or share of a shift, counts as removed
LAST_STEPS = 20  # steps that a final loss averages
ABOUT_ONE = (0.5, 2.0)  # a variance between these is about 1
MAX_ROUNDING = 1e-9  # difference, relative to the result, that rounding explains


@judge("short features law")
def by_hand(values: Values) -> Judgement:
    """Shortfall of the hand-written norm, against the formula."""
    measured = values["torch"]
    sizes, short = measured.features, np.asarray(measured.short)
    law = [1 - float(np.sqrt((size - 1) / size)) for size in sizes]
    table = {"features": sizes, "too short, measured": short, "1 - sqrt((d - 1) / d)": law}
    return Judgement(
        verdict((np.abs(short) < FORMULA_TOLERANCE).tolist()), {"short": short, "features": sizes, "law": law}, table
    )


@judge("given biased gain unbiased")
def spread_of_one(values: Values) -> Judgement:
    """Standard deviation after layer norm, for tokens of several spreads."""
    measured = values["numbers"]
    deviations = [*measured["biased"], measured["gain"], measured["unbiased"]]
    cases = [
        *(f"spread {value:g}" for value in measured["given"]),
        "gain 2, bias 1",
        "spread 1, four features, unbiased",
    ]
    table = {"token": cases, "deviation after layer norm": deviations}
    return Judgement(verdict([abs(value - 1) < SAME_RELATIVE for value in deviations]), measured, table)


@judge("own joint")
def over_the_batch(values: Values) -> Judgement:
    """Change of a token when another sample or a later token changes, for norms over D and over (T, D)."""
    measured = values["torch"]
    by_token = dict(zip(measured.norm, measured.future, strict=True))
    by_sample = dict(zip(measured.norm, measured.neighbour, strict=True))
    sample_norm, joint = "LayerNorm(D)", "LayerNorm([T, D])"
    table = {"norm": measured.norm, "last token changed": measured.future, "other sample changed": measured.neighbour}
    holds = [
        by_sample[sample_norm] > MAX_INDEPENDENT_CHANGE,
        by_sample[joint] > MAX_INDEPENDENT_CHANGE,
        by_token[joint] <= MAX_INDEPENDENT_CHANGE,
    ]
    numbers = {"own": (by_token[sample_norm], by_sample[sample_norm]), "joint": (by_token[joint], by_sample[joint])}
    return Judgement(verdict(holds), numbers, table)


@judge("apart lost input_rms rms rms_eps layer layer_eps")
def rms_norm(values: Values) -> Judgement:
    """Difference between RMS norm and layer norm."""
    numbers, small = values["numbers"], values["torch"]
    apart, ratio = numbers["apart"], small.rms / small.layer
    holds = [
        apart["with its mean"] < SAME_RELATIVE,
        apart["centred"] < SAME_RELATIVE,
        abs(ratio - 1) < SAME_RELATIVE,
    ]
    table = {
        "case": ["token with a mean", "centred token", "RMS norm of a tiny token", "layer norm of a tiny token"],
        "number": [*apart.values(), small.rms, small.layer],
        "what it is": ["largest difference", "largest difference", "RMS after", "RMS after"],
    }
    return Judgement(verdict(holds), numbers | vars(small) | {"ratio": ratio}, table)


@judge("times after below share sum")
def one_feature(values: Values) -> Judgement:
    """Share of one large feature in a token after layer norm."""
    measured = values["numbers"]
    after, share = measured["after"], measured["share"]
    table = {
        "times larger": measured["times"],
        "that feature after layer norm": after,
        "its share of the squares": share,
    }
    numbers = measured | {"below": measured["bound"] - after[-1]}
    return Judgement(verdict([bool(share.max() < limit) for limit in (DOMINANT_SHARE, 0.5)]), numbers, table)


@judge("momentum old_weight stored refused pair eval")
def batch_norm_momentum(values: Values) -> Judgement:
    """Running statistics of torch's batch norm, and its treatment of small batches."""
    measured = values["torch"]
    holds = [
        abs(measured.old_weight - measured.momentum) < CLAIM_TOLERANCE,
        not measured.unbiased,
        not measured.refused,
        measured.eval < MAX_INDEPENDENT_CHANGE,
    ]
    table = {
        "what": [
            "weight of the old mean",
            "unbiased variance stored",
            "batch of one",
            "batch of two",
            "training against eval",
        ],
        "found": [
            f"{measured.old_weight:.4f}",
            "yes" if measured.unbiased else "no",
            measured.refused or "no error",
            f"±{measured.pair:.4f}",
            number(measured.eval, 4),
        ],
    }
    stored = "unbiased" if measured.unbiased else "biased"
    refused = "an error" if measured.refused else "accepted"
    return Judgement(verdict(holds), vars(measured) | {"stored": stored, "refused": refused}, table)


@judge("batch layer")
def per_token(values: Values) -> Judgement:
    """Change of a token after each norm when another token or sequence changes."""
    measured = values["torch"]
    changes = dict(zip(measured.norm, zip(measured.future, measured.neighbour, strict=True), strict=True))
    batch, layer = changes["BatchNorm1d on (B, D, T)"], changes["LayerNorm(D)"]
    table = {"norm": measured.norm, "last token changed": measured.future, "other sequence changed": measured.neighbour}
    return Judgement(
        verdict([change <= MAX_INDEPENDENT_CHANGE for change in batch]), {"batch": batch, "layer": layer}, table
    )


@judge("left moves ends")
def covariate_shift(values: Values, *, net: str) -> Judgement:
    """Shift that each norm leaves: between training and inference, and between layers during training."""
    measured = values["numbers"]
    left = {
        "batch": abs(measured["batch norm"][1] - measured["batch norm"][0]),
        "layer": abs(measured["layer norm"][1] - measured["layer norm"][0]),
        "all": measured["token shift"],
    }
    cases = [
        "batch norm at inference, one feature shifted",
        "layer norm, one feature shifted",
        "layer norm, all features shifted equally",
    ]
    shift_within = values[net]
    moves = dict(zip(shift_within.nets, np.median(shift_within.moves, axis=1).tolist(), strict=True))
    ends = dict(zip(shift_within.nets, shift_within.loss[:, -LAST_STEPS:].mean(1).tolist(), strict=True))
    shares = {norm: moves[norm] / moves["none"] for norm in ("layer norm", "batch norm")}
    table = {
        "case": [*cases, *(f"between layers, {norm}, share" for norm in shares)],
        "shift left": [*left.values(), *shares.values()],
    }
    holds = [remaining < MAX_REMOVED_SHIFT for remaining in (*left.values(), *shares.values())]
    return Judgement(verdict(holds), {"left": left, "moves": moves, "ends": ends}, table)


@judge("variance embedding position scaled")
def root_of_d(values: Values) -> Judgement:
    """Variance of scores by divisor, and RMS of embedding and positions."""
    measured = values["numbers"]
    variance = measured["variance"]
    table = {
        "number": [
            *(f"variance of scores over {name}" for name in variance),
            "RMS of the embedding",
            "times √d_model",
            "position",
        ],
        "found": [*variance.values(), measured["embedding"], measured["scaled"], measured["position"]],
    }
    return Judgement(verdict([ABOUT_ONE[0] < variance["√d_model"] < ABOUT_ONE[1]]), measured, table)


@judge("held own size")
def linear_attention(values: Values) -> Judgement:
    """Difference between A(x + y) and A(x) + A(y)."""
    measured = values["numbers"]
    weights = ["held fixed", "following the input"]
    table = {"attention weights": weights, "largest difference": [measured["held"], measured["own"]]}
    return Judgement(
        verdict([measured[name] < MAX_ROUNDING * measured["size"] for name in ("held", "own")]), measured, table
    )


@judge("shape tokens batched samples")
def rows_of_x(values: Values) -> Judgement:
    """Change of output 1 when entry 2 of the first axis changes."""
    measured = values["numbers"]
    axes = ["first axis of X", "first axis of a batch"]
    table = {"axis": axes, "output 1 moves by": [measured["tokens"], measured["samples"]]}
    return Judgement(verdict([measured["tokens"] < MAX_ROUNDING]), measured, table)
