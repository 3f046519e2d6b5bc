"""Normalisation lab: edit a table of tokens and see every norm work on it, cell by cell."""

import streamlit as st

from components.labs.normalization import page

st.title("Normalisation", anchor=False)
st.markdown(
    "Edit the table and choose a norm: see which cells share its mean and variance, and what becomes of every token."
)
page.draw()
