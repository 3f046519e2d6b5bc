"""What can be computed of signal and gradient at initialisation without running a net, and where nothing can.

Mean-field averages over wide random layers: exact as the width grows, apart from the chance of one seed (Poole 2016,
arXiv 1606.05340; Schoenholz 2017, arXiv 1611.01232; Yang & Schoenholz 2017, arXiv 1712.08969). Legend: M sublayers.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np

from models.insight.gaussian import moments
from models.spec import INITS, RunConfig, plan
from models.spec.knob import Matrix
from models.spec.plan import SublayerPlan


def weight_variance(init: str, inputs: int, outputs: int, *, last: bool, sublayers: int) -> float:
    """Mean square of the weights of a matrix by its initialisation; `last` is a branch's output matrix."""
    return INITS[init].variance(Matrix(inputs, outputs, last, sublayers))


@dataclass(frozen=True)
class Law:
    """By site: the predicted mean square of the stream (S,) and
    gradient length over its last (S,); None where not known.

    `reading` says which law it is, or why there is none. `product` is the gradient's
    length if what a branch returns were at right angles to what its skip returns:
    the law wherever one is known, and told beside what a net does where it is none.
    """

    mean_square: np.ndarray | None
    gradient: np.ndarray | None
    reading: str
    product: np.ndarray | None = None


@dataclass(frozen=True)
class _Passed:
    """Mean and variance of what a stage hands on, and by what
    the mean square of a gradient is multiplied going back.
    """

    mean: float
    variance: float
    back: float

    @property
    def square(self) -> float:
        return self.variance + self.mean * self.mean


CENTRED = 1e-9  # as large a mean over Gaussian numbers as rounding leaves an activation that has none
PER_TOKEN = ("none", "layer norm", "rms norm")  # over a batch, or without statistics, no law is known


@lru_cache(maxsize=256)
def law(cfg: RunConfig) -> Law:
    """The law that a configuration follows at initialisation, fed with Gaussian numbers of unit mean square."""
    sublayers = plan(cfg).sublayers
    why = _unknown(cfg, sublayers)
    if why:
        return Law(None, None, why)
    size, factor = [_Passed(0.0, 1.0, 1.0)], []
    for one in sublayers:
        step = _step(cfg, one, size[-1])
        size.append(step)
        factor.append(step.back)
    squares = np.array([one.square for one in size])
    back = np.sqrt(np.concatenate([np.cumprod(factor[::-1])[::-1], [1.0]]))
    unknown = _unknown_gradient(cfg, sublayers)
    return Law(
        squares, None if unknown else back, unknown or _reading(cfg, sublayers), back if cfg.net == "mlp" else None
    )


def branch_gains(cfg: RunConfig, kind: str) -> tuple[float, float] | None:
    """v_f and v_b of a branch's function fed with unit mean square; None for attention and norms with no law."""
    slots = {one.norm_mid for one in plan(cfg).sublayers if one.kind == kind and not one.identity}
    if kind == "attn" or len(slots) != 1 or not slots <= set(PER_TOKEN):
        return None
    found = _function(cfg, kind, slots.pop(), 1.0)
    return found.square, found.back


def rate(profile: np.ndarray) -> float:
    """The factor per sublayer of the straight line through the logarithms of a profile (S,), by least squares."""
    profile = np.asarray(profile, float)
    if len(profile) < 2 or not (np.isfinite(profile) & (profile > 0)).all():
        return float("nan")
    return float(np.exp(np.polyfit(np.arange(len(profile)), np.log(profile), 1)[0]))


def _unknown(cfg: RunConfig, sublayers: tuple[SublayerPlan, ...]) -> str:
    """Why no law is known, or nothing."""
    if cfg.stack != "single":
        return f"no law is known for a stack that joins blocks in another way ({cfg.stack})"
    if cfg.skip_repeats > 1:
        return "no law is known for recursive skips"
    live = [one for one in sublayers if not one.identity and (_branch_weight(cfg, one) or one.norm_add != "none")]
    slots = {norm for one in live for norm in (one.norm_in, one.norm_mid, one.norm_out, one.norm_add)}
    other = slots - set(PER_TOKEN)
    if other:
        return f"no law is known for {' and '.join(sorted(other))}"
    if cfg.net == "transformer" and any(
        one.norm_out == one.norm_add == "none" and _branch_weight(cfg, one) for one in live
    ):
        return "no law is known for attention whose output is not normed"
    return ""


def _unknown_gradient(cfg: RunConfig, sublayers: tuple[SublayerPlan, ...]) -> str:
    """Why the law of the stream has none of the gradient beside it, or nothing."""
    adding = [one for one in sublayers if _branch_weight(cfg, one)]
    if cfg.net == "transformer" and adding:
        return "norms fix what every sublayer adds; no law of the gradient through attention is known"
    bare = [one for one in adding if one.skip and {one.norm_in, one.norm_mid, one.norm_out, one.norm_add} == {"none"}]
    if cfg.layers_per_branch == 1 and abs(moments(cfg.activation).mean) > CENTRED and bare:
        # act(Wx) has a mean that grows with |x|: its slope along
        # x adds up over blocks, and independent factors miss it.
        return (
            "mean and variance of the stream, iterated; the mean makes the gradient coherent, and no law of it is known"
        )
    return ""


def _reading(cfg: RunConfig, sublayers: tuple[SublayerPlan, ...]) -> str:
    if not any(_branch_weight(cfg, one) for one in sublayers):
        return "every branch starts at 0"
    if cfg.layers_per_branch == 1:
        return "mean and variance of the stream, iterated over one-layer branches"
    return "mean square of the stream, iterated over two-layer branches"


def _branch_weight(cfg: RunConfig, one: SublayerPlan) -> float:
    """0 where a sublayer adds exactly nothing at the start."""
    silent = cfg.init == "zero last" and (
        one.kind != "mlp" or cfg.layers_per_branch == 2 or cfg.activation != "sigmoid"
    )
    return 0.0 if one.identity or silent else one.scale


def _step(cfg: RunConfig, one: SublayerPlan, x: _Passed) -> _Passed:
    """The stream after a sublayer. What skip and branch bring adds up in the variance: the last matrix has mean 0."""
    if one.identity:
        return _Passed(x.mean, x.variance, 1.0)
    weight = _branch_weight(cfg, one)
    branch = _branch(cfg, one, x) if weight else _Passed(0.0, 0.0, 0.0)
    mean = one.skip * x.mean + weight * branch.mean
    variance = one.skip**2 * x.variance + weight**2 * branch.variance
    normed = _norm(cfg, one.norm_add, mean, variance)
    return _Passed(normed.mean, normed.variance, normed.back * (one.skip**2 + weight**2 * branch.back))


def _branch(cfg: RunConfig, one: SublayerPlan, x: _Passed) -> _Passed:
    """N_out(F(c_in N_in(x)))."""
    if one.kind != "mlp":  # of a transformer only what is normed is known, whatever is inside
        return _norm(cfg, one.norm_out, 0.0, 1.0) if one.norm_out != "none" else _Passed(0.0, 1.0, 1.0)
    read = _norm(cfg, one.norm_in, x.mean, x.variance)
    function = _function(cfg, one.kind, one.norm_mid, one.input_scale**2 * read.square)
    out = _norm(cfg, one.norm_out, function.mean, function.variance)
    return _Passed(out.mean, out.variance, read.back * one.input_scale**2 * function.back * out.back)


def _function(cfg: RunConfig, kind: str, norm_mid: str, square: float) -> _Passed:
    """F of one or two layers fed with this mean square: E|Wx|^2
    and E|W^T g|^2 both carry inputs times the weights' variance.
    """
    one_layer = kind == "mlp" and cfg.layers_per_branch == 1
    hidden = cfg.width if one_layer else cfg.expansion * cfg.width
    first = _gain(cfg, cfg.width, hidden, last=one_layer)
    inside = _norm(cfg, norm_mid, 0.0, first * square)
    act = moments(cfg.activation, inside.variance)
    if one_layer:
        return _Passed(act.mean, act.variance, first * inside.back * act.slope)
    second = _gain(cfg, hidden, cfg.width, last=True)
    return _Passed(0.0, second * act.square, first * inside.back * act.slope * second)


def _gain(cfg: RunConfig, inputs: int, outputs: int, *, last: bool) -> float:
    variance = weight_variance(cfg.init, inputs, outputs, last=last, sublayers=cfg.sublayers)
    return inputs * variance * cfg.init_gain**2


def _norm(cfg: RunConfig, norm: str, mean: float, variance: float) -> _Passed:
    """A norm divides by the root of the variance or of the mean
    square; the one or two directions it takes away are few.
    """
    if norm == "none":
        return _Passed(mean, variance, 1.0)
    if norm == "layer norm":
        return _Passed(0.0, variance / (variance + cfg.eps), 1 / (variance + cfg.eps))
    size = variance + mean * mean + cfg.eps
    return _Passed(mean / sqrt(size), variance / size, 1 / size)
