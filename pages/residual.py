"""Residual lab: add & norm on a token, a whole block, widths that fit, learned bends, the stream as a memory, nets."""

import streamlit as st

from components.labs.parts import is_drawn, part_tabs
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
    values = token.draw() if is_drawn(token_tab, variants_tab) else None
with block_tab:
    if is_drawn(block_tab):
        block.draw()
with memory_tab:
    if is_drawn(memory_tab):
        memory.draw()
        subspaces.draw()
with variants_tab:
    if values is not None and is_drawn(variants_tab):
        variants.draw(values)
for tab, part in zip((widths_tab, bend_tab, trained_tab), (widths, bend, trained), strict=True):
    with tab:
        if is_drawn(tab):
            part.draw()
