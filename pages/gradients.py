"""Gradient lab: the chain of factors by hand, where the factors come from, and the same measured on a real network."""

import streamlit as st

from components.labs.gradients import chain as gradient_chain
from components.labs.gradients import net as gradient_net
from components.labs.gradients import slopes as gradient_slopes
from components.labs.parts import parts

st.title("Gradients", anchor=False)
st.markdown("Choose the factors that multiply a gradient on its way back: see what is left of it at every layer.")
chain, slopes, net = parts("gradients", ("A chain of factors", "Where the factors come from", "A real network"))
with chain:
    gradient_chain.draw()
with slopes:
    gradient_slopes.draw()
with net:
    gradient_net.draw()
