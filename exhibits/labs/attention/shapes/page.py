"""Shapes: many attention heads in parallel, and attention between two sequences."""

import math
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated

import pandas as pd
import streamlit as st

from components.controls import form
from components.labs.parts import draw_finding
from components.player.view import as_sentence
from components.shell.text import named_table
from exhibits.labs.attention.shapes.numbers import Shape, Sizes, encoder_decoder_shapes, multi_head_shapes
from models.content import Texts
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/attention/shapes")
KEY = "attention_shapes"


@dataclass(frozen=True)
class ShapeSizes(Settings):
    columns = (3,)

    tokens: Annotated[int, Knob("Tokens n", 1, 32)] = 5
    d_model: Annotated[int, Knob("Features d_model", 1, 1024)] = 512
    heads: Annotated[int, Knob("Heads h", 1, 32)] = 8
    d_v: Annotated[int, Knob("Entries of a value d_v", 1, 256)] = 64
    others: Annotated[int, Knob("Tokens of the other sequence m", 1, 32)] = 7


def draw() -> None:
    st.subheader("Shapes", anchor=False)
    sizes = Sizes(**asdict(form.draw(ShapeSizes, KEY)))
    reset = partial(form.put, KEY, **asdict(ShapeSizes()))
    st.button("Reset to 5 tokens, 8 heads, values of 64", key=f"{KEY}_again", on_click=reset)
    draw_finding("Many heads")
    try:
        shapes = dict(multi_head_shapes(sizes))
    except ValueError as problem:
        st.error(TEXTS("heads do not divide", problem=as_sentence(str(problem))))
        return
    st.markdown(heads_sentence(sizes, shapes))
    columns = {"what": list(shapes), "shape": list(map(str, shapes.values()))}
    named_table("Shapes of many heads", columns, "content")
    draw_finding("Between two sequences")
    st.markdown(TEXTS("between two sequences", n=sizes.tokens, m=sizes.others, d_k=sizes.d_k, d_v=sizes.d_v))
    table = pd.DataFrame(encoder_decoder_shapes(sizes)).map(str)
    named_table("Shapes of self-attention and cross-attention", table.reset_index(names="one head of"), "content")
    st.caption(TEXTS("measured shapes"))


def heads_sentence(sizes: Sizes, shapes: dict[str, Shape]) -> str:
    """The shapes of the heads' outputs, and the number of weights."""
    output, joined = shapes["output of one head"], shapes["heads side by side"]
    counts = {"W_Q and W_K, all heads": 2, "W_V, all heads": 1, "W_O": 1}
    weights = sum(math.prod(shapes[name]) * count for name, count in counts.items())
    heading, result = "many heads" if sizes.heads > 1 else "single head", shapes["result, as X"]
    return TEXTS(heading, heads=sizes.heads, output=output, joined=joined, result=result, weights=weights)
