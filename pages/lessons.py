"""Lessons: a question, a guess, the run, what happened and why, a challenge that the app checks, and the code."""

import streamlit as st

from components.classroom import following
from components.lessons import lesson, progress
from components.lessons.progress import TEXTS
from components.shell import hide, projector

chosen = lesson.chosen()
hide.adopt()
progress.recall()
if projector.is_on():
    projector.enlarge()
if now := following.held():
    st.title(chosen.title, anchor=False)
    lesson.in_class(chosen, now)
elif projector.is_on():
    st.title(chosen.title, anchor=False)
    lesson.project(chosen)
else:
    st.title(TEXTS.title, anchor=False)
    st.markdown(TEXTS("introduction"))
    lesson.choose(chosen)
    lesson.draw(chosen)
    progress.show()
lesson.walk(chosen)
progress.remember()
