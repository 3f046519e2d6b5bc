"""Gradient lab: the chain of factors by hand, where they come from, a real network, and a gradient through time."""

import streamlit as st

from components.labs.gradients import chain as gradient_chain
from components.labs.gradients import net as gradient_net
from components.labs.gradients import slopes as gradient_slopes
from components.labs.gradients import time as gradient_time
from components.labs.parts import part_tabs

st.title("Gradients", anchor=False)
st.markdown("Choose the factors that multiply a gradient on its way back: see what is left of it at every layer.")
titles = ("A chain of factors", "Where the factors come from", "A real network", "Through time")
chain, slopes, net, time = part_tabs("gradients", titles)
with chain:
    gradient_chain.draw()
with slopes:
    gradient_slopes.draw()
with net:
    gradient_net.draw()
with time:
    gradient_time.draw()
