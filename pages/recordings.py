"""Your model: recordings of PyTorch models made with `addnorm.watch`, layer by layer, while it trains."""

import streamlit as st

from components.recordings import page

st.title("Your model", anchor=False)
st.markdown("Your own PyTorch model, layer by layer, while it trains.")
page.draw()
