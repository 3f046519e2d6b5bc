"""Your model: recordings of PyTorch models made with `addnorm.watch`, layer by layer, while it trains."""

import streamlit as st

from components.recordings import page

st.title("Your model", anchor=False)
st.markdown("Record your PyTorch model with five lines of code, and watch it here, layer by layer, while it trains.")
page.draw()
