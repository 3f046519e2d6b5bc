"""Laws of signal and gradient at initialisation, computed without running a net.

They are mean-field averages over random layers, exact for infinite width; single seeds scatter around them (Poole 2016,
arXiv 1606.05340; Schoenholz 2017, arXiv 1611.01232; Yang & Schoenholz 2017, arXiv 1712.08969).
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp, sqrt

import numpy as np

from models.insight.gaussian import moments
from models.insight.words import number
from models.spec import INITS, NORMS, RunConfig, knobs, plan
from models.spec.knob import Matrix
from models.spec.parametrization import branch_gain
from models.spec.plan import SublayerPlan, activations_of, depth_sources, is_one_layer
from models.spec.vocabulary import MANY_STREAMS, NORMED_SUMS


def weight_variance(init: str, inputs: int, outputs: int, *, last: bool, sublayers: int) -> float:
    """Mean square of a matrix's weights at initialisation; `last` marks a branch's output matrix."""
    return INITS[init].variance(Matrix(inputs, outputs, last, sublayers))


@dataclass(frozen=True)
class Law:
    """Predicted mean square of the stream, and gradient length relative to its last, by site (S,); None if unknown.

    `reading` names the law, or says why there is none. `product` is the relative gradient length under the assumption
    that the gradients of branch and skip are orthogonal; it equals `gradient` where that is known.
    """

    mean_square: np.ndarray | None
    gradient: np.ndarray | None
    reading: str
    product: np.ndarray | None = None


@dataclass(frozen=True)
class _Moments:
    """Mean and variance of a stage's output, and its factor on the mean square of a gradient going back."""

    mean: float
    variance: float
    back: float

    @property
    def square(self) -> float:
        return self.variance + self.mean * self.mean


CENTRED = 1e-9  # largest Gaussian mean of an activation that counts as 0
NORMS_WITH_LAW = {"none"} | {name for name, entry in NORMS.items() if entry.divisor}


@lru_cache(maxsize=64)
def law(cfg: RunConfig) -> Law:
    """The law of a configuration at initialisation, for Gaussian input of unit mean square."""
    sublayers = plan(cfg).sublayers
    no_law = _no_law_reason(cfg, sublayers)
    if no_law:
        return Law(None, None, no_law)
    stages = [_Moments(0.0, 1.0, 1.0)]
    outputs = stages[:]  # that attention residuals read
    begin = {group[0] for group in depth_sources(cfg)}
    for sublayer in sublayers:
        if cfg.stack == "attention residuals":
            if not sublayer.identity:
                branch = _weighted(_branch_weight(cfg, sublayer), cfg, sublayer, stages[-1])
                outputs.append(branch if sublayer in begin else _sum(outputs.pop(), branch))
            stages.append(stages[-1] if sublayer.identity else _mean(outputs))
        else:
            stages.append(_after_sublayer(cfg, sublayer, stages[-1]))
    mean_squares = np.array([stage.square for stage in stages])
    factors = [stage.back for stage in stages[1:]]
    product = np.sqrt(np.concatenate([np.cumprod(factors[::-1])[::-1], [1.0]]))
    no_gradient = _no_gradient_law_reason(cfg, sublayers)
    return Law(
        mean_squares,
        gradient=None if no_gradient else product,
        reading=no_gradient or _reading(cfg, sublayers),
        product=product if cfg.net == "mlp" and cfg.stack != "attention residuals" else None,
    )


def branch_gains(cfg: RunConfig, kind: str) -> tuple[float, float] | None:
    """v_f and v_b of the function F of branches of a kind, on input of unit mean square.

    None for attention, for norms without a law, and if branches of this kind differ.
    """
    by_design = {
        (sub.norm_mid, sub.activation): sub for sub in plan(cfg).sublayers if sub.kind == kind and not sub.identity
    }
    if kind == "attn" or len(by_design) != 1 or not {norm for norm, _ in by_design} <= NORMS_WITH_LAW:
        return None
    output = _function(cfg, next(iter(by_design.values())), 1.0)
    return output.square, output.back


@lru_cache(maxsize=256)
def preserving_init_gain(cfg: RunConfig) -> float | None:
    """Init gain with which a branch keeps a mean square of 1, to a relative 1e-5; None without such a gain or a law.

    It solves E[F(x)^2] = 1; for two fan-in matrices that is g^2 E[act(g z)^2] = 1.
    """
    kind = "mlp" if cfg.net == "mlp" else "ffn"
    if branch_gains(cfg, kind) is None:
        return None
    knob = knobs()["init_gain"][1]
    sublayer = next(sub for sub in plan(cfg).sublayers if sub.kind == kind and not sub.identity)

    def output_square(gain: float) -> float:
        return _function(replace(cfg, init_gain=gain), sublayer, 1.0).square

    low, high = knob.low, knob.high
    if not output_square(low) < 1 < output_square(high):
        return None
    for _ in range(20):
        middle = sqrt(low * high)
        low, high = (middle, high) if output_square(middle) < 1 else (low, middle)
    return sqrt(low * high)


def he_factor_sentence(cfg: RunConfig) -> str:
    """Why He initialisation lets the signal of a branch with two matrices and one ReLU grow; empty for other nets."""
    is_bare = {norm for sub in plan(cfg).sublayers for norm in sub.norms} == {"none"}
    is_he_branch = cfg.net == "mlp" and (cfg.init, cfg.layers_per_branch) == ("he", 2)
    gains = branch_gains(cfg, "mlp")
    if not (is_he_branch and is_bare and activations_of(cfg) == {"relu"} and gains and gains[0] > 1):
        return ""
    from_gain = cfg.init_gain**4  # squared once for two matrices, and again for a mean square
    also = f"; the init gain of {number(cfg.init_gain)} by another {number(from_gain)}" if cfg.init_gain != 1 else ""
    return (
        "He's factor 2 makes up for one ReLU, but is applied to both matrices of a branch, which multiplies the mean "
        f"square by {number(gains[0] / from_gain)} (see lesson 8){also}."
    )


def factor_per_sublayer(profile: np.ndarray) -> float:
    """Mean factor per sublayer of a profile (S,), from a least-squares line through its logarithms; NaN if invalid."""
    profile = np.asarray(profile, float)
    if len(profile) < 2 or not (np.isfinite(profile) & (profile > 0)).all():
        return float("nan")
    return float(np.exp(np.polyfit(np.arange(len(profile)), np.log(profile), 1)[0]))


def _no_law_reason(cfg: RunConfig, sublayers: tuple[SublayerPlan, ...]) -> str:
    """Why no law is known; empty if there is one."""
    if cfg.stack in NORMED_SUMS:  # learned scalars start at 1 and 0, which is the single stream
        return f"no law is known for a stack that joins blocks in another way ({cfg.stack})"
    if cfg.stack in MANY_STREAMS and (cfg.mixing_noise or (cfg.stack == "mHC" and not cfg.sinkhorn)):
        return "no law is known for streams whose mixing does not keep their mean"
    if cfg.skip_repeats > 1:
        return "no law is known for recursive skips"
    active = [sub for sub in sublayers if not sub.identity and (_branch_weight(cfg, sub) or sub.norm_add != "none")]
    norms_without_law = {norm for sub in active for norm in sub.norms} - NORMS_WITH_LAW
    if norms_without_law:
        return f"no law is known for {' and '.join(sorted(norms_without_law))}"
    if cfg.net == "transformer" and any(
        sub.norm_out == sub.norm_add == "none" and _branch_weight(cfg, sub) for sub in active
    ):
        return "no law is known for attention whose output is not normed"
    return ""


def _no_gradient_law_reason(cfg: RunConfig, sublayers: tuple[SublayerPlan, ...]) -> str:
    """Why only the law of the stream is known, not that of its gradient; empty if both are."""
    adding = [sub for sub in sublayers if _branch_weight(cfg, sub)]
    if cfg.stack == "attention residuals":
        return "the mean of all outputs, which attention over depth starts with; no law of the gradient is known"
    if cfg.net == "transformer" and adding:
        return "norms fix what every sublayer adds; no law of the gradient through attention is known"
    bare = [sub for sub in adding if sub.skip and set(sub.norms) == {"none"}]
    if cfg.layers_per_branch == 1 and any(abs(moments(sub.activation).mean) > CENTRED for sub in bare):
        # The mean of act(Wx) grows with |x|. Its slope along x adds up over blocks, which independent factors miss.
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
    """Weight of a branch in the sum; 0 if the branch is exactly 0 at initialisation."""
    is_zero = cfg.init == "zero last" and (not is_one_layer(cfg, sublayer.kind) or sublayer.activation != "sigmoid")
    return 0.0 if sublayer.identity or is_zero else sublayer.scale


def _weighted(weight: float, cfg: RunConfig, sublayer: SublayerPlan, x: _Moments) -> _Moments:
    """The weighted branch of a sublayer."""
    branch = _branch(cfg, sublayer, x) if weight else _Moments(0.0, 0.0, 0.0)
    return _Moments(weight * branch.mean, weight**2 * branch.variance, weight**2 * branch.back)


def _sum(x: _Moments, y: _Moments) -> _Moments:
    """The sum of independent outputs."""
    return _Moments(x.mean + y.mean, x.variance + y.variance, 1.0)


def _mean(outputs: list[_Moments]) -> _Moments:
    """The mean of independent outputs."""
    count = len(outputs)
    return _Moments(sum(x.mean for x in outputs) / count, sum(x.variance for x in outputs) / count**2, 1.0)


def _after_sublayer(cfg: RunConfig, sublayer: SublayerPlan, x: _Moments) -> _Moments:
    """The stream after a sublayer. Variances of skip and branch add up, because the last matrix has mean 0."""
    if sublayer.identity:
        return _Moments(x.mean, x.variance, 1.0)
    branch = _weighted(_branch_weight(cfg, sublayer), cfg, sublayer, x)
    mean = sublayer.skip * x.mean + branch.mean
    variance = sublayer.skip**2 * x.variance + branch.variance
    normed = _norm(cfg, sublayer.norm_add, mean, variance)
    total = _Moments(normed.mean, normed.variance, normed.back * (sublayer.skip**2 + branch.back))
    return _after_dropout(sublayer.drop_stream, total)


def _branch(cfg: RunConfig, sublayer: SublayerPlan, x: _Moments) -> _Moments:
    """N_out(F(c_in N_in(x)))."""
    if sublayer.kind != "mlp":  # a transformer's branch has a law only if N_out fixes its size, whatever F does
        output = _norm(cfg, sublayer.norm_out, 0.0, 1.0)
        return _after_dropout(sublayer.drop_branch, output)
    # mHC reads sigmoid(1) of one stream and sigmoid(-1) of the others, while all are equal.
    reads = 1 / (1 + exp(-1)) + (cfg.streams - 1) / (1 + exp(1)) if cfg.stack == "mHC" else 1.0
    read = _norm(cfg, sublayer.norm_in, reads * x.mean, reads**2 * x.variance)
    function = _function(cfg, sublayer, sublayer.input_scale**2 * read.square)
    normed = _norm(cfg, sublayer.norm_out, function.mean, function.variance)
    back = reads**2 * read.back * sublayer.input_scale**2 * function.back * normed.back
    return _after_dropout(sublayer.drop_branch, _Moments(normed.mean, normed.variance, back))


def _after_dropout(rate: float, x: _Moments) -> _Moments:
    """Dropout keeps the mean, and divides the mean squares of output and gradient by 1 - rate."""
    square = x.square / (1 - rate)
    return _Moments(x.mean, square - x.mean * x.mean, x.back / (1 - rate)) if rate else x


def _function(cfg: RunConfig, sublayer: SublayerPlan, square: float) -> _Moments:
    """F of one or two layers on input of mean square `square`.

    E|Wx|^2 and E|W^T g|^2 both carry the factor inputs * variance of the weights.
    """
    single = is_one_layer(cfg, sublayer.kind)
    hidden = cfg.width if single else cfg.expansion * cfg.width
    first = _gain(cfg, cfg.width, hidden, last=single)
    inside = _norm(cfg, sublayer.norm_mid, 0.0, first * square)
    act = moments(sublayer.activation, inside.variance)
    if single:
        return _Moments(act.mean, act.variance, first * inside.back * act.slope)
    second = _gain(cfg, hidden, cfg.width, last=True)
    return _Moments(0.0, second * act.square, first * inside.back * act.slope * second)


def _gain(cfg: RunConfig, inputs: int, outputs: int, *, last: bool) -> float:
    variance = weight_variance(cfg.init, inputs, outputs, last=last, sublayers=cfg.sublayers)
    return inputs * variance * branch_gain(cfg) ** 2


def _norm(cfg: RunConfig, norm: str, mean: float, variance: float) -> _Moments:
    """A norm divides by the root of variance or mean square. The one or two directions it removes are neglected."""
    if norm == "none":
        return _Moments(mean, variance, 1.0)
    if NORMS[norm].divisor == "variance":
        return _Moments(0.0, variance / (variance + cfg.eps), 1 / (variance + cfg.eps))
    size = variance + mean * mean + cfg.eps
    return _Moments(mean / sqrt(size), variance / size, 1 / size)
