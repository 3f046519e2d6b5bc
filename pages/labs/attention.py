"""Attention lab: one head on editable tables, scaling, shapes, positions, and what trained nets do."""

import streamlit as st

from components.labs.attention import page

st.title("Attention", anchor=False)
st.markdown(
    "Edit a few tokens and the matrices of an attention head, and follow the computation number by number; then see "
    "how a net is told the order of its tokens."
)
page.draw()
