"""Estimates from a configuration and row 0 of its run: whether norms fix what is read, and what training can reach."""

import math
from functools import lru_cache

import numpy as np

from models.insight.theory import weight_variance
from models.spec import NORMS, TASKS, RunConfig, plan
from models.spec.parametrization import (
    REST_OF_MUON,
    branch_gain,
    has_uniform_rates,
    output_factor,
    parameter_scaling,
    score_scale,
)
from models.spec.plan import SUBLAYER_KINDS, SublayerPlan, matrices
from models.spec.schedule import learning_rate_sum
from models.spec.vocabulary import NORMED_SUMS
from models.trace import Trace

SIZE_FIXING_NORMS = {name for name, norm in NORMS.items() if norm.over}
SCALING_ACTIVATIONS = ("relu", "identity", "gelu", "silu", "selu")  # their output grows with their input
ADAM_LIKE = ("adam", "adamw", "muon")  # optimisers whose step does not grow with the gradient
MOMENTUM = 0.9
MIN_GRADIENT = 1e-7  # RMS well above Adam's eps; from it on, Adam's first update equals the learning rate


@lru_cache(maxsize=256)
def is_head_normed(cfg: RunConfig) -> bool:
    """Whether the head reads the stream through a norm that fixes its size."""
    final_norm = cfg.norm if cfg.stack in NORMED_SUMS else plan(cfg).final_norm
    return bool(SIZE_FIXING_NORMS & {final_norm, plan(cfg).sublayers[-1].norm_add})


@lru_cache(maxsize=256)
def is_fully_normed(cfg: RunConfig) -> bool:
    """Whether every branch and the head read the stream through a size-fixing norm, so that its size does no harm."""
    if not is_head_normed(cfg):
        return False
    normed = True  # the embedding fixes the size of the input
    for sublayer in plan(cfg).sublayers:
        if not sublayer.identity:
            if not (normed or cfg.stack == "dlcl" or _is_scale_invariant(cfg, sublayer)):
                return False
            normed = sublayer.norm_add in SIZE_FIXING_NORMS
    return True


def _is_scale_invariant(cfg: RunConfig, sublayer: SublayerPlan) -> bool:
    """Whether a branch's output does not depend on the size of its input."""
    if sublayer.norm_in in SIZE_FIXING_NORMS:
        return True
    if sublayer.kind == "attn":
        return False  # its scores grow with the input
    if sublayer.norm_mid in SIZE_FIXING_NORMS:
        return True
    return sublayer.norm_out in SIZE_FIXING_NORMS and sublayer.activation in SCALING_ACTIVATIONS


def first_update(cfg: RunConfig, trace: Trace) -> np.ndarray:
    """Predicted |change| / |weights| of the first update by block, (depth,); 0 for blocks whose weights are all 0.

    SGD and momentum take a gradient step; Adam's first step changes every weight by the learning rate, Muon's has at
    most the size of an orthogonal matrix, and less where the gradient has a lower rank.
    """
    gradient = trace.weight_grad_rms[0].astype(float)
    rate = float(trace.lr[0]) * parameter_scaling(cfg, "stream.blocks.b01.mlp.function.w1.weight", cfg.width**2)[0]
    if cfg.optimizer == "muon":
        change = np.where(gradient > 0, rate * _orthogonal_rms(cfg), 0.0)
    elif cfg.optimizer in ADAM_LIKE:
        change = np.where(gradient > MIN_GRADIENT, rate, 0.0)
    else:
        change = rate * float(trace.clip_factor[0]) * gradient
    size = np.array([_weight_rms(cfg, plan(cfg).block_sublayers(block)) for block in range(1, cfg.depth + 1)])
    return np.divide(change, size, out=np.zeros(cfg.depth), where=size > 0)


def first_drop(cfg: RunConfig, trace: Trace) -> float:
    """Relative decrease of the loss by the first gradient step, to first order.

    It is 0 for Adam, and under parametrisations in which learning rates differ between parameters.
    """
    return 0.0 if cfg.optimizer in ADAM_LIKE or not has_uniform_rates(cfg) else _gradient_drop(trace)


def total_drop(cfg: RunConfig, trace: Trace) -> float:
    """Relative decrease of the loss if every step of the run were the first one, to first order; infinite for Adam.

    A parametrisation's factors on learning rates are left out.
    """
    if cfg.optimizer in ADAM_LIKE:
        return math.inf
    return _gradient_drop(trace) * _steps_of_first_rate(cfg, trace)


def _gradient_drop(trace: Trace) -> float:
    """Relative decrease of the loss by the first gradient step, to first order."""
    return float(trace.lr[0]) * float(trace.clip_factor[0]) * float(trace.grad_norm[0]) ** 2 / float(trace.loss[0])


def _steps_of_first_rate(cfg: RunConfig, trace: Trace) -> float:
    """Sum of the learning rates over the first one; momentum multiplies it by 1 / (1 - MOMENTUM)."""
    rate = float(trace.lr[0])
    return learning_rate_sum(cfg) / rate / (1 - MOMENTUM if cfg.optimizer == "momentum" else 1) if rate else math.inf


def update_reach(cfg: RunConfig, trace: Trace) -> float:
    """|change| / |weights| of the median block if all updates of the run pointed in the direction of the first."""
    first = first_update(cfg, trace)
    return float(np.median(first[first > 0])) * _steps_of_first_rate(cfg, trace) if first.any() else math.inf


def logit_reach(cfg: RunConfig, trace: Trace, size: float) -> float:
    """Change of a logit by the head's weights alone: the largest that Adam can reach, else that of a rare answer.

    The head reads `width` numbers of RMS `size`, which counts as 1 if it is larger. A step of Adam moves each weight by
    at most the learning rate (Kingma & Ba 2014, section 2.1). A gradient step moves the logit z of an answer that never
    comes by k = rate * width * size^2 times its probability e^-z / answers, so z grows to ln(1 + sum k / answers). The
    factors of muP are left out.
    """
    read = min(size, 1.0)
    if cfg.optimizer in ADAM_LIKE:
        of_head = REST_OF_MUON if cfg.optimizer == "muon" else 1.0
        return of_head * learning_rate_sum(cfg) * cfg.width * output_factor(cfg) * read
    step = float(trace.lr[0]) * float(trace.clip_factor[0]) * cfg.width * read**2 / TASKS[cfg.task].classes
    return math.log1p(step * _steps_of_first_rate(cfg, trace))


def score_spread(cfg: RunConfig, trace: Trace) -> float:
    """Largest standard deviation of the attention scores q.k/sqrt(K) over the untrained blocks; 0 without attention.

    For independent weights and inputs it is width * variance of W_Q and W_K * mean square of attention's input.
    """
    sublayers = plan(cfg).sublayers
    attentions = [at for at, sublayer in enumerate(sublayers) if sublayer.kind == "attn" and not sublayer.identity]
    if not attentions or cfg.qk_norm:
        return float(bool(attentions))
    width, head_size = cfg.width, cfg.width // cfg.heads
    variance = branch_gain(cfg) ** 2 * weight_variance(cfg.init, width, width, last=False, sublayers=cfg.sublayers)
    mean_squares = [
        1.0
        if sublayers[at].norm_in in SIZE_FIXING_NORMS
        else (sublayers[at].input_scale * float(trace.act_rms[0, at])) ** 2
        for at in attentions
    ]
    return width * variance * max(mean_squares) * (score_scale(cfg) or head_size**-0.5) * head_size**0.5


def freezing_spread(cfg: RunConfig) -> float:
    """Standard deviation of independent scores above which a softmax over T tokens is dominated by one or few.

    sqrt(2 ln T), where the random energy model freezes (Derrida 1981).
    """
    return math.sqrt(2 * math.log(cfg.tokens)) if cfg.tokens > 1 else math.inf


def _orthogonal_rms(cfg: RunConfig) -> float:
    """RMS of orthogonal matrices U V^T sqrt(max(1, rows / columns)) in place of those of a block; each has outputs as
    its square sum."""
    shapes = [shape for kind in SUBLAYER_KINDS[cfg.net] for shape in matrices(cfg, kind).values()]
    return math.sqrt(sum(outputs for _, outputs in shapes) / sum(inputs * outputs for inputs, outputs in shapes))


def _weight_rms(cfg: RunConfig, sublayers: tuple[SublayerPlan, ...]) -> float:
    """RMS of a block's weights at initialisation; 0 without weights."""
    square_sum = count = 0.0
    for sublayer in sublayers:
        shapes = [] if sublayer.identity else [*matrices(cfg, sublayer.kind).values()]
        for number, (inputs, outputs) in enumerate(shapes, start=1):
            last = number == len(shapes)
            count += inputs * outputs
            variance = weight_variance(cfg.init, inputs, outputs, last=last, sublayers=cfg.sublayers)
            square_sum += inputs * outputs * variance * branch_gain(cfg) ** 2
    return float(np.sqrt(square_sum / count)) if count else 0.0
