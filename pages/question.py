"""A question of a teacher's to a class; it is on the class's board, and never in an address."""

import streamlit as st

from components.classroom import board, following
from models.lessons.questions import ASK

state = following.shown_state()
if state is None or not state.stop.startswith(ASK):
    st.title("A question", anchor=False)
    st.info(board.TEXTS("no question"))
else:
    board.draw_own_question(state)
