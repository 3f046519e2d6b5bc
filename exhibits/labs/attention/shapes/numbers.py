"""Shapes of many heads and of two sequences, read off the computed arrays. numpy, float64."""

from dataclasses import dataclass

import numpy as np

from models.labs.attention import attend, attention_mask, heads

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Sizes:
    """n tokens of d_model features; h attention heads with d_k = d_model / h and d_v; m tokens of another sequence."""

    tokens: int
    d_model: int
    heads: int
    d_v: int
    others: int

    @property
    def d_k(self) -> int:
        """Entries of one head's query or key."""
        return self.d_model // self.heads


def multi_head_shapes(sizes: Sizes) -> list[tuple[str, Shape]]:
    """Arrays in multi-head self-attention, in order, with shapes. ValueError if h does not divide d_model."""
    x = np.ones((sizes.tokens, sizes.d_model))
    w_q = np.ones((sizes.d_model, sizes.d_model))
    w_v = np.ones((sizes.d_model, sizes.heads * sizes.d_v))
    parts = heads(x, w_q, w_q, w_v, sizes.heads)
    joined = np.concatenate([head.output for head in parts], axis=1)
    head = parts[0]
    w_o = np.ones((joined.shape[1], sizes.d_model))
    return [
        ("X, the tokens", x.shape),
        ("W_Q and W_K, all heads", w_q.shape),
        ("W_V, all heads", w_v.shape),
        ("q and k of one head", head.q.shape),
        ("v of one head", head.v.shape),
        ("scores and weights of one head", head.weights.shape),
        ("output of one head", head.output.shape),
        ("heads side by side", joined.shape),
        ("W_O", w_o.shape),
        ("result, as X", (joined @ w_o).shape),
    ]


def encoder_decoder_shapes(sizes: Sizes) -> dict[str, dict[str, Shape | str]]:
    """Sources and shapes of one head in each attention of an encoder (m tokens) and decoder (n tokens)."""
    attentions = {
        "encoder, self": (sizes.others, sizes.others, False),
        "decoder, self": (sizes.tokens, sizes.tokens, True),
        "decoder, cross": (sizes.tokens, sizes.others, False),
    }
    columns: dict[str, dict[str, Shape | str]] = {}
    for name, (n, m, causal) in attentions.items():
        q, k, v = np.ones((n, sizes.d_k)), np.ones((m, sizes.d_k)), np.ones((m, sizes.d_v))
        head = attend(q, k, v, divisor=sizes.d_k**0.5, mask=attention_mask(n, m, causal=causal))
        shapes = {"Q": q.shape, "K": k.shape, "V": v.shape, "weights": head.weights.shape, "output": head.output.shape}
        columns[name] = {
            "queries from": "encoder" if name.startswith("encoder") else "decoder",
            "keys and values from": "decoder" if name == "decoder, self" else "encoder",
            **shapes,
            "mask": "causal" if causal else "padding only",
        }
    return columns
