"""Laws of signal and gradient at initialisation: what can be computed without running a net, and where nothing can.

Mean-field averages over wide random layers, exact as the width grows, up to the scatter of single seeds (Poole 2016,
arXiv 1606.05340; Schoenholz 2017, arXiv 1611.01232; Yang & Schoenholz 2017, arXiv 1712.08969). Legend: M sublayers.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import sqrt

import numpy as np

from models.insight.gaussian import moments
from models.insight.words import number
from models.spec import INITS, NORMS, RunConfig, knobs, plan
from models.spec.knob import Matrix
from models.spec.parametrization import branch_gain
from models.spec.plan import SublayerPlan, activations_of, one_layer


def weight_variance(init: str, inputs: int, outputs: int, *, last: bool, sublayers: int) -> float:
    """The mean square of a matrix's weights by its initialisation; `last` marks a branch's output matrix."""
    return INITS[init].variance(Matrix(inputs, outputs, last, sublayers))


@dataclass(frozen=True)
class Law:
    """The predicted mean square of the stream (S,) and gradient length over its last (S,); None if not known.

    `reading` says which law it is, or why there is none. `product` is the gradient's length if the gradients of branch
    and skip were orthogonal: it is the law where one is known, and a comparison where none is.
    """

    mean_square: np.ndarray | None
    gradient: np.ndarray | None
    reading: str
    product: np.ndarray | None = None


@dataclass(frozen=True)
class _Passed:
    """The mean and variance of a stage's output, and the factor on the mean square of a gradient going back."""

    mean: float
    variance: float
    back: float

    @property
    def square(self) -> float:
        return self.variance + self.mean * self.mean


CENTRED = 1e-9  # Gaussian mean of an activation up to which it counts as 0
WITH_LAW = {"none"} | {name for name, entry in NORMS.items() if entry.divisor}


@lru_cache(maxsize=64)
def law(cfg: RunConfig) -> Law:
    """The law of a configuration at initialisation, fed with Gaussian numbers of unit mean square."""
    sublayers = plan(cfg).sublayers
    why = _unknown(cfg, sublayers)
    if why:
        return Law(None, None, why)
    stages = [_Passed(0.0, 1.0, 1.0)]
    for sublayer in sublayers:
        stages.append(_step(cfg, sublayer, stages[-1]))
    squares = np.array([stage.square for stage in stages])
    factors = [stage.back for stage in stages[1:]]
    back = np.sqrt(np.concatenate([np.cumprod(factors[::-1])[::-1], [1.0]]))
    unknown = _unknown_gradient(cfg, sublayers)
    return Law(
        squares, None if unknown else back, unknown or _reading(cfg, sublayers), back if cfg.net == "mlp" else None
    )


def branch_gains(cfg: RunConfig, kind: str) -> tuple[float, float] | None:
    """v_f and v_b of a branch's function fed with unit mean square; None for attention and norms without a law."""
    alike = {
        (sub.norm_mid, sub.activation): sub for sub in plan(cfg).sublayers if sub.kind == kind and not sub.identity
    }
    if kind == "attn" or len(alike) != 1 or not {norm for norm, _ in alike} <= WITH_LAW:
        return None
    passed = _function(cfg, next(iter(alike.values())), 1.0)
    return passed.square, passed.back


@lru_cache(maxsize=256)
def keeping_gain(cfg: RunConfig) -> float | None:
    """The init gain with which a branch of layers passes on the mean square of 1 that it is fed, to 1 in 100,000.

    The root of E[F(x)^2] = 1: for two fan-in matrices g^2 E[act(g z)^2] = 1. None where there is none, or no law.
    """
    kind = "mlp" if cfg.net == "mlp" else "ffn"
    if branch_gains(cfg, kind) is None:
        return None
    knob, sublayer = knobs()["init_gain"][1], next(s for s in plan(cfg).sublayers if s.kind == kind and not s.identity)

    def passed(gain: float) -> float:
        return _function(replace(cfg, init_gain=gain), sublayer, 1.0).square

    low, high = knob.low, knob.high
    if not passed(low) < 1 < passed(high):
        return None
    for _ in range(20):
        middle = sqrt(low * high)
        low, high = (middle, high) if passed(middle) < 1 else (low, middle)
    return sqrt(low * high)


def he_twice(cfg: RunConfig) -> str:
    """Why He's weights let the signal of a branch of two matrices and one ReLU grow; empty for other nets."""
    bare = {norm for sub in plan(cfg).sublayers for norm in sub.norms} == {"none"}
    gains = branch_gains(cfg, "mlp")
    if (
        cfg.net != "mlp"
        or activations_of(cfg) != {"relu"}
        or (cfg.init, cfg.layers_per_branch) != ("he", 2)
        or not bare
        or not gains
        or gains[0] <= 1
    ):
        return ""
    from_gain = cfg.init_gain**4  # it stands in both matrices, and the mean square is a square
    also = f"; the init gain of {number(cfg.init_gain)} by another {number(from_gain)}" if cfg.init_gain != 1 else ""
    return (
        "He's factor 2 makes up for one ReLU, but stands in both matrices of a branch, which multiplies the mean "
        f"square by {number(gains[0] / from_gain)} (see lesson 8){also}."
    )


def rate(profile: np.ndarray) -> float:
    """The factor per sublayer of a profile (S,): the least-squares line through its logarithms."""
    profile = np.asarray(profile, float)
    if len(profile) < 2 or not (np.isfinite(profile) & (profile > 0)).all():
        return float("nan")
    return float(np.exp(np.polyfit(np.arange(len(profile)), np.log(profile), 1)[0]))


def _unknown(cfg: RunConfig, sublayers: tuple[SublayerPlan, ...]) -> str:
    """Why no law is known, or an empty text."""
    if cfg.stack != "single":
        return f"no law is known for a stack that joins blocks in another way ({cfg.stack})"
    if cfg.skip_repeats > 1:
        return "no law is known for recursive skips"
    live = [sub for sub in sublayers if not sub.identity and (_branch_weight(cfg, sub) or sub.norm_add != "none")]
    other = {norm for sub in live for norm in sub.norms} - WITH_LAW
    if other:
        return f"no law is known for {' and '.join(sorted(other))}"
    if cfg.net == "transformer" and any(
        sub.norm_out == sub.norm_add == "none" and _branch_weight(cfg, sub) for sub in live
    ):
        return "no law is known for attention whose output is not normed"
    return ""


def _unknown_gradient(cfg: RunConfig, sublayers: tuple[SublayerPlan, ...]) -> str:
    """Why the law of the stream comes without one of the gradient, or an empty text."""
    adding = [sub for sub in sublayers if _branch_weight(cfg, sub)]
    if cfg.net == "transformer" and adding:
        return "norms fix what every sublayer adds; no law of the gradient through attention is known"
    bare = [sub for sub in adding if sub.skip and set(sub.norms) == {"none"}]
    if cfg.layers_per_branch == 1 and any(abs(moments(sub.activation).mean) > CENTRED for sub in bare):
        # The mean of act(Wx) grows with |x|: its slope along x adds up over blocks, which independent factors miss.
        return (
            "mean and variance of the stream, iterated; the mean makes the gradient coherent, and no law of it is known"
        )
    return ""


def _reading(cfg: RunConfig, sublayers: tuple[SublayerPlan, ...]) -> str:
    if not any(_branch_weight(cfg, sub) for sub in sublayers):
        return "every branch starts at 0"
    if cfg.layers_per_branch == 1:
        return "mean and variance of the stream, iterated over one-layer branches"
    return "mean square of the stream, iterated over two-layer branches"


def _branch_weight(cfg: RunConfig, sublayer: SublayerPlan) -> float:
    """The weight of a branch; 0 if at initialisation the sublayer adds exactly nothing."""
    silent = cfg.init == "zero last" and (not one_layer(cfg, sublayer.kind) or sublayer.activation != "sigmoid")
    return 0.0 if sublayer.identity or silent else sublayer.scale


def _step(cfg: RunConfig, sublayer: SublayerPlan, x: _Passed) -> _Passed:
    """The stream after a sublayer. The variances of skip and branch add up, because the last matrix has mean 0."""
    if sublayer.identity:
        return _Passed(x.mean, x.variance, 1.0)
    weight = _branch_weight(cfg, sublayer)
    branch = _branch(cfg, sublayer, x) if weight else _Passed(0.0, 0.0, 0.0)
    mean = sublayer.skip * x.mean + weight * branch.mean
    variance = sublayer.skip**2 * x.variance + weight**2 * branch.variance
    normed = _norm(cfg, sublayer.norm_add, mean, variance)
    added = _Passed(normed.mean, normed.variance, normed.back * (sublayer.skip**2 + weight**2 * branch.back))
    return _dropped(sublayer.drop_stream, added)


def _branch(cfg: RunConfig, sublayer: SublayerPlan, x: _Passed) -> _Passed:
    """N_out(F(c_in N_in(x)))."""
    if sublayer.kind != "mlp":  # in a transformer only normed outputs are known, whatever F does
        whole = _norm(cfg, sublayer.norm_out, 0.0, 1.0) if sublayer.norm_out != "none" else _Passed(0.0, 1.0, 1.0)
        return _dropped(sublayer.drop_branch, whole)
    read = _norm(cfg, sublayer.norm_in, x.mean, x.variance)
    function = _function(cfg, sublayer, sublayer.input_scale**2 * read.square)
    out = _norm(cfg, sublayer.norm_out, function.mean, function.variance)
    whole = _Passed(out.mean, out.variance, read.back * sublayer.input_scale**2 * function.back * out.back)
    return _dropped(sublayer.drop_branch, whole)


def _dropped(rate: float, x: _Passed) -> _Passed:
    """Dropout keeps the mean and divides mean squares, of what passes and of a gradient, by 1 - rate."""
    square = x.square / (1 - rate)
    return _Passed(x.mean, square - x.mean * x.mean, x.back / (1 - rate)) if rate else x


def _function(cfg: RunConfig, sublayer: SublayerPlan, square: float) -> _Passed:
    """F of one or two layers, fed with this mean square.

    E|Wx|^2 and E|W^T g|^2 both carry the factor inputs times the weights' variance.
    """
    single = one_layer(cfg, sublayer.kind)
    hidden = cfg.width if single else cfg.expansion * cfg.width
    first = _gain(cfg, cfg.width, hidden, last=single)
    inside = _norm(cfg, sublayer.norm_mid, 0.0, first * square)
    act = moments(sublayer.activation, inside.variance)
    if single:
        return _Passed(act.mean, act.variance, first * inside.back * act.slope)
    second = _gain(cfg, hidden, cfg.width, last=True)
    return _Passed(0.0, second * act.square, first * inside.back * act.slope * second)


def _gain(cfg: RunConfig, inputs: int, outputs: int, *, last: bool) -> float:
    variance = weight_variance(cfg.init, inputs, outputs, last=last, sublayers=cfg.sublayers)
    return inputs * variance * branch_gain(cfg) ** 2


def _norm(cfg: RunConfig, norm: str, mean: float, variance: float) -> _Passed:
    """A norm divides by the root of the variance or of the mean square; it removes too few directions to matter."""
    if norm == "none":
        return _Passed(mean, variance, 1.0)
    if NORMS[norm].divisor == "variance":
        return _Passed(0.0, variance / (variance + cfg.eps), 1 / (variance + cfg.eps))
    size = variance + mean * mean + cfg.eps
    return _Passed(mean / sqrt(size), variance / size, 1 / size)
