"""Attention lab: one head on editable tables, scaling, shapes, positions, and what trained nets do."""

import streamlit as st

from components.labs.attention import page

st.title("Attention", anchor=False)
st.markdown("Take attention apart: one head on tables that you can edit, then positions, and what trained nets do.")
page.draw()
