"""Normalisation lab: edit a table of tokens and see every norm work on it, cell by cell."""

import streamlit as st

from components.labs.normalization import page

st.title("Normalisation", anchor=False)
st.markdown(
    "Edit the table and choose a norm: you see over which cells it takes its statistics and what it makes of every "
    "token."
)
page.draw()
