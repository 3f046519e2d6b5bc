"""Keys and values that are kept while a net reads token by token, against reading the whole text again.

Legend: B samples, T tokens, H heads, K head size, C classes.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from addnorm.probe import accumulate_dtype
from models.answers import Cached
from models.instruments.lens import codes, pieces
from models.nets import Net
from models.nets.branches import Attention
from models.training import Snapshot
from models.training.modes import evaluating

MIN_TOKENS = 3  # of a text that can slide by one


class KeptKeys:
    """What attention computes of the newest token alone, (B, 1, D) -> (B, 1, D), with the keys and values before it."""

    def __init__(self, attention: Attention) -> None:
        self.attention, self.place = attention, 0
        self.kept: list[Tensor] = []  # keys and values, (B, H, T, K) each

    def forward(self, x_B1D: Tensor) -> Tensor:
        a = self.attention
        q, k, v = (layer(x_B1D).unflatten(-1, (a.heads, -1)).transpose(1, 2) for layer in (a.w_q, a.w_k, a.w_v))
        q, k = self._turned(a.norm_q(q)), self._turned(a.norm_k(k))
        before = self.kept or [k[:, :, :0], v[:, :, :0]]
        keys, values = self.kept = [torch.cat(both, dim=2) for both in zip(before, (k, v), strict=True)]
        added = None if a.relative is None else a.relative(keys.shape[2], True)[:, -1:]
        mixed = F.scaled_dot_product_attention(q, keys, values, attn_mask=added, scale=a.scale)
        return a.w_o(a.norm_mid(mixed.transpose(1, 2).flatten(2)))

    def _turned(self, x_BH1K: Tensor) -> Tensor:
        """As the token at `place`, of which the module is told by as many zeros before it."""
        return self.attention.turn(F.pad(x_BH1K, (0, 0, self.place, 0)))[:, :, -1:]


def cached(snapshot: Snapshot, *, text: str) -> Cached:
    """A text read token by token with keys and values kept, in eval mode and float64, against reading it whole.

    ValueError for fewer than three tokens, and for a net without a causal mask.
    """
    if snapshot.cfg.net != "transformer" or snapshot.cfg.mask != "causal":
        raise ValueError("keys and values can be kept only by a transformer with a causal mask")
    ids = codes(snapshot.cfg, text)
    if len(ids) < MIN_TOKENS:
        raise ValueError(f"text has {len(ids)} tokens; {MIN_TOKENS} are needed to let the window slide by one")
    model = snapshot.copy()
    device = next(model.parameters()).device
    model = model.to(accumulate_dtype(device))
    x = torch.tensor([ids], device=device)
    with torch.no_grad(), evaluating(model):
        whole, slid = model(x)[0], model(x[:, 1:])[0, -1]
        memories = [_keeping(part) for part in model.modules() if isinstance(part, Attention)]
        rows = [_next(model, memories, x[:, : at + 1], at) for at in range(len(ids) - 1)]
        before = [list(memory.kept) for memory in memories]
        rows.append(_next(model, memories, x, len(ids) - 1))
        for memory, kept in zip(memories, before, strict=True):
            memory.kept = [part[:, :, 1:] for part in kept]
        stale = _next(model, memories, x[:, 1:], len(ids) - 2)
    return Cached(
        tokens=tuple(pieces(snapshot.cfg, text)),
        difference=(torch.stack(rows) - whole).abs().amax(-1).double().cpu().numpy(),
        slid=(stale - slid).abs().max().item(),
    )


def _keeping(attention: Attention) -> KeptKeys:
    kept = KeptKeys(attention)
    attention.forward = kept.forward  # type: ignore[method-assign,assignment]
    return kept


def _next(model: Net, memories: list[KeptKeys], x_1T: Tensor, place: int) -> Tensor:
    """The logits (C,) of the last token, which stands at `place`; all before it have been read."""
    for memory in memories:
        memory.place = place
    newest = model.position(model.embed(x_1T))[:, -1:]
    return model.read_out(model.stream(newest))[0, -1]
