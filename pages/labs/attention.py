"""Attention lab: one head on tables that one edits, why scores
are scaled, shapes, positions by hand and in trained nets.
"""

import streamlit as st

from components.labs.attention import page

st.title("Attention", anchor=False)
st.markdown(
    "Edit a few tokens and the matrices of an attention head, and follow attention number by number; then see how "
    "tokens learn where they stand."
)
page.draw()
