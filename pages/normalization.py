"""Normalisation lab: edit a table of tokens and see every norm work on it, cell by cell."""

import streamlit as st

from components.labs.page import draw_lab

st.title("Normalisation", anchor=False)
st.markdown("Each row is a group of cells that share statistics. Choose a norm and watch where it moves them.")
draw_lab("normalization")
