"""Generation token by token, effect of a new token on earlier answers, and attention of all blocks.

Legend: T tokens, C classes.
"""

import numpy as np
import torch
from torch import Tensor

from addnorm.probe import accumulate_dtype
from models.answers import Change, Continuation, Refinement, Revision
from models.insight.lens import next_class
from models.instruments.attention import attention_in
from models.instruments.lens import class_names, lens, split_tokens, token_ids, vocabulary
from models.nets import Net
from models.spec import TASKS
from models.spec.knob import check_integer
from models.tasks.base import NO_LOSS
from models.training import Snapshot, Work
from models.training.modes import eval_mode

MAX_ANSWER_TOKENS = 200
MAX_PROMPT_TOKENS = 2000  # later tokens of a longer prompt are dropped


def continuation(
    snapshot: Snapshot, *, text: str, count: int = 1, temperature: float = 0.0, seed: int = 0, end: str = ""
) -> Work[Continuation]:
    """Continues a text by at most `count` tokens, until the net writes the `end` symbol.

    A net of a text task keeps reading the last T tokens. On any other task it stops when all T positions are full.
    Every net stops at a position that the task's loss ignores. ValueError for a text without a token of the
    vocabulary, and for a count beyond MAX_ANSWER_TOKENS.
    """
    check_integer("count", count, 1, MAX_ANSWER_TOKENS)
    cfg = snapshot.cfg
    names = class_names(cfg)
    ids = vocabulary(cfg)
    prompt = split_tokens(cfg, text)[:MAX_PROMPT_TOKENS]
    unknown = [token for token in prompt if token not in ids]
    tokens = [token for token in prompt if token in ids]
    if not tokens:
        raise ValueError("there is nothing in the prompt that the net can read: it needs one known token to begin with")
    has_sliding_window = TASKS[cfg.task].kind == "text"
    unread_tokens = max(0, len(tokens) - cfg.tokens)
    if not has_sliding_window:
        tokens = tokens[: cfg.tokens]
    context = tokens[-cfg.tokens :]
    has_loss = (snapshot.task.held_out[1][0] != NO_LOSS).tolist()
    written: list[str] = []
    probabilities: list[np.ndarray] = []
    stopped = "length"
    while len(written) < count:
        if not has_sliding_window and len(tokens) == cfg.tokens:
            stopped = "full"
            break
        if not has_loss[min(len(tokens), cfg.tokens) - 1]:
            stopped = "unasked"
            break
        p_C = _next_probabilities(snapshot.model, [ids[token] for token in tokens[-cfg.tokens :]])
        if not np.isfinite(p_C).all():
            stopped = "not finite"
            break
        probabilities.append(p_C)
        token = names[next_class(p_C, temperature, len(tokens), seed)]
        written.append(token)
        tokens.append(token)
        yield len(written) / count
        if token == end:
            stopped = "end"
            break
    return Continuation(
        written=tuple(written),
        classes=tuple(names),
        probabilities=np.stack(probabilities) if probabilities else np.empty((0, len(names)), np.float32),
        context=tuple(context),
        limit=cfg.tokens,
        unknown=tuple(unknown),
        cut=unread_tokens,
        stopped=stopped,
    )


def revision(snapshot: Snapshot, *, text: str) -> Revision:
    """Change of the net's answers at earlier positions when the last token of a text is appended.

    Computed in eval mode and float64. ValueError for fewer than two tokens.
    """
    ids = token_ids(snapshot.cfg, text)
    if len(ids) < 2:
        raise ValueError("text has one token; two are needed, one to be said first and one to be appended")
    return _revision(snapshot, ids[:-1], ids, text)


def replacement(snapshot: Snapshot, *, text: str, at: int, token: str) -> Revision:
    """Change of the net's answers at all positions when the token at position `at`, from 0, is replaced.

    ValueError for a position outside the text, and for a `token` that is not exactly one token.
    """
    original_ids = token_ids(snapshot.cfg, text)
    tokens = split_tokens(snapshot.cfg, text)
    check_integer("at", at, 0, len(tokens) - 1)
    if len(split_tokens(snapshot.cfg, token)) != 1:
        raise ValueError(f"token is {token[:20]!r}; exactly one takes the place of another")
    tokens[at] = token.strip() or token
    separator = "" if TASKS[snapshot.cfg.task].kind == "text" else " "
    revised = separator.join(tokens)
    return _revision(snapshot, original_ids, token_ids(snapshot.cfg, revised), revised)


def _revision(snapshot: Snapshot, original_ids: list[int], revised_ids: list[int], text: str) -> Revision:
    """Change of the answers between two token sequences, at the positions they share; `text` spells the revised one."""
    model = snapshot.copy()
    device = next(model.parameters()).device
    model = model.to(accumulate_dtype(device))
    before_1T, after_1T = (torch.tensor([ids], device=device) for ids in (original_ids, revised_ids))
    return Revision(
        tokens=tuple(split_tokens(snapshot.cfg, text)),
        classes=tuple(class_names(snapshot.cfg)),
        causal=_change(model, before_1T, after_1T, causal=True),
        unmasked=_change(model, before_1T, after_1T, causal=False),
    )


def refinement(snapshot: Snapshot, *, text: str) -> Refinement:
    """The lens of a text, with the attention of every block."""
    by_block = [lens(snapshot, text=text, block=block) for block in range(1, snapshot.cfg.depth + 1)]
    return Refinement(**vars(by_block[-1]) | {"attention": np.stack([block.attention for block in by_block])})


def _next_probabilities(model: Net, ids: list[int]) -> np.ndarray:
    """Probabilities (C,) of the token after `ids`."""
    with torch.no_grad(), eval_mode(model):
        logits = model(torch.tensor([ids], device=next(model.parameters()).device))
    return np.asarray(logits[0, -1].softmax(-1).cpu().numpy())


def _change(model: Net, before_1T: Tensor, after_1T: Tensor, *, causal: bool) -> Change:
    """Change of the answers between two inputs, with attention to earlier tokens only or, unless `causal`, to all."""
    for block in model.stream.blocks.values():
        attention = attention_in(block)
        if attention is not None:
            attention.causal = causal
    with torch.no_grad(), eval_mode(model):
        before = model(before_1T)[0]
        after = model(after_1T)[0, : len(before)]
    return Change(
        difference=(after - before).abs().amax(-1).double().cpu().numpy(),
        before=before.argmax(-1).int().cpu().numpy(),
        after=after.argmax(-1).int().cpu().numpy(),
    )
