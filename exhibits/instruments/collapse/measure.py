"""How similar the vectors of the stream become, how many directions they use, and how concentrated attention is.

Legend: B samples, T tokens, D width, K head size; G sets of N vectors each.
"""

import math

import numpy as np
import torch
from torch import Tensor

from addnorm.cosine import mean_cosines
from addnorm.probe import accumulate_dtype
from exhibits.instruments.collapse.answer import COLLAPSE, Collapse
from models.instruments import on_snapshot
from models.instruments.attention import attention_in, attention_parts, visibility
from models.nets.branches import Attention
from models.training import Snapshot, Work, cross_entropy, preserve_buffers, probe_outputs

MAX_SETS = 32  # samples measured if each sample is a set
MAX_VECTORS = 256  # tokens measured if the whole batch is one set
SITE_KEYS = ("cosine", "spread", "rank", "participation")
BLOCK_KEYS = ("entropy", "sharpest", "max_logit")


def collapse(snapshot: Snapshot) -> Work[Collapse]:
    """`site_numbers` by site, and `attention_numbers` and `query_key_share` by block, on the step's batch."""
    within = snapshot.cfg.net == "transformer" and snapshot.cfg.tokens > 1
    attentions = [attention_in(block) for block in snapshot.model.stream.blocks.values()] if within else []
    stream, inputs, shares = _pass(snapshot, attentions)
    sets = [x_BTD[:MAX_SETS] if within else x_BTD.flatten(0, 1)[None, :MAX_VECTORS] for x_BTD in stream]
    steps = len(sets) + len(attentions)
    by_site, by_block = [], []
    for x_GND in sets:
        by_site.append(site_numbers(x_GND))
        yield len(by_site) / steps
    for attention in attentions:
        if attention:
            by_block.append(attention_numbers(attention, inputs.pop(0)[:MAX_SETS]))
        else:
            by_block.append(dict.fromkeys(BLOCK_KEYS, math.nan))
        yield (len(by_site) + len(by_block)) / steps
    return Collapse(
        within=within,
        sets=sets[0].shape[0],
        vectors=sets[0].shape[1],
        **{key: np.array([numbers[key] for numbers in by_site], np.float32) for key in SITE_KEYS},
        **{key: np.array([numbers[key] for numbers in by_block], np.float32) for key in BLOCK_KEYS},
        query_key_share=np.array(shares, np.float32),
    )


def site_numbers(x_GND: Tensor) -> dict[str, float]:
    """Means of SITE_KEYS over sets X of N vectors; s are the singular values of X, not centred.

    `cosine` is the mean between different vectors, `spread` |X - 1 mean^T| / |X|, `rank` exp H(s / sum s), and
    `participation` (sum s^2)^2 / sum s^4. NaN if a value is not finite, or if all vectors are 0.
    """
    if not x_GND.isfinite().all():
        return dict.fromkeys(SITE_KEYS, math.nan)
    largest_G = x_GND.abs().amax((1, 2))
    # The numbers do not depend on the scale of a set. Scaling keeps squares of tiny values from vanishing.
    x_GND = x_GND[largest_G > 0] / largest_G[largest_G > 0, None, None]
    s_GN = torch.linalg.svdvals(x_GND)
    size_G = x_GND.norm(dim=(1, 2))
    return {
        "cosine": _mean(mean_cosines(x_GND)),
        "spread": _mean((x_GND - x_GND.mean(1, keepdim=True)).norm(dim=(1, 2)) / size_G),
        "rank": _mean(effective_rank(s_GN)),
        "participation": _mean(s_GN.square().sum(-1).square() / s_GN.pow(4).sum(-1)),
    }


def effective_rank(s: Tensor) -> Tensor:
    """exp of the entropy of normalised singular values (..., N), from 1 to N (Roy & Vetterli 2007)."""
    return torch.special.entr(s / s.sum(-1, keepdim=True)).sum(-1).exp()


def attention_numbers(module: Attention, x_BTD: Tensor) -> dict[str, float]:
    """`entropy` of attention, entropy of the `sharpest` head, and `max_logit`; NaN if a logit is not finite.

    The entropy of a row is a share of its maximum, the log of the number of visible tokens. It is averaged over
    samples, heads and the rows that see more than one token.
    """
    with torch.no_grad():
        attention = attention_parts(module, x_BTD)
    visible_TT = visibility(module, x_BTD.shape[1])
    logits = attention.logits[..., visible_TT]
    if not logits.isfinite().all():
        return dict.fromkeys(BLOCK_KEYS, math.nan)
    count_T = visible_TT.sum(-1)
    entropy_BHT = torch.special.entr(attention.weights).sum(-1)[..., count_T > 1] / count_T[count_T > 1].log()
    by_head = entropy_BHT.mean((0, 2))
    return {"entropy": by_head.mean().item(), "sharpest": by_head.min().item(), "max_logit": logits.max().item()}


def query_key_share(attention: Attention) -> float:
    """(|dW_q|^2 + |dW_k|^2) / (|dW_q|^2 + |dW_k|^2 + |dW_v|^2) of the current gradients; NaN if all are 0."""
    weights = [layer.weight.grad for layer in (attention.w_q, attention.w_k, attention.w_v)]
    q, k, v = (0.0 if grad is None else grad.norm().item() ** 2 for grad in weights)
    return (q + k) / (q + k + v) if q + k + v else math.nan


def _pass(snapshot: Snapshot, attentions: list[Attention | None]) -> tuple[list[Tensor], list[Tensor], list[float]]:
    """Stream at every site on the step's batch, input of each attention, and `query_key_share` of each attention."""
    x, y = snapshot.batch()
    net, exact = snapshot.model.stream, accumulate_dtype(x.device)
    # The input of a branch's function is the output of its input scale.
    readers = [part.input_scale for part in net.sublayers if isinstance(getattr(part, "function", None), Attention)]
    taps = [*net.stream_taps, *(readers if attentions else ())]
    with (
        torch.set_grad_enabled(bool(attentions)),
        preserve_buffers(snapshot.model),
        probe_outputs(taps, gradients=False) as probe,
    ):
        loss = cross_entropy(snapshot.model(x), y)
        tensors = probe.tensors()
        if attentions:
            snapshot.model.zero_grad()
            loss.backward()
    shares = [query_key_share(attention) if attention else math.nan for attention in attentions]
    sites = len(net.stream_taps)
    return [point.to(exact) for point in tensors[:sites]], tensors[sites:], shares


def _mean(values_G: Tensor) -> float:
    return values_G.nanmean().item()


MEASURES = {COLLAPSE: on_snapshot(collapse)}
