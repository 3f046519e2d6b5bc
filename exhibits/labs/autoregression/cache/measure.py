"""Reading token by token with a cache of keys and values, compared with reading the whole text at once.

Legend: B samples, T tokens, H heads, K head size, C classes.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from addnorm.probe import accumulate_dtype
from exhibits.labs.autoregression.cache.answer import CACHED, Cached
from models.instruments import on_snapshot
from models.instruments.lens import split_tokens, token_ids
from models.nets import Net
from models.nets.branches import Attention
from models.training import Snapshot
from models.training.modes import eval_mode

MIN_TOKENS = 3  # of a text whose window can slide by one token


class KeyValueCache:
    """Attention for the newest token alone, (B, 1, D) -> (B, 1, D), with cached keys and values of earlier tokens."""

    def __init__(self, attention: Attention) -> None:
        self.attention = attention
        self.position = 0  # of the newest token
        self.keys_values: list[Tensor] = []  # (B, H, T, K) each; empty before the first token

    def forward(self, x_B1D: Tensor) -> Tensor:
        a = self.attention
        q, k, v = (layer(x_B1D).unflatten(-1, (a.heads, -1)).transpose(1, 2) for layer in (a.w_q, a.w_k, a.w_v))
        q, k = self._rotate(a.norm_q(q)), self._rotate(a.norm_k(k))
        v = a.value_residual(v)
        if self.keys_values:
            k, v = (torch.cat(pair, dim=2) for pair in zip(self.keys_values, (k, v), strict=True))
        self.keys_values = [k, v]
        bias = None if a.relative is None else a.relative(k.shape[2], True)[:, -1:]
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=a.scale)
        return a.w_o(a.norm_mid(mixed.transpose(1, 2).flatten(2)))

    def _rotate(self, x_BH1K: Tensor) -> Tensor:
        """Applies the attention's rotation for `position`; zeros in front put the token there."""
        return self.attention.rotation(F.pad(x_BH1K, (0, 0, self.position, 0)))[:, :, -1:]


def cached_reading(snapshot: Snapshot, *, text: str) -> Cached:
    """Compares reading a text token by token with a cache to reading it at once, in eval mode and float64.

    ValueError for fewer than MIN_TOKENS tokens, and for a net without a causal mask.
    """
    if snapshot.cfg.net != "transformer" or snapshot.cfg.mask != "causal":
        raise ValueError("keys and values can be kept only by a transformer with a causal mask")
    ids = token_ids(snapshot.cfg, text)
    if len(ids) < MIN_TOKENS:
        raise ValueError(f"text has {len(ids)} tokens; {MIN_TOKENS} are needed to let the window slide by one")
    model = snapshot.copy()
    device = next(model.parameters()).device
    model = model.to(accumulate_dtype(device))
    x = torch.tensor([ids], device=device)
    with torch.no_grad(), eval_mode(model):
        at_once_TC = model(x)[0]
        slid_C = model(x[:, 1:])[0, -1]
        caches = [_install_cache(part) for part in model.modules() if isinstance(part, Attention)]
        rows = [_next_logits(model, caches, x[:, : at + 1], at) for at in range(len(ids) - 1)]
        before_last = [cache.keys_values for cache in caches]
        rows.append(_next_logits(model, caches, x, len(ids) - 1))
        for cache, keys_values in zip(caches, before_last, strict=True):
            cache.keys_values = [tensor[:, :, 1:] for tensor in keys_values]
        stale_C = _next_logits(model, caches, x[:, 1:], len(ids) - 2)
    return Cached(
        tokens=tuple(split_tokens(snapshot.cfg, text)),
        difference=(torch.stack(rows) - at_once_TC).abs().amax(-1).double().cpu().numpy(),
        slid=(stale_C - slid_C).abs().max().item(),
    )


def _install_cache(attention: Attention) -> KeyValueCache:
    cache = KeyValueCache(attention)
    attention.forward = cache.forward  # type: ignore[method-assign,assignment]
    return cache


def _next_logits(model: Net, caches: list[KeyValueCache], x_1T: Tensor, position: int) -> Tensor:
    """Logits (C,) of the last token, which stands at `position`; the caches have read all tokens before it."""
    for cache in caches:
        cache.position = position
    newest = model.position(model.embed(x_1T))[:, -1:]
    return model.read_out(model.stream(newest))[0, -1]


MEASURES = {CACHED: on_snapshot(cached_reading)}
NETS = ("transformer",)
EXAMPLES = {CACHED: {"text": "Call me Ish"}}
