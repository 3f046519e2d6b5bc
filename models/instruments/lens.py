"""Attention of one block, and the output head's predictions at every site (logit lens, nostalgebraist 2020).

Legend: S sites, T tokens, D width, C classes.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from addnorm.probe import accumulate_dtype
from models.answers import Lens
from models.instruments.attention import attention_in, attention_parts
from models.nets.stacks import (
    AttentionResidualStack,
    DLCLStack,
    HyperStack,
    ResiDualStack,
    ScalarStack,
    Stack,
)
from models.spec import TASKS, RunConfig
from models.spec.knob import check_integer
from models.spec.plan import uses_batch_statistics
from models.spec.tasks import SYMBOLS
from models.tasks import alphabet
from models.tasks.base import NO_LOSS
from models.training import Snapshot, probe_outputs
from models.training.modes import eval_mode

NO_CLASS = -1


def lens(snapshot: Snapshot, *, text: str | None = None, sample: int = 0, block: int = 1) -> Lens:
    """Predictions at every site and position for a text, or for a held-out sample without a text, in eval mode.

    `block` selects the block whose attention is returned. ValueError for an illegal text, sample or block.
    """
    x, y = _inputs(snapshot, text, sample)
    net = snapshot.model.stream
    check_integer("block", block, 1, len(net.blocks))
    shown_block = list(net.blocks.values())[block - 1]
    attention = attention_in(shown_block)
    attention_inputs = [] if attention is None else [shown_block["attn"].input_scale]  # type: ignore[index]
    sites = len(net.stream_taps)
    with torch.no_grad(), eval_mode(snapshot.model):
        with probe_outputs([*net.stream_taps, *net.branch_taps, *attention_inputs], gradients=False) as probe:
            snapshot.model(x)
            tensors = probe.tensors()
        if attention is None:
            weights = x.new_zeros(0, *x.shape[1:2] * 2)
        else:
            weights = attention_parts(attention, tensors[-1]).weights[0]
        branches = [branch.expand_as(tensors[0]) for branch in tensors[sites : sites + len(net.branch_taps)]]
        head_inputs = HEAD_INPUTS[type(net)](net, tensors[:sites], branches)
        readable = [head_input is not None for head_input in head_inputs]
        logits_STC = snapshot.model.read_out(
            torch.cat([head_input for head_input in head_inputs if head_input is not None])
        )
    has_loss = snapshot.task.held_out[1][0, : x.shape[1]] != NO_LOSS
    return Lens(
        tokens=tuple(_token_names(snapshot.cfg, x[0])),
        limit=snapshot.cfg.tokens,
        samples=len(snapshot.task.held_out[0]),
        classes=tuple(class_names(snapshot.cfg)),
        batch_norm=uses_batch_statistics(snapshot.cfg),
        has_loss=has_loss.cpu().numpy(),
        truth=y[0].where(y[0] != NO_LOSS, NO_CLASS).cpu().numpy(),
        attention=weights.float().cpu().numpy(),
        readable=np.array(readable),
        probabilities=logits_STC[-1].softmax(-1).cpu().numpy(),
        **_by_site(logits_STC, np.array(readable)),
    )


def class_names(cfg: RunConfig) -> list[str]:
    """The written form of each class, (C,). In `recall` classes are values, whose symbols follow those of the keys."""
    if TASKS[cfg.task].kind == "text":
        return list(alphabet())
    offset = SYMBOLS if cfg.task == "recall" else 0
    return [str(offset + index) for index in range(TASKS[cfg.task].classes)]


def _by_site(logits_STC: Tensor, readable_S: np.ndarray) -> dict[str, np.ndarray]:
    """Fields of `Lens` by site and position, from the logits at the readable sites; NO_CLASS or NaN at the others."""
    log_STC = logits_STC.to(accumulate_dtype(logits_STC.device)).log_softmax(-1)
    p_STC = log_STC.exp()
    max_p_ST, top_ST = p_STC.max(-1)
    last_TC, final_T = p_STC[-1], top_ST[-1]
    terms_STC = last_TC * (log_STC[-1] - log_STC)
    # A class whose final probability is 0 contributes 0, not NaN. Rounding may make a sum negative.
    kl_ST = torch.where(last_TC == 0, 0.0, terms_STC).sum(-1).clamp(min=0)
    numbers = {
        "top": torch.where(max_p_ST.isfinite(), top_ST, NO_CLASS).int(),
        "probability": max_p_ST.float(),
        "final_probability": p_STC.gather(-1, final_T.expand(len(p_STC), -1)[..., None])[..., 0].float(),
        "kl": kl_ST.float(),
    }
    by_site = {}
    for name, rows in numbers.items():
        all_sites = rows.new_full((len(readable_S), rows.shape[1]), NO_CLASS if name == "top" else math.nan)
        all_sites[torch.from_numpy(readable_S).to(rows.device)] = rows
        by_site[name] = all_sites.cpu().numpy()
    return by_site


# --- the output head's input if the net ended at each site, (1, T, D); None at sites where it cannot end ---


def _one_stream(_net: Stack, points: list[Tensor], _branches: list[Tensor]) -> list[Tensor | None]:
    return [*points]


def _two_streams(net: Stack, points: list[Tensor], branches: list[Tensor]) -> list[Tensor | None]:
    """ResiDual: x + N(y), with y the sum of x0 and all branches up to the site."""
    assert isinstance(net, ResiDualStack)
    collected = torch.stack([points[0], *branches]).cumsum(0)
    return [x + net.norm_collected(y) for x, y in zip(points, collected, strict=True)]


def _stream_sums(net: Stack, points: list[Tensor], _branches: list[Tensor]) -> list[Tensor | None]:
    """The sum of n streams, n times their mean."""
    assert isinstance(net, HyperStack)
    return [net.streams * x for x in points]


def _layer_sums(net: Stack, points: list[Tensor], _branches: list[Tensor]) -> list[Tensor | None]:
    """DLCL: the weighted sum that the next block or the head reads; None inside a block."""
    assert isinstance(net, DLCLStack)
    per_block = len(net.sublayers) // len(net.blocks)
    normed = [norm(y) for norm, y in zip(net.norms, points[::per_block], strict=True)]
    sums: list[Tensor | None] = [None] * len(points)
    for block, weights in enumerate(net.weights):
        sums[block * per_block] = sum(weight * y for weight, y in zip(weights, normed[: block + 1], strict=True))
    return sums


HeadInputs = Callable[[Stack, list[Tensor], list[Tensor]], list[Tensor | None]]
HEAD_INPUTS: dict[type[Stack], HeadInputs] = {
    Stack: _one_stream,
    ScalarStack: _one_stream,
    ResiDualStack: _two_streams,
    DLCLStack: _layer_sums,
    HyperStack: _stream_sums,
    AttentionResidualStack: _one_stream,
}


# --- texts ---


def _inputs(snapshot: Snapshot, text: str | None, sample: int) -> tuple[Tensor, Tensor]:
    """One sample x and its classes y, all NO_LOSS for a typed text."""
    if text is None:
        x, y = snapshot.task.held_out
        check_integer("sample", sample, 0, len(x) - 1)
        return x[sample : sample + 1], y[sample : sample + 1]
    typed = torch.tensor([token_ids(snapshot.cfg, text)], device=next(snapshot.model.parameters()).device)
    return typed, torch.full_like(typed, NO_LOSS)


def token_ids(cfg: RunConfig, text: str) -> list[int]:
    """The token ids of a text: characters of the book, or symbols written as numbers.

    ValueError for a text that the task cannot read.
    """
    task = TASKS[cfg.task]
    if not task.vocabulary:
        raise ValueError(f"text is {text[:20]!r}; {cfg.task} has none: choose one of its held-out samples")
    tokens, ids = split_tokens(cfg, text), vocabulary(cfg)
    if not 1 <= len(tokens) <= cfg.tokens:
        raise ValueError(
            f"text has {len(tokens)} tokens; legal are 1 to {cfg.tokens}, the context that the net was trained on"
        )
    for token in tokens:
        if token not in ids and task.kind == "text":
            raise ValueError(
                f"the character {token!r} is not in the book's alphabet; legal are {''.join(alphabet())!r}"
            )
        if token not in ids:
            raise ValueError(
                f"{token[:20]!r} is not a symbol of {cfg.task}; legal are whole numbers from 0 to {task.vocabulary - 1}"
            )
    return [ids[token] for token in tokens]


def split_tokens(cfg: RunConfig, text: str) -> list[str]:
    """A text split into its tokens: characters of the book, otherwise words between spaces."""
    return list(text) if TASKS[cfg.task].kind == "text" else text.split()


def vocabulary(cfg: RunConfig) -> dict[str, int]:
    """The id of every token of a task, by its written form."""
    task = TASKS[cfg.task]
    tokens = alphabet() if task.kind == "text" else map(str, range(task.vocabulary))
    return {token: token_id for token_id, token in enumerate(tokens)}


def _token_names(cfg: RunConfig, x: Tensor) -> list[str]:
    """Names of a sample's tokens: symbols, rows of an image, or the whole sample."""
    kind = TASKS[cfg.task].kind
    if TASKS[cfg.task].vocabulary:
        return [alphabet()[token_id] if kind == "text" else str(token_id) for token_id in x.tolist()]
    if len(x) > 1:
        return [f"row {index + 1}" for index in range(len(x))]
    return ["image" if kind == "image" else "point"]
