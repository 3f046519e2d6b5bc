"""Shapes: many attention heads in parallel, and attention between two sequences."""

from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated

import pandas as pd
import streamlit as st

from components.controls import form
from components.shell.text import badge, named_table
from components.stage.view import sentence
from models.labs.attention_shapes import Shape, Sizes, many_heads, two_sequences
from models.spec.knob import Knob
from models.spec.settings import Settings

KEY = "attention_shapes"


@dataclass(frozen=True)
class Given(Settings):
    """The sizes, at first those of an example."""

    columns = (3,)

    tokens: Annotated[int, Knob("Tokens n", "Of the sequence with the queries.", 1, 32)] = 5
    d_model: Annotated[int, Knob("Features d_model", "Of a token.", 1, 1024)] = 512
    heads: Annotated[int, Knob("Heads h", "They share the features equally: d_k = d_model / h.", 1, 32)] = 8
    d_v: Annotated[int, Knob("Entries of a value d_v", "Equal to d_k in most nets.", 1, 256)] = 64
    others: Annotated[int, Knob("Tokens of the other sequence m", "The input of an encoder.", 1, 32)] = 7


def draw() -> None:
    """The sizes, and both tables."""
    sizes = _sizes()
    st.markdown(f"**Many heads** {badge('formula')}")
    try:
        steps = many_heads(sizes)
    except ValueError as problem:
        st.error(f"{sentence(str(problem))} d_k = d_model / h must be a whole number.")
        return
    st.markdown(said(sizes, dict(steps)))
    named_table(
        "Shapes of many heads",
        {"what": [name for name, _ in steps], "shape": [str(shape) for _, shape in steps]},
        "content",
    )
    st.markdown(f"**Between two sequences** {badge('formula')}")
    n, m, d_k, d_v = sizes.tokens, sizes.others, sizes.d_k, sizes.d_v
    st.markdown(
        "In cross-attention queries come from the decoder's sequence, keys and values from the encoder's. One head: "
        f"Q (n, d_k) = ({n}, {d_k}), K (m, d_k) = ({m}, {d_k}), V (m, d_v) = ({m}, {d_v}) give (n, d_v) = ({n}, "
        f"{d_v}). **A decoder alone, like the nets of the playground, has no cross-attention:** it has only one "
        "sequence. A net with both is trained under “Encoder and decoder”."
    )
    table = pd.DataFrame(
        {name: {row: str(cell) for row, cell in rows.items()} for name, rows in two_sequences(sizes).items()}
    )
    named_table("Shapes of self-attention and cross-attention", table.reset_index(names="one head of"), "content")
    st.caption("Every shape is taken from arrays of these sizes that went through this page's attention.")


def said(sizes: Sizes, shapes: dict[str, Shape]) -> str:
    """The shapes of the heads' outputs, and the number of weights, in words."""
    head, joined = shapes["output of one head"], shapes["heads side by side"]
    weights = sum(
        shapes[name][0] * shapes[name][1] * times
        for name, times in (("W_Q and W_K, all heads", 2), ("W_V, all heads", 1), ("W_O", 1))
    )
    count = (
        f"Each of the {sizes.heads} heads gives {head}; side by side they are {joined}"
        if sizes.heads > 1
        else f"It gives {head}"
    )
    return (
        f"{count}, and W_O brings them back to {shapes['result, as X']}. Together {weights:,} weights, without biases."
    )


def _sizes() -> Sizes:
    given = form.draw(Given, KEY)
    again = partial(form.put, KEY, **asdict(Given()))
    st.button("Load example: 5 tokens, 8 heads, values of 64", key=f"{KEY}_again", on_click=again)
    return Sizes(**asdict(given))
