"""Popular claims, what is true, and an experiment that tests each of them."""

import streamlit as st

from components.claims import page

st.title("Common claims", anchor=False)
st.markdown("Choose a claim, guess whether it is true, and press Run: the numbers decide.")
claim = page.chosen()
if claim is None:
    page.grid()
else:
    page.draw(claim)
