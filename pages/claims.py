"""Common claims, each with an experiment that tests it."""

import streamlit as st

from components.claims import page

st.title("Common claims", anchor=False)
st.markdown("Choose a claim, guess whether it is true, and press Run: the numbers decide.")
claim = page.chosen_claim()
if claim is None:
    page.draw_grid()
else:
    page.draw(claim)
