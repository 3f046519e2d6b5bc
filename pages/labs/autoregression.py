"""Autoregression lab: a small transformer, trained here, continues a prompt one token at a time."""

import streamlit as st

from components.labs.autoregression import page

st.title("Autoregression", anchor=False)
st.markdown(
    "Train a small transformer, type a prompt, and let it go on one token at a time: see between which candidates it chose, that "
    "nothing it said is ever revised, and how the answer forms block by block."
)
page.draw()
