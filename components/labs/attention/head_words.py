"""Sentences about one attention head: its arithmetic, where it attends, widely copied slips, mismatched shapes."""

from collections.abc import Sequence

import numpy as np

from components.shell.text import number, vector
from models.labs.attention import Head, divisor, visible
from models.labs.attention_examples import PRINTED_Q, PROJECTIONS, ROWS

Tables = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
MOST_TOKENS = 32
WRITTEN_OUT = 6  # terms of a sum that are written out


def looks(head: Head, at: int, words: Sequence[str] = ()) -> str:
    """Which token one token attends to most, or why none; `words`: the tokens, where they are words."""
    weights = head.weights[at]
    named = [f"“{word}”" for word in words] or [f"token {place + 1}" for place in range(len(weights))]
    own = named[at][:1].upper() + named[at][1:]
    if not weights.any():
        return f"{own} sees nothing: every token it may attend to is padding. Its output is 0."
    top = int(weights.argmax())
    return f"{own} attends most to {named[top]}, with a weight of {weights[top]:.2%}."


def arithmetic(head: Head, x: np.ndarray, w_q: np.ndarray, at: int) -> str:
    """From one token's features to its output, step by step with its numbers."""
    scores, scaled, weights = head.scores[at], head.scaled[at], head.weights[at]
    lines = [
        f"**Token {at + 1}, x = {vector(x[at])}**",
        f"q = x W_Q = **{vector(head.q[at])}**; its first entry is {dot(x[at], w_q[:, 0])} = {number(head.q[at, 0])}",
    ]
    lines += [
        f"q·k{j + 1} = {dot(head.q[at], k)} = **{number(scores[j], 5)}**" for j, k in enumerate(head.k[:WRITTEN_OUT])
    ]
    if len(head.k) > WRITTEN_OUT:
        lines.append(f"all {len(head.k)} scores: {vector(scores)}")
    root = "1" if head.divisor == 1 else f"√{head.k.shape[1]} = {number(head.divisor)}"
    lines.append(f"divided by {root}, and -∞ where masked: {_masked(scaled)}")
    top = scaled.max()
    if np.isfinite(top):
        powers = np.exp(scaled - top)
        lines.append(
            f"exp of each minus the largest (which changes no weight): {vector(powers)}, with sum "
            f"{number(powers.sum())}"
        )
    lines.append(f"weights: **{shares(weights)}**, which sum to {number(weights.sum())}")
    terms = [f"{number(weight, 3)}·v{j + 1}" for j, weight in enumerate(weights) if weight > 0]
    whole = " + ".join(terms) if 0 < len(terms) <= WRITTEN_OUT else "the weighted sum of the values"
    lines.append(f"output: {whole} = **{vector(head.output[at])}**")
    return "  \n".join(lines)


def slip(name: str, tables: Tables, head: Head) -> str:
    """A widely copied slip in this example and the right values, or a note on it; "" once anything is set otherwise."""
    example = PROJECTIONS[name]
    own = (example.x, example.w_q, example.w_k, example.w_v)
    seen = visible(*head.seen.shape, causal=example.causal)
    by = divisor(example.scaling, head.k.shape[1], tables[0].shape[1])
    if not (all(map(np.array_equal, tables, own)) and np.array_equal(head.seen, seen) and head.divisor == by):
        return ""
    if name == "X times W":
        printed = ROWS["Token 1 as it is, over √4"]
        return (
            f"A widely copied worked example gives {vector(PRINTED_Q)} for the first row of Q; the right values are "
            f"{vector(head.q[0])}. It goes on to the weights {vector(printed.printed_weights)} and the output "
            f"{vector(printed.printed_output)} for token 1; from this X and W they are "
            f"{vector(head.weights[0].round(4))} and {vector(head.output[0].round(3))}."
        )
    if example.causal:
        return "Under the mask each row of weights sums to 1 over the tokens up to its own; the first row is [1, 0, 0]."
    return ""


def fits(tables: Tables) -> str:
    """Why these tables cannot be multiplied, or ""."""
    x, *matrices = tables
    if len(x) > MOST_TOKENS:
        return f"X has {len(x)} tokens; the limit here is {MOST_TOKENS}."
    for name, w in zip(("W_Q", "W_K", "W_V"), matrices, strict=True):
        if len(w) != x.shape[1]:
            return f"X has {x.shape[1]} features, so {name} needs {x.shape[1]} rows; it has {len(w)}."
    if matrices[0].shape[1] != matrices[1].shape[1]:
        return (
            f"Queries and keys must have the same size; W_Q has {matrices[0].shape[1]} columns, W_K "
            f"{matrices[1].shape[1]}."
        )
    return ""


def shares(weights: np.ndarray) -> str:
    """Weights with up to five decimals, without trailing zeros: [0.00005, 0.0067, 0.99326]."""
    return "[" + ", ".join(f"{weight:.5f}".rstrip("0").rstrip(".") for weight in weights) + "]"


def dot(left: np.ndarray, right: np.ndarray) -> str:
    """A dot product written out, if it is short."""
    if len(left) > WRITTEN_OUT:
        return f"a sum of {len(left)} products"
    return " + ".join(f"{_signed(a)}·{_signed(b)}" for a, b in zip(left, right, strict=True))


def _signed(value: float) -> str:
    return number(value) if value >= 0 else f"({number(value)})"


def _masked(values: np.ndarray) -> str:
    return "[" + ", ".join(number(value, 5) if np.isfinite(value) else "-∞" for value in values) + "]"
