"""Autoregression lab: a small transformer, trained here, continues a prompt one token at a time."""

import streamlit as st

from components.labs.autoregression import page

st.title("Autoregression", anchor=False)
st.markdown("Let a small transformer continue your prompt, and see at every token which candidates it chose from.")
page.draw()
