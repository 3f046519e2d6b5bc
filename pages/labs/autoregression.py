"""Autoregression lab: a small transformer, trained here, continues a prompt one token at a time."""

import streamlit as st

from components.labs.autoregression import page

st.title("Autoregression", anchor=False)
st.markdown(
    "Train a small transformer, type a prompt, and let it continue one token at a time: see which candidates it "
    "chose from, that earlier tokens never change, and how an answer forms block by block."
)
page.draw()
