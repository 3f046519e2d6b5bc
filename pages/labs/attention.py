"""Attention lab: one head on editable tables, scaling, shapes, positions, and what trained nets do."""

import streamlit as st

from components.labs.attention import page

st.title("Attention", anchor=False)
st.markdown("Hover over the map: which word does each word look at? Then edit the matrices that decide it.")
page.draw()
