"""Residual lab: add & norm on a token, a whole block, widths that fit, learned bends, the stream as a memory, nets."""

import streamlit as st

from components.labs.parts import part_tabs
from components.labs.residual import bend, block, memory, subspaces, token, trained, variants, widths

st.title("Residual", anchor=False)
st.markdown("Follow a token through add & norm: what each branch adds to it, and what is left of it at the end.")
token_tab, block_tab, memory_tab, variants_tab, widths_tab, bend_tab, trained_tab = part_tabs(
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
with token_tab:
    values = token.draw()
with block_tab:
    block.draw()
with memory_tab:
    memory.draw()
    subspaces.draw()
with variants_tab:
    variants.draw(values)
with widths_tab:
    widths.draw()
with bend_tab:
    bend.draw()
with trained_tab:
    trained.draw()
