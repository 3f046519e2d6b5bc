"""Where attention looks, and what the output head would say at every site (logit lens, nostalgebraist 2020).

Legend: S sites, T tokens, D width, H heads, C classes.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from addnorm.probe import accumulate_dtype
from models.answers import Lens
from models.instruments.attention import attention_in, attention_weights
from models.nets.stacks import DLCLStack, ResiDualStack, Stack
from models.spec import TASKS, RunConfig
from models.spec.knob import check_whole
from models.spec.plan import normed_over_batch
from models.spec.tasks import SYMBOLS
from models.tasks import alphabet
from models.tasks.base import NO_LOSS
from models.training import Snapshot, probe_outputs
from models.training.modes import evaluating

UNREAD = -1  # stands for a class where there is none


def lens(snapshot: Snapshot, *, text: str | None = None, sample: int = 0, block: int = 1) -> Lens:
    """What the net makes of a text, or without one of a held-out sample, at all positions, in eval mode.

    ValueError for a text, a sample or a block that there is not.
    """
    x, y = _inputs(snapshot, text, sample)
    net = snapshot.model.stream
    check_whole("block", block, 1, len(net.blocks))
    chosen = list(net.blocks.values())[block - 1]
    attention = attention_in(chosen)
    readers = [] if attention is None else [chosen["attn"].input_scale]  # type: ignore[index]
    sites = len(net.stream_taps)
    with torch.no_grad(), evaluating(snapshot.model):
        with probe_outputs([*net.stream_taps, *net.branch_taps, *readers], gradients=False) as probe:
            snapshot.model(x)
            tensors = probe.tensors()
        weights = (
            x.new_zeros(0, *x.shape[1:2] * 2) if attention is None else attention_weights(attention, tensors[-1])[0]
        )
        branches = [branch.expand_as(tensors[0]) for branch in tensors[sites : sites + len(net.branch_taps)]]
        ends = ENDS[type(net)](net, tensors[:sites], branches)
        read = [at for at, end in enumerate(ends) if end is not None]
        logits_STC = snapshot.model.read_out(torch.cat([end for end in ends if end is not None]))
    asked = snapshot.task.held_out[1][0, : x.shape[1]] != NO_LOSS
    return Lens(
        tokens=tuple(_token_names(snapshot.cfg, x[0])),
        limit=snapshot.cfg.tokens,
        samples=len(snapshot.task.held_out[0]),
        classes=tuple(class_names(snapshot.cfg)),
        batch_norm=normed_over_batch(snapshot.cfg),
        asked=asked.cpu().numpy(),
        truth=y[0].where(y[0] != NO_LOSS, UNREAD).cpu().numpy(),
        attention=weights.float().cpu().numpy(),
        read=np.array([end is not None for end in ends]),
        probabilities=logits_STC[-1].softmax(-1).cpu().numpy(),
        **_by_site(logits_STC, read, sites),
    )


def class_names(cfg: RunConfig) -> list[str]:
    """How each class is written, (C,). In `recall` a class is a value, whose symbols come after those of the keys."""
    if TASKS[cfg.task].kind == "text":
        return list(alphabet())
    first = SYMBOLS if cfg.task == "recall" else 0
    return [str(first + at) for at in range(TASKS[cfg.task].classes)]


def _by_site(logits_STC: Tensor, read: list[int], sites: int) -> dict[str, np.ndarray]:
    """The last four fields of `Lens`: numbers at the sites that are read, blanks at the others."""
    log_STC = logits_STC.to(accumulate_dtype(logits_STC.device)).log_softmax(-1)
    p_STC = log_STC.exp()
    max_p_ST, top_ST = p_STC.max(-1)
    last_TC, final_T = p_STC[-1], top_ST[-1]
    terms_STC = last_TC * (log_STC[-1] - log_STC)
    # A class whose final probability is 0 adds nothing, whatever it had here; rounding may bring a sum below 0.
    kl_ST = torch.where(last_TC == 0, 0.0, terms_STC).sum(-1).clamp(min=0)
    numbers = {
        "top": torch.where(max_p_ST.isfinite(), top_ST, UNREAD).int(),
        "probability": max_p_ST.float(),
        "final_probability": p_STC.gather(-1, final_T.expand(len(read), -1)[..., None])[..., 0].float(),
        "kl": kl_ST.float(),
    }
    by_site = {}
    for name, rows in numbers.items():
        full = rows.new_full((sites, rows.shape[1]), UNREAD if name == "top" else math.nan)
        full[read] = rows
        by_site[name] = full.cpu().numpy()
    return by_site


# --- what the output head would read if the net ended at each site, (1, T, D); None where it cannot end there ---


def _one_stream(_net: Stack, points: list[Tensor], _branches: list[Tensor]) -> list[Tensor | None]:
    return [*points]


def _two_streams(net: Stack, points: list[Tensor], branches: list[Tensor]) -> list[Tensor | None]:
    """ResiDual: x + N(y), with y the sum of x0 and all branches so far."""
    assert isinstance(net, ResiDualStack)
    collected = torch.stack([points[0], *branches]).cumsum(0)
    return [x + net.norm_collected(y) for x, y in zip(points, collected, strict=True)]


def _sums(net: Stack, points: list[Tensor], _branches: list[Tensor]) -> list[Tensor | None]:
    """DLCL: the weighted sum that the next block or the head reads; there is none inside a block."""
    assert isinstance(net, DLCLStack)
    per_block = len(net.sublayers) // len(net.blocks)
    normed = [norm(y) for norm, y in zip(net.norms, points[::per_block], strict=True)]
    ends: list[Tensor | None] = [None] * len(points)
    for at, weights in enumerate(net.weights):
        ends[at * per_block] = sum(weight * y for weight, y in zip(weights, normed[: at + 1], strict=True))
    return ends


Ends = Callable[[Stack, list[Tensor], list[Tensor]], list[Tensor | None]]
ENDS: dict[type[Stack], Ends] = {Stack: _one_stream, ResiDualStack: _two_streams, DLCLStack: _sums}


# --- texts ---


def _inputs(snapshot: Snapshot, text: str | None, sample: int) -> tuple[Tensor, Tensor]:
    """One sample x and its classes y, none of which are known for a typed text."""
    if text is None:
        x, y = snapshot.task.held_out
        check_whole("sample", sample, 0, len(x) - 1)
        return x[sample : sample + 1], y[sample : sample + 1]
    typed = torch.tensor([codes(snapshot.cfg, text)], device=next(snapshot.model.parameters()).device)
    return typed, torch.full_like(typed, NO_LOSS)


def codes(cfg: RunConfig, text: str) -> list[int]:
    """The token ids of a text: characters of the book, or symbols written as numbers.

    ValueError for a text that the task cannot read.
    """
    task = TASKS[cfg.task]
    if not task.vocabulary:
        raise ValueError(f"text is {text[:20]!r}; {cfg.task} has none: choose one of its held-out samples")
    written = pieces(cfg, text)
    if not 1 <= len(written) <= cfg.tokens:
        raise ValueError(
            f"text has {len(written)} tokens; legal are 1 to {cfg.tokens}, the context that the net was trained on"
        )
    names = symbols(cfg)
    for piece in written:
        if piece not in names and task.kind == "text":
            raise ValueError(
                f"the character {piece!r} is not in the book's alphabet; legal are {''.join(alphabet())!r}"
            )
        if piece not in names:
            raise ValueError(
                f"{piece[:20]!r} is not a symbol of {cfg.task}; legal are whole numbers from 0 to {task.vocabulary - 1}"
            )
    return [names[piece] for piece in written]


def pieces(cfg: RunConfig, text: str) -> list[str]:
    """A text cut into its tokens: characters, or the words between spaces."""
    return list(text) if TASKS[cfg.task].kind == "text" else text.split()


def symbols(cfg: RunConfig) -> dict[str, int]:
    """The id of every token that a task's net can read, by how the token is written."""
    task = TASKS[cfg.task]
    return {name: at for at, name in enumerate(alphabet() if task.kind == "text" else map(str, range(task.vocabulary)))}


def _token_names(cfg: RunConfig, x: Tensor) -> list[str]:
    kind = TASKS[cfg.task].kind
    if TASKS[cfg.task].vocabulary:
        return [alphabet()[at] if kind == "text" else str(at) for at in x.tolist()]
    whole = "image" if kind == "image" else "point"
    return [f"row {at + 1}" for at in range(len(x))] if len(x) > 1 else [whole]
