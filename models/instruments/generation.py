"""A net that goes on with what was said: a token at a time,
whether that changes anything said before, and how it comes about.

Legend: T tokens, L blocks, H heads, C classes.
"""

import numpy as np
import torch
from torch import Tensor

from models.answers import Change, Continuation, Refinement, Revision
from models.insight.lens import next_class
from models.instruments.attention import attention_in
from models.instruments.lens import class_names, codes, lens, pieces, symbols
from models.nets import Net
from models.spec import TASKS
from models.tasks.base import NO_LOSS
from models.training import Still, Work
from models.training.frames import evaluating

LONGEST = 200  # tokens of one answer
KNOWN = 2000  # of a text


def continuation(
    still: Still, *, text: str, count: int = 1, temperature: float = 0.0, seed: int = 0, end: str = ""
) -> Work[Continuation]:
    """What the net says after a text: at most `count` tokens, fewer where it comes to the `end` symbol.

    Text reads its last T tokens, a window that slides along; a sequence stops when its T places are full, or where the
    task takes no loss. ValueError for a text without a known token, and for a count beyond 200.
    """
    if not 0 < count <= LONGEST:
        raise ValueError(f"count is {count!r}; legal is 1 to {LONGEST}")
    cfg, names, known = still.cfg, class_names(still.cfg), symbols(still.cfg)
    given = pieces(cfg, text)[:KNOWN]
    unknown = [one for one in given if one not in known]
    tokens = [one for one in given if one in known]
    if not tokens:
        raise ValueError("there is nothing in the prompt that the net can read: it needs one known token to begin with")
    slides = TASKS[cfg.task].kind == "text"
    cut = max(0, len(tokens) - cfg.tokens)
    if not slides:
        tokens = tokens[: cfg.tokens]
    read = tokens[-cfg.tokens :]
    asked = (still.task.held_out[1][0] != NO_LOSS).tolist()
    said: list[str] = []
    spread: list[np.ndarray] = []
    stopped = "length"
    while len(said) < count:
        if not slides and len(tokens) == cfg.tokens:
            stopped = "full"
            break
        if not asked[min(len(tokens), cfg.tokens) - 1]:
            stopped = "unasked"
            break
        p_C = _spoken(still.model, [known[one] for one in tokens[-cfg.tokens :]])
        if not np.isfinite(p_C).all():
            stopped = "not finite"
            break
        spread.append(p_C)
        said.append(names[next_class(p_C, temperature, len(tokens), seed)])
        tokens.append(said[-1])
        yield len(said) / count
        if said[-1] == end:
            stopped = "end"
            break
    return Continuation(
        said=tuple(said),
        classes=tuple(names),
        probabilities=np.stack(spread) if spread else np.empty((0, len(names)), np.float32),
        read=tuple(read),
        limit=cfg.tokens,
        unknown=tuple(unknown),
        cut=cut,
        stopped=stopped,
    )


def revision(still: Still, *, text: str) -> Revision:
    """Whether the last token of a text changes what the net says at the places before it, in eval mode and float64.

    ValueError for fewer than two tokens.
    """
    read = codes(still.cfg, text)
    if len(read) < 2:
        raise ValueError("text has one token; two are needed, one to be said first and one to be appended")
    model = still.copy()
    device = next(model.parameters()).device
    model = model if device.type == "mps" else model.double()
    x = torch.tensor([read], device=device)
    return Revision(
        tokens=tuple(pieces(still.cfg, text)),
        classes=tuple(class_names(still.cfg)),
        causal=_changed(model, x, causal=True),
        none=_changed(model, x, causal=False),
    )


def refinement(still: Still, *, text: str) -> Refinement:
    """`lens` of a text, with the attention of every block."""
    found = [lens(still, text=text, block=block) for block in range(1, still.cfg.depth + 1)]
    return Refinement(**vars(found[-1]) | {"attention": np.stack([one.attention for one in found])})


def _spoken(model: Net, read: list[int]) -> np.ndarray:
    """Probabilities (C,) of the token after those that are read."""
    with torch.no_grad(), evaluating(model):
        logits = model(torch.tensor([read], device=next(model.parameters()).device))
    return np.asarray(logits[0, -1].softmax(-1).cpu().numpy())


def _changed(model: Net, x_1T: Tensor, *, causal: bool) -> Change:
    for block in model.stream.blocks.values():
        attention = attention_in(block)
        if attention is not None:
            attention.causal = causal
    with torch.no_grad(), evaluating(model):
        before, after = model(x_1T[:, :-1])[0], model(x_1T)[0, :-1]
    return Change(
        difference=(after - before).abs().amax(-1).double().cpu().numpy(),
        before=before.argmax(-1).int().cpu().numpy(),
        after=after.argmax(-1).int().cpu().numpy(),
    )
