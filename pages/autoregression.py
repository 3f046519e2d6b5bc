"""Autoregression lab: a small transformer, trained here, continues a prompt one token at a time."""

import streamlit as st

from components.labs.page import draw_lab

st.title("Autoregression", anchor=False)
st.markdown(
    "Train a small transformer and watch its text turn from gibberish into words. Then let it continue your prompt, "
    "and see which candidates it chose from at every token."
)
draw_lab("autoregression")
