"""Sentences that compare a real network's gradient with the product of factors."""

import numpy as np

from components.shell.text import number
from models.insight.gaussian import moments
from models.insight.theory import CENTRED, branch_gains, law, weight_variance
from models.insight.words import UNCHANGED_DECADES, change_in_words, decades, factor, times_larger
from models.spec import RunConfig

EXPLODES = 1.0  # decades over all layers above which a product explodes
CLOSE = 0.02  # relative difference per layer up to which product and measurement agree


def compared(cfg: RunConfig, measured: np.ndarray, product: np.ndarray) -> str:
    """How far measurement (K seeds, S) and product (S,) fall along the stream, and how far they differ."""
    ends = np.array([decades(float(one[-1]), float(one[0])) for one in measured])
    expected = decades(float(product[-1]), float(product[0]))
    seeds = "one seed" if len(ends) == 1 else f"{len(ends)} seeds, geometric mean"
    if not np.isfinite(ends).all():
        lost = "exactly 0" if (ends < 0).any() else "a number beyond float32"
        return (
            f"Measured ({seeds}): the gradient is {lost} when it reaches the input. Formula: "
            f"{_fall(expected, cfg.depth)}. The formula has no limits; float32 ends at 1e-45 and 3e38."
        )
    mean = float(ends.mean())
    apart = 10 ** ((mean - expected) / cfg.depth) - 1
    verdict = (
        f"They agree to {abs(apart):.1%} per layer"
        if abs(apart) < CLOSE
        else f"They differ: the measured factor per layer is {abs(apart):.1%} {'larger' if apart > 0 else 'smaller'}"
    )
    said = f"Measured ({seeds}): {_fall(mean, cfg.depth)}. Formula: {_fall(expected, cfg.depth)}."
    return f"{said} {verdict}; {reason(cfg, len(ends))}"


def reason(cfg: RunConfig, seeds: int) -> str:
    """Why one net deviates from a product of expected factors."""
    read = cfg.width * weight_variance(cfg.init, cfg.width, cfg.width, last=True, sublayers=cfg.sublayers)
    found = moments(cfg.activation, read)
    if cfg.residual and cfg.norm == "none" and cfg.layers_per_branch == 1 and abs(found.mean) > CENTRED:
        return (
            f"the outputs of one layer of {cfg.activation} have a mean ({number(found.mean, 3)} in the first block), "
            "so all branches push in the same direction, and the gradient adds up along it. The formula assumes that "
            "the gradient through a branch is at right angles to that through the residual, so it does not hold here, "
            "and no law is known that does."
        )
    count = "this is one seed" if seeds == 1 else f"these are {seeds} seeds"
    return f"the formula averages over all weights of an infinitely wide net, and {count} of width {cfg.width}."


def expected(cfg: RunConfig) -> str:
    """What to expect of this arrangement, with its numbers, correcting common errors."""
    gained, predicted = branch_gains(cfg, "mlp"), law(cfg).product
    assert gained is not None
    assert predicted is not None
    forward, backward = gained
    gains = (
        f"Fed with mean square 1, a branch gives an output of mean square {number(forward, 3)} and returns "
        f"{number(backward, 3)} of the gradient's."
    )
    change = decades(1.0, float(predicted[0]))
    if cfg.residual and cfg.norm == "none":
        fate = "explodes" if change > EXPLODES else f"grows only {factor(change)} times"
        if law(cfg).gradient is None and change <= EXPLODES:
            fate = "grows more than the formula says"
        return (
            f"{gains} The residual's 1 does not vanish, but more is added: the first layer passes on √(1 + "
            f"{number(backward, 3)}) = {number((1 + backward) ** 0.5, 3)}, and over {cfg.depth} layers the gradient "
            f"{fate}. {_doubling(cfg, forward)}"
        )
    if cfg.residual and cfg.placement == "post-norm":
        return (
            f"{gains} The residual's 1 is rescaled: the norm after every add divides the gradient too. "
            f"{_balance(change)}"
        )
    if cfg.residual:
        return (
            f"{gains} The stream grows from block to block, so later branches contribute less to stream and gradient."
        )
    if cfg.norm != "none":
        return (
            f"{gains} The norm keeps the signal's size, but without a residual the gradient is still a product of "
            "factors."
        )
    if (cfg.init, cfg.activation, cfg.layers_per_branch) == ("he", "relu", 1):
        return (
            f"{gains} He's initialisation preserves sizes on average over weights. A single seed of a narrow deep net "
            "can be off by a factor of ten: try six seeds."
        )
    passed = f"√{number(backward, 3)} = {number(backward**0.5, 3)}"
    return f"{gains} So the first layer passes on {passed} of the gradient's length, and all layers multiply."


def _doubling(cfg: RunConfig, first: float) -> str:
    """When a stream without a norm doubles, from what the first branch adds and, for one layer, the law's end."""
    if cfg.layers_per_branch == 1 and abs(moments(cfg.activation).mean) > CENTRED:
        square = law(cfg).mean_square
        assert square is not None
        return (
            f"The first block multiplies the stream's mean square by {number(1 + first, 3)}. The mean of "
            f"{cfg.activation} then adds up from block to block: the last multiplies it by "
            f"{number(float(square[-1] / square[-2]), 3)}."
        )
    return (
        "A stream doubles its mean square per block only if a branch's output is as large as its input; here the first "
        f"adds {number(first, 3)}."
    )


def _balance(change: float) -> str:
    """Whether the branches make up for what the norms take, by the decades of the product."""
    if abs(change) < UNCHANGED_DECADES:
        return "Here the branches return what the norms take: before training the gradient does not vanish."
    if change < 0:
        lost = f"before training the gradient becomes {times_larger(change)} on its way back."
        return f"Here the norms take more than the branches return: {lost}"
    more = f"the gradient becomes {times_larger(change)} on its way back."
    return f"Here the branches return more than the norms take: {more}"


def _fall(change: float, depth: int) -> str:
    """A change over all layers, in decades, in words with the factor per layer."""
    said = change_in_words("it", change, "from the end back to the input")
    return f"{said}, a factor of {number(10 ** (change / depth), 3)} per layer"
