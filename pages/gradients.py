"""Gradient lab: the chain of factors by hand, where they come from, a real network, and a gradient through time."""

import streamlit as st

from components.labs.page import draw_lab

st.title("Gradients", anchor=False)
st.markdown("Choose the factors that multiply a gradient on its way back: see what is left of it at every layer.")
draw_lab("gradients")
