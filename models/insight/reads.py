"""What the branches and the head of a net read, and what its first update will do to its weights."""

import math
from functools import lru_cache

import numpy as np

from models.insight.landscape import MOMENTUM
from models.insight.theory import weight_variance
from models.spec import NORMS, RunConfig, plan
from models.spec.parametrization import branch_gain, output_factor, scaling_of, score_scale, uniform
from models.spec.plan import SublayerPlan, one_layer
from models.spec.schedule import summed_rates
from models.trace import Trace

BOUNDING = {name for name, norm in NORMS.items() if norm.over}  # norms that fix the size of what they pass on
SCALE_FREE = ("relu", "identity", "gelu", "silu", "selu")  # activations whose output grows with its input
ADAM = ("adam", "adamw")  # optimisers whose step does not grow with the gradient
MIN_GRADIENT = 1e-7  # RMS well above Adam's eps, from which its first update is the learning rate


@lru_cache(maxsize=256)
def head_normed(cfg: RunConfig) -> bool:
    """Whether the head reads the stream through a norm that fixes its size."""
    last = plan(cfg).sublayers[-1]
    return bool(BOUNDING & {cfg.norm if cfg.stack != "single" else plan(cfg).final_norm, last.norm_add})


@lru_cache(maxsize=256)
def all_normed(cfg: RunConfig) -> bool:
    """Whether every branch and the head read the stream through such a norm: then its size alone harms nobody."""
    if not head_normed(cfg):
        return False
    normed = True  # the input, whose size is that of the embedding
    for sublayer in plan(cfg).sublayers:
        if not sublayer.identity:
            if not (normed or cfg.stack == "dlcl" or _normed(cfg, sublayer)):
                return False
            normed = sublayer.norm_add in BOUNDING
    return True


def _normed(cfg: RunConfig, sublayer: SublayerPlan) -> bool:
    """Whether a branch gives the same for any size of its input."""
    if sublayer.norm_in in BOUNDING:
        return True
    if sublayer.kind == "attn":
        return False  # its scores grow with the input
    return sublayer.norm_mid in BOUNDING or (sublayer.norm_out in BOUNDING and sublayer.activation in SCALE_FREE)


def first_update(cfg: RunConfig, trace: Trace) -> np.ndarray:
    """|change| / |weights| by block that the first update will make, (depth,); 0 where there are no weights yet.

    From the first row: a gradient step for SGD and momentum; Adam's first step is the learning rate in every weight.
    """
    gradient = trace.weight_grad_rms[0].astype(float)
    rate = float(trace.lr[0]) * scaling_of(cfg, "stream.blocks.b01.mlp.function.w1.weight", cfg.width**2)[0]
    if cfg.optimizer in ADAM:
        change = np.where(gradient > MIN_GRADIENT, rate, 0.0)
    else:
        change = rate * float(trace.clip_factor[0]) * gradient
    size = np.array([_weight_rms(cfg, plan(cfg).of_block(block)) for block in range(1, cfg.depth + 1)])
    return np.divide(change, size, out=np.zeros(cfg.depth), where=size > 0)


def first_drop(cfg: RunConfig, trace: Trace) -> float:
    """By how many times itself the first gradient step would lower the loss, to first order; 0 for Adam and
    where parameters have rates of their own.
    """
    if cfg.optimizer in ADAM or not uniform(cfg):
        return 0.0
    gradient = float(trace.grad_norm[0])
    return float(trace.lr[0]) * float(trace.clip_factor[0]) * gradient**2 / float(trace.loss[0])


def update_reach(cfg: RunConfig, trace: Trace) -> float:
    """|change| / |weights| of the middle block, if all updates of the run went the way of the first."""
    first = first_update(cfg, trace)
    rate = float(trace.lr[0])
    if rate == 0 or not first.any():
        return math.inf
    steps = summed_rates(cfg) / rate / (1 - MOMENTUM if cfg.optimizer == "momentum" else 1)
    return float(np.median(first[first > 0])) * steps


def logit_reach(cfg: RunConfig, size: float) -> float:
    """How far Adam can move a logit by the head's weights, which read `width` numbers of RMS `size` (above 1: of 1).

    Each weight moves by the learning rate in a step at most (Kingma & Ba 2014, section 2.1). Infinite for SGD.
    """
    return summed_rates(cfg) * cfg.width * output_factor(cfg) * min(size, 1.0) if cfg.optimizer in ADAM else math.inf


def score_spread(cfg: RunConfig, trace: Trace) -> float:
    """The largest standard deviation of attention scores q.k/sqrt(K) over the untrained blocks; 0 without attention.

    Of independent weights and inputs: width * variance of W_Q and W_K * mean square of what attention reads.
    """
    sublayers = plan(cfg).sublayers
    reads = [at for at, one in enumerate(sublayers) if one.kind == "attn" and not one.identity]
    if not reads or cfg.qk_norm:
        return float(bool(reads))
    width, head_size = cfg.width, cfg.width // cfg.heads
    variance = branch_gain(cfg) ** 2 * weight_variance(cfg.init, width, width, last=False, sublayers=cfg.sublayers)
    squares = [
        1.0 if sublayers[at].norm_in in BOUNDING else (sublayers[at].input_scale * float(trace.act_rms[0, at])) ** 2
        for at in reads
    ]
    return width * variance * max(squares) * (score_scale(cfg) or head_size**-0.5) * head_size**0.5


def one_token(cfg: RunConfig) -> float:
    """The spread of independent scores above which a softmax over the tokens rests on one or few of them.

    sqrt(2 ln T), where the random energy model freezes (Derrida 1981).
    """
    return math.sqrt(2 * math.log(cfg.tokens)) if cfg.tokens > 1 else math.inf


def _weight_rms(cfg: RunConfig, sublayers: tuple[SublayerPlan, ...]) -> float:
    """The RMS of a block's weights at initialisation; 0 without weights."""
    squares = numbers = 0.0
    for inputs, outputs, last in (one for sublayer in sublayers for one in _matrices(cfg, sublayer)):
        numbers += inputs * outputs
        variance = weight_variance(cfg.init, inputs, outputs, last=last, sublayers=cfg.sublayers)
        squares += inputs * outputs * variance * branch_gain(cfg) ** 2
    return float(np.sqrt(squares / numbers)) if numbers else 0.0


def _matrices(cfg: RunConfig, sublayer: SublayerPlan) -> list[tuple[int, int, bool]]:
    """The matrices of a branch: inputs, outputs, and whether it is the last."""
    width, hidden = cfg.width, cfg.expansion * cfg.width
    if sublayer.identity:
        return []
    if sublayer.kind == "attn":
        return [(width, width, False)] * 3 + [(width, width, True)]
    if one_layer(cfg, sublayer.kind):
        return [(width, width, True)]
    return [(width, hidden, False), (hidden, width, True)]
