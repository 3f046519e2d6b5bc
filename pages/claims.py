"""Common claims, each with an experiment that tests it."""

import streamlit as st

from components.claims import page
from components.classroom import following
from models.claims.claims import CLAIMS
from models.lessons.stops import claim_of

st.title("Common claims", anchor=False)
state = following.shown_state()
if state is None:
    st.markdown("Choose a claim, guess whether it is true, and press Run: the numbers decide.")
claim = page.DECK.chosen()
if state is not None and claim_of(state.stop):
    page.draw_in_class(CLAIMS[claim_of(state.stop)], state)
elif claim is not None:
    page.draw(claim)
else:
    page.draw_grid()
