"""Lessons: a question, a guess, the runs, what happened and why, a challenge that the app checks, and the code."""

import streamlit as st

from components.classroom import following
from components.lessons import lesson, progress
from components.lessons.progress import TEXTS
from components.search import notes
from components.shell import projector

chosen = lesson.chosen_lesson()
progress.recall()
state = following.shown_state()
if state is not None:
    st.title(chosen.title, anchor=False)
    lesson.draw_in_class(chosen, state)
elif projector.is_on():
    st.title(chosen.title, anchor=False)
    lesson.draw_on_projector(chosen)
else:
    st.title(TEXTS.title, anchor=False)
    st.markdown(TEXTS("introduction"))
    lesson.draw_list(chosen)
    lesson.draw(chosen)
    progress.draw_text()
    notes.draw()
lesson.draw_neighbours(chosen)
progress.remember()
