"""Where attention looks, and what the head would say at every site of the stream (the logit lens, nostalgebraist 2020).

Legend: S sites, T tokens, D width, H heads, C classes.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from models.answers import Lens
from models.instruments.attention import attention_in, attention_weights
from models.nets.norms import TokenBatchNorm
from models.nets.stacks import DLCLStack, ResiDualStack, Stack
from models.spec import TASKS, RunConfig
from models.spec.tasks import SYMBOLS
from models.tasks import alphabet
from models.tasks.base import NO_LOSS
from models.training import Still, watching
from models.training.frames import evaluating

UNREAD = -1  # the place of a class where there is none


def lens(still: Still, *, text: str | None = None, sample: int = 0, block: int = 1) -> Lens:
    """What the net makes of a text, or of a held-out sample where
    there is no text, in eval mode, at all positions at once.

    ValueError for a text, a sample or a block that there is not.
    """
    x, y = _asked(still, text, sample)
    net = still.model.stream
    _within("block", block, 1, len(net.blocks))
    chosen = list(net.blocks.values())[block - 1]
    attention = attention_in(chosen)
    readers = [] if attention is None else [chosen["attn"].input_scale]  # type: ignore[index]
    sites = len(net.stream_taps)
    with torch.no_grad(), evaluating(still.model):
        with watching([*net.stream_taps, *net.branch_taps, *readers], gradients=False) as probe:
            still.model(x)
            seen = probe.tensors()
        looked = x.new_zeros(0, *x.shape[1:2] * 2) if attention is None else attention_weights(attention, seen[-1])[0]
        branches = [branch.expand_as(seen[0]) for branch in seen[sites : sites + len(net.branch_taps)]]
        read = READ[type(net)](net, seen[:sites], branches)
        there = [at for at, end in enumerate(read) if end is not None]
        logits_STC = still.model.read_out(torch.cat([end for end in read if end is not None]))
    asked = still.task.held_out[1][0, : x.shape[1]] != NO_LOSS
    return Lens(
        tokens=tuple(_token_names(still.cfg, x[0])),
        limit=still.cfg.tokens,
        samples=len(still.task.held_out[0]),
        classes=tuple(class_names(still.cfg)),
        batch_norm=any(isinstance(part, TokenBatchNorm) for part in still.model.modules()),
        asked=asked.cpu().numpy(),
        truth=y[0].where(y[0] != NO_LOSS, UNREAD).cpu().numpy(),
        attention=looked.float().cpu().numpy(),
        read=np.array([end is not None for end in read]),
        probabilities=logits_STC[-1].softmax(-1).cpu().numpy(),
        **_by_site(logits_STC, there, sites),
    )


def class_names(cfg: RunConfig) -> list[str]:
    """What a class is written as, (C,): in `recall` it is a value, whose symbols follow those of the keys."""
    if TASKS[cfg.task].kind == "text":
        return list(alphabet())
    first = SYMBOLS if cfg.task == "recall" else 0
    return [str(first + at) for at in range(TASKS[cfg.task].classes)]


def _by_site(logits_STC: Tensor, there: list[int], sites: int) -> dict[str, np.ndarray]:
    """The lens at the sites that are there, as rows among all of them: the last four fields of `Lens`."""
    exact = torch.float32 if logits_STC.device.type == "mps" else torch.float64
    log_STC = logits_STC.to(exact).log_softmax(-1)
    p_STC = log_STC.exp()
    chance_ST, top_ST = p_STC.max(-1)
    last_TC, said_T = p_STC[-1], top_ST[-1]
    terms_STC = last_TC * (log_STC[-1] - log_STC)
    # A class that got no chance at all at last adds nothing, whatever it got here; rounding may bring a sum below 0.
    kl_ST = torch.where(last_TC == 0, 0.0, terms_STC).sum(-1).clamp(min=0)
    numbers = {
        "top": torch.where(chance_ST.isfinite(), top_ST, UNREAD).int(),
        "chance": chance_ST.float(),
        "final_chance": p_STC.gather(-1, said_T.expand(len(there), -1)[..., None])[..., 0].float(),
        "kl": kl_ST.float(),
    }
    found = {}
    for name, rows in numbers.items():
        full = rows.new_full((sites, rows.shape[1]), UNREAD if name == "top" else math.nan)
        full[there] = rows
        found[name] = full.cpu().numpy()
    return found


# --- what the head would read if the net ended at a site: each (1, T, D), None where there is no such end ---


def _one_stream(_net: Stack, points: list[Tensor], _branches: list[Tensor]) -> list[Tensor | None]:
    return [*points]


def _two_streams(net: Stack, points: list[Tensor], branches: list[Tensor]) -> list[Tensor | None]:
    """ResiDual ends in x + N(y) wherever it ends, y the sum of x0 and all branches so far."""
    assert isinstance(net, ResiDualStack)
    collected = torch.stack([points[0], *branches]).cumsum(0)
    return [x + net.norm_collected(y) for x, y in zip(points, collected, strict=True)]


def _sums(net: Stack, points: list[Tensor], _branches: list[Tensor]) -> list[Tensor | None]:
    """DLCL: the weighted sum that is read next after a block, by
    the next one or by the head; there is none inside a block.
    """
    assert isinstance(net, DLCLStack)
    per_block = len(net.sublayers) // len(net.blocks)
    normed = [norm(y) for norm, y in zip(net.norms, points[::per_block], strict=True)]
    found: list[Tensor | None] = [None] * len(points)
    for at, weights in enumerate(net.weights):
        found[at * per_block] = sum(weight * y for weight, y in zip(weights, normed[: at + 1], strict=True))
    return found


Ends = Callable[[Stack, list[Tensor], list[Tensor]], list[Tensor | None]]
READ: dict[type[Stack], Ends] = {Stack: _one_stream, ResiDualStack: _two_streams, DLCLStack: _sums}


# --- what is read ---


def _asked(still: Still, text: str | None, sample: int) -> tuple[Tensor, Tensor]:
    """One sample x and its classes y; none are known of a text that was typed."""
    if text is None:
        x, y = still.task.held_out
        _within("sample", sample, 0, len(x) - 1)
        return x[sample : sample + 1], y[sample : sample + 1]
    typed = torch.tensor([codes(still.cfg, text)], device=next(still.model.parameters()).device)
    return typed, torch.full_like(typed, NO_LOSS)


def codes(cfg: RunConfig, text: str) -> list[int]:
    """A text as tokens: characters of the book, or symbols
    written as numbers. ValueError for what the task cannot read.
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
    for one in written:
        if one not in names and task.kind == "text":
            raise ValueError(f"the character {one!r} is not in the book's alphabet; legal are {''.join(alphabet())!r}")
        if one not in names:
            raise ValueError(
                f"{one[:20]!r} is no symbol of {cfg.task}; legal are whole numbers from 0 to {task.vocabulary - 1}"
            )
    return [names[one] for one in written]


def pieces(cfg: RunConfig, text: str) -> list[str]:
    """A text cut into what stands for a token: characters, or what stands between spaces."""
    return list(text) if TASKS[cfg.task].kind == "text" else text.split()


def symbols(cfg: RunConfig) -> dict[str, int]:
    """Every token that the net of a task can read, by how it is written."""
    task = TASKS[cfg.task]
    return {name: at for at, name in enumerate(alphabet() if task.kind == "text" else map(str, range(task.vocabulary)))}


def _token_names(cfg: RunConfig, x: Tensor) -> list[str]:
    kind = TASKS[cfg.task].kind
    if TASKS[cfg.task].vocabulary:
        return [alphabet()[at] if kind == "text" else str(at) for at in x.tolist()]
    whole = "image" if kind == "image" else "point"
    return [f"row {at + 1}" for at in range(len(x))] if len(x) > 1 else [whole]


def _within(field: str, value: int, least: int, most: int) -> None:
    if not (isinstance(value, int) and least <= value <= most):
        raise ValueError(f"{field} is {value!r}; legal is a whole number from {least} to {most}")
