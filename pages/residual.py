"""Residual lab: add & norm on a token, a whole block, widths that fit, learned bends, the stream as a memory, nets."""

import streamlit as st

from components.labs.page import draw_lab

st.title("Residual", anchor=False)
st.markdown("Follow a token through add & norm: what each branch adds to it, and what is left of it at the end.")
draw_lab("residual")
