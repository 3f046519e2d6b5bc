"""Autoregression lab: a small transformer, trained here, continues a prompt one token at a time."""

import streamlit as st

from components.labs.autoregression import page

st.title("Autoregression", anchor=False)
st.markdown("A small transformer continues your prompt, one token at a time: which candidates does it choose from?")
page.draw()
