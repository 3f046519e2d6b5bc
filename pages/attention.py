"""Attention lab: one head on editable tables, scaling, shapes, positions, and what trained nets do."""

import streamlit as st

from components.labs.page import draw_chosen_part

st.title("Attention", anchor=False)
st.markdown("Take attention apart: one head on tables that you can edit, then positions, and what trained nets do.")
draw_chosen_part("attention")
