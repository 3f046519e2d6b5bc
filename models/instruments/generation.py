"""Generation token by token, whether a new token changes what was said before, and how each token comes about.

Legend: T tokens, L blocks, H heads, C classes.
"""

import numpy as np
import torch
from torch import Tensor

from addnorm.probe import accumulate_dtype
from models.answers import Change, Continuation, Refinement, Revision
from models.insight.lens import next_class
from models.instruments.attention import attention_in
from models.instruments.lens import class_names, codes, lens, pieces, symbols
from models.nets import Net
from models.spec import TASKS
from models.spec.knob import check_whole
from models.tasks.base import NO_LOSS
from models.training import Snapshot, Work
from models.training.modes import evaluating

MAX_ANSWER_TOKENS = 200  # tokens of one answer
MAX_PROMPT_TOKENS = 2000  # tokens of a prompt, of which the rest is dropped


def continuation(
    snapshot: Snapshot, *, text: str, count: int = 1, temperature: float = 0.0, seed: int = 0, end: str = ""
) -> Work[Continuation]:
    """What the net says after a text: at most `count` tokens, fewer if it says the `end` symbol.

    A net that writes text reads the last T tokens; a sequence stops when its T places are full, or where the task takes
    no loss. ValueError for a text without a known token, and for a count beyond MAX_ANSWER_TOKENS.
    """
    check_whole("count", count, 1, MAX_ANSWER_TOKENS)
    cfg, names, known = snapshot.cfg, class_names(snapshot.cfg), symbols(snapshot.cfg)
    prompt = pieces(cfg, text)[:MAX_PROMPT_TOKENS]
    unknown = [token for token in prompt if token not in known]
    tokens = [token for token in prompt if token in known]
    if not tokens:
        raise ValueError("there is nothing in the prompt that the net can read: it needs one known token to begin with")
    slides = TASKS[cfg.task].kind == "text"
    cut = max(0, len(tokens) - cfg.tokens)
    if not slides:
        tokens = tokens[: cfg.tokens]
    read = tokens[-cfg.tokens :]
    asked = (snapshot.task.held_out[1][0] != NO_LOSS).tolist()
    written: list[str] = []
    probabilities: list[np.ndarray] = []
    stopped = "length"
    while len(written) < count:
        if not slides and len(tokens) == cfg.tokens:
            stopped = "full"
            break
        if not asked[min(len(tokens), cfg.tokens) - 1]:
            stopped = "unasked"
            break
        p_C = _next_probabilities(snapshot.model, [known[token] for token in tokens[-cfg.tokens :]])
        if not np.isfinite(p_C).all():
            stopped = "not finite"
            break
        probabilities.append(p_C)
        written.append(names[next_class(p_C, temperature, len(tokens), seed)])
        tokens.append(written[-1])
        yield len(written) / count
        if written[-1] == end:
            stopped = "end"
            break
    return Continuation(
        said=tuple(written),
        classes=tuple(names),
        probabilities=np.stack(probabilities) if probabilities else np.empty((0, len(names)), np.float32),
        read=tuple(read),
        limit=cfg.tokens,
        unknown=tuple(unknown),
        cut=cut,
        stopped=stopped,
    )


def revision(snapshot: Snapshot, *, text: str) -> Revision:
    """Whether the last token of a text changes what the net says at the places before it, in eval mode and float64.

    ValueError for fewer than two tokens.
    """
    ids = codes(snapshot.cfg, text)
    if len(ids) < 2:
        raise ValueError("text has one token; two are needed, one to be said first and one to be appended")
    return _revised(snapshot, ids[:-1], ids, text)


def replacement(snapshot: Snapshot, *, text: str, at: int, token: str) -> Revision:
    """What another token at a place of a text, counted from 0, changes of what the net says at all places.

    ValueError for a place that the text does not have, and for what is no token.
    """
    before, tokens = codes(snapshot.cfg, text), pieces(snapshot.cfg, text)
    check_whole("at", at, 0, len(tokens) - 1)
    if len(pieces(snapshot.cfg, token)) != 1:
        raise ValueError(f"token is {token[:20]!r}; exactly one takes the place of another")
    tokens[at] = token.strip() or token
    changed = ("" if TASKS[snapshot.cfg.task].kind == "text" else " ").join(tokens)
    return _revised(snapshot, before, codes(snapshot.cfg, changed), changed)


def _revised(snapshot: Snapshot, before: list[int], after: list[int], text: str) -> Revision:
    """What another text changes at the places that both have, in eval mode and float64."""
    model = snapshot.copy()
    device = next(model.parameters()).device
    model = model.to(accumulate_dtype(device))
    both = torch.tensor([before], device=device), torch.tensor([after], device=device)
    return Revision(
        tokens=tuple(pieces(snapshot.cfg, text)),
        classes=tuple(class_names(snapshot.cfg)),
        causal=_changed(model, *both, causal=True),
        none=_changed(model, *both, causal=False),
    )


def refinement(snapshot: Snapshot, *, text: str) -> Refinement:
    """The lens of a text, with the attention of every block."""
    by_block = [lens(snapshot, text=text, block=block) for block in range(1, snapshot.cfg.depth + 1)]
    return Refinement(**vars(by_block[-1]) | {"attention": np.stack([block.attention for block in by_block])})


def _next_probabilities(model: Net, ids: list[int]) -> np.ndarray:
    """The probabilities (C,) of the token after these."""
    with torch.no_grad(), evaluating(model):
        logits = model(torch.tensor([ids], device=next(model.parameters()).device))
    return np.asarray(logits[0, -1].softmax(-1).cpu().numpy())


def _changed(model: Net, before_1T: Tensor, after_1T: Tensor, *, causal: bool) -> Change:
    for block in model.stream.blocks.values():
        attention = attention_in(block)
        if attention is not None:
            attention.causal = causal
    with torch.no_grad(), evaluating(model):
        before = model(before_1T)[0]
        after = model(after_1T)[0, : len(before)]
    return Change(
        difference=(after - before).abs().amax(-1).double().cpu().numpy(),
        before=before.argmax(-1).int().cpu().numpy(),
        after=after.argmax(-1).int().cpu().numpy(),
    )
