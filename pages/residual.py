"""Residual lab: add & norm on a token, a whole block, widths that fit, learned bends, the stream as a memory, nets."""

import streamlit as st

from components.labs.parts import part_tabs
from components.labs.residual import bend as residual_bend
from components.labs.residual import block as residual_block
from components.labs.residual import memory as residual_memory
from components.labs.residual import subspaces as residual_subspaces
from components.labs.residual import token as residual_token
from components.labs.residual import trained as residual_trained
from components.labs.residual import variants as residual_variants
from components.labs.residual import widths as residual_widths

st.title("Residual", anchor=False)
st.markdown("Follow a token through add & norm: what each branch adds to it, and what is left of it at the end.")
token, block, memory, variants, widths, bend, trained = part_tabs(
    "residual",
    (
        "Add & norm on a token",
        "A whole block",
        "Memory and subspaces",
        "Other skips",
        "Equal widths",
        "Learning a bend",
        "Trained nets",
    ),
)
with token:
    values = residual_token.draw()
with block:
    residual_block.draw()
with memory:
    residual_memory.draw()
    residual_subspaces.draw()
with variants:
    residual_variants.draw(values)
with widths:
    residual_widths.draw()
with bend:
    residual_bend.draw()
with trained:
    residual_trained.draw()
