"""How alike the vectors of the stream become, how many directions they use, and where attention goes.

Legend: B samples, T tokens, D width, K head size; N vectors in a set, of which there are G.
"""

import math

import numpy as np
import torch
from torch import Tensor

from addnorm.cosine import mean_cosines
from addnorm.probe import accumulate_dtype
from models.answers import Collapse
from models.instruments.attention import attention_in, attention_of, visible
from models.nets.branches import Attention
from models.training import Snapshot, Work, cross_entropy, probe_outputs, statistics_kept

SETS = 32  # samples of the batch that are measured, where each is a set
VECTORS = 256  # tokens that are measured, where the whole batch is one set
OF_SITES = ("cosine", "spread", "rank", "participation")
OF_BLOCKS = ("entropy", "sharpest", "max_logit")


def collapse(snapshot: Snapshot) -> Work[Collapse]:
    """The means of `site_numbers` by site, and of `attention_numbers` and `query_key_share` by block."""
    within = snapshot.cfg.net == "transformer" and snapshot.cfg.tokens > 1
    attentions = [attention_in(block) for block in snapshot.model.stream.blocks.values()] if within else []
    stream, inputs, shares = _pass(snapshot, attentions)
    sets = [x_BTD[:SETS] if within else x_BTD.flatten(0, 1)[None, :VECTORS] for x_BTD in stream]
    sites, heads, work = [], [], len(sets) + len(attentions)
    for x_GND in sets:
        sites.append(site_numbers(x_GND))
        yield len(sites) / work
    for attention in attentions:
        heads.append(
            attention_numbers(attention, inputs.pop(0)[:SETS]) if attention else dict.fromkeys(OF_BLOCKS, math.nan)
        )
        yield (len(sites) + len(heads)) / work
    return Collapse(
        within=within,
        sets=sets[0].shape[0],
        vectors=sets[0].shape[1],
        **{key: np.array([numbers[key] for numbers in sites], np.float32) for key in OF_SITES},
        **{key: np.array([numbers[key] for numbers in heads], np.float32) for key in OF_BLOCKS},
        query_key_share=np.array(shares, np.float32),
    )


def site_numbers(x_GND: Tensor) -> dict[str, float]:
    """Means over sets X of N vectors, with s the singular values of the uncentred X.

    `cosine` between different vectors, `spread` |X - 1 mean^T| / |X|, `rank` exp H(s / sum s), and `participation`
    (sum s^2)^2 / sum s^4. NaN where a number is not finite or no set has the quantity: zeros have no direction.
    """
    if not x_GND.isfinite().all():
        return dict.fromkeys(OF_SITES, math.nan)
    largest_G = x_GND.abs().amax((1, 2))
    # None of the numbers depends on the scale of a set, and the squares of tiny values would vanish.
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
    """exp of the entropy of the singular values (..., N) over their sum, from 1 to N (Roy & Vetterli 2007)."""
    return torch.special.entr(s / s.sum(-1, keepdim=True)).sum(-1).exp()


def attention_numbers(module: Attention, x_BTD: Tensor) -> dict[str, float]:
    """`entropy` of attention, that of the `sharpest` head, and `max_logit`; NaN where a logit is not finite.

    A row's entropy is a share of its maximum, the log of how many tokens the row may see. Means are over samples, heads
    and the rows that see more than themselves.
    """
    with torch.no_grad():
        logits_BHTT, p_BHTT, _ = attention_of(module, x_BTD)
    visible_TT = visible(module, x_BTD.shape[1])
    used = logits_BHTT[..., visible_TT]
    if not used.isfinite().all():
        return dict.fromkeys(OF_BLOCKS, math.nan)
    count_T = visible_TT.sum(-1)
    entropy_BHT = torch.special.entr(p_BHTT).sum(-1)[..., count_T > 1] / count_T[count_T > 1].log()
    by_head = entropy_BHT.mean((0, 2))
    return {"entropy": by_head.mean().item(), "sharpest": by_head.min().item(), "max_logit": used.max().item()}


def query_key_share(attention: Attention) -> float:
    """The gradients' (|dW_q|^2 + |dW_k|^2) / (|dW_q|^2 + |dW_k|^2 + |dW_v|^2); NaN where all are 0."""
    weights = [layer.weight.grad for layer in (attention.w_q, attention.w_k, attention.w_v)]
    q, k, v = (0.0 if grad is None else grad.norm().item() ** 2 for grad in weights)
    return (q + k) / (q + k + v) if q + k + v else math.nan


def _pass(snapshot: Snapshot, attentions: list[Attention | None]) -> tuple[list[Tensor], list[Tensor], list[float]]:
    """The stream at every site on the step's batch, the input of each attention, and its `query_key_share`."""
    x, y = snapshot.batch()
    net, exact = snapshot.model.stream, accumulate_dtype(x.device)
    # The input of a branch's function is the output of its input scale.
    readers = [part.input_scale for part in net.sublayers if isinstance(getattr(part, "function", None), Attention)]
    taps = [*net.stream_taps, *(readers if attentions else ())]
    with (
        torch.set_grad_enabled(bool(attentions)),
        statistics_kept(snapshot.model),
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
    """The mean over the sets that have the number."""
    return values_G.nanmean().item()
