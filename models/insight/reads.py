"""What the branches and the head of a net read, and what its first update will do to its weights."""

import numpy as np

from models.insight.theory import weight_variance
from models.spec import NORMS, RunConfig, plan
from models.spec.plan import SublayerPlan, one_layer
from models.trace import Trace

BOUNDING = {name for name, norm in NORMS.items() if norm.over}  # norms that fix the size of what they pass on
SCALE_FREE = ("relu", "identity", "gelu", "silu")  # activations whose output grows with its input
ADAM = ("adam", "adamw")  # optimisers whose step does not grow with the gradient
LEAST_GRADIENT = 1e-7  # RMS well above Adam's eps, from which its first update is the learning rate


def head_normed(cfg: RunConfig) -> bool:
    """Whether the head reads the stream through a norm that fixes its size."""
    last = plan(cfg).sublayers[-1]
    return bool(BOUNDING & {cfg.norm if cfg.stack != "single" else plan(cfg).final_norm, last.norm_add})


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
    return sublayer.norm_mid in BOUNDING or (sublayer.norm_out in BOUNDING and cfg.activation in SCALE_FREE)


def first_update(cfg: RunConfig, trace: Trace) -> np.ndarray:
    """|change| / |weights| by block that the first update will make, (depth,); 0 where there are no weights yet.

    From the first row: a gradient step for SGD and momentum; Adam's first step is the learning rate in every weight.
    """
    gradient = trace.weight_grad_rms[0].astype(float)
    if cfg.optimizer in ADAM:
        change = np.where(gradient > LEAST_GRADIENT, float(trace.lr[0]), 0.0)
    else:
        change = float(trace.lr[0]) * float(trace.clip_factor[0]) * gradient
    size = np.array([_weight_rms(cfg, plan(cfg).of_block(block)) for block in range(1, cfg.depth + 1)])
    return np.divide(change, size, out=np.zeros(cfg.depth), where=size > 0)


def first_drop(cfg: RunConfig, trace: Trace) -> float:
    """By how many times itself the first gradient step would lower the loss, to first order; 0 for Adam."""
    if cfg.optimizer in ADAM:
        return 0.0
    gradient = float(trace.grad_norm[0])
    return float(trace.lr[0]) * float(trace.clip_factor[0]) * gradient**2 / float(trace.loss[0])


def _weight_rms(cfg: RunConfig, sublayers: tuple[SublayerPlan, ...]) -> float:
    """The RMS of a block's weights at initialisation; 0 without weights."""
    squares = numbers = 0.0
    for inputs, outputs, last in (one for sublayer in sublayers for one in _matrices(cfg, sublayer)):
        numbers += inputs * outputs
        variance = weight_variance(cfg.init, inputs, outputs, last=last, sublayers=cfg.sublayers)
        squares += inputs * outputs * variance * cfg.init_gain**2
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
