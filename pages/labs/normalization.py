"""Normalisation lab: edit a table of tokens and see every norm work on it, cell by cell."""

import streamlit as st

from components.labs.normalization import page

st.title("Normalisation", anchor=False)
st.markdown("A row is a set of cells that share their statistics: choose a norm, and see where it moves them.")
page.draw()
