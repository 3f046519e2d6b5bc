"""Gradient lab: the chain of factors by hand, where they come from, a real network, and a gradient through time."""

import streamlit as st

from components.labs.gradients import chain, net, slopes, time
from components.labs.parts import is_drawn, part_tabs

st.title("Gradients", anchor=False)
st.markdown("Choose the factors that multiply a gradient on its way back: see what is left of it at every layer.")
titles = ("A chain of factors", "Where the factors come from", "A real network", "Through time")
for tab, part in zip(part_tabs("gradients", titles), (chain, slopes, net, time), strict=True):
    with tab:
        if is_drawn(tab):
            part.draw()
