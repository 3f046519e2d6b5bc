"""A question of a teacher's to a class; it is on the class's board, and never in an address."""

import streamlit as st

from components.classroom import board, following
from components.shell import projector
from models.lessons.board import ClassState

state: ClassState | None = following.shown_state()
if projector.is_on():
    projector.enlarge()
if state is None or not state.stop.startswith("?"):
    st.title("A question", anchor=False)
    st.info(board.TEXTS("no question"))
else:
    board.draw_own_question(state)
