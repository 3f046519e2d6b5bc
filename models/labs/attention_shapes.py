"""The shapes in attention with many heads and between two sequences, taken from arrays that went through it."""

from dataclasses import dataclass

import numpy as np

from models.labs.attention import attend, heads, visible

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


def many_heads(sizes: Sizes) -> list[tuple[str, Shape]]:
    """The arrays in self-attention with h heads, in order, with shapes. ValueError if h does not divide d_model."""
    x = np.ones((sizes.tokens, sizes.d_model))
    w_q = np.ones((sizes.d_model, sizes.d_model))
    w_v = np.ones((sizes.d_model, sizes.heads * sizes.d_v))
    found = heads(x, w_q, w_q, w_v, sizes.heads)
    joined = np.concatenate([head.output for head in found], axis=1)
    w_o = np.ones((joined.shape[1], sizes.d_model))
    one = found[0]
    return [
        ("X, the tokens", x.shape),
        ("W_Q and W_K, all heads", w_q.shape),
        ("W_V, all heads", w_v.shape),
        ("q and k of one head", one.q.shape),
        ("v of one head", one.v.shape),
        ("scores and weights of one head", one.weights.shape),
        ("output of one head", one.output.shape),
        ("heads side by side", joined.shape),
        ("W_O", w_o.shape),
        ("result, as X", (joined @ w_o).shape),
    ]


def two_sequences(sizes: Sizes) -> dict[str, dict[str, Shape | str]]:
    """One head of each attention in an encoder (m tokens) and decoder (n tokens): sources and shapes."""
    ends = {
        "encoder, self": (sizes.others, sizes.others, False),
        "decoder, self": (sizes.tokens, sizes.tokens, True),
        "decoder, cross": (sizes.tokens, sizes.others, False),
    }
    found: dict[str, dict[str, Shape | str]] = {}
    for name, (n, m, causal) in ends.items():
        q, k, v = np.ones((n, sizes.d_k)), np.ones((m, sizes.d_k)), np.ones((m, sizes.d_v))
        head = attend(q, k, v, by=sizes.d_k**0.5, seen=visible(n, m, causal=causal))
        found[name] = {
            "queries from": "encoder" if name.startswith("encoder") else "decoder",
            "keys and values from": "decoder" if name == "decoder, self" else "encoder",
            "Q": q.shape,
            "K": k.shape,
            "V": v.shape,
            "weights": head.weights.shape,
            "output": head.output.shape,
            "mask": "causal" if causal else "padding only",
        }
    return found
