"""Lessons: a question, a guess, the run, what happened, why, a challenge that the app checks, and the code that did it."""

import streamlit as st

from components.lessons import lesson, progress

st.title("Lessons", anchor=False)
st.markdown("Guess first, then train the nets and see whether the numbers agree; then solve the challenge.")
chosen = lesson.chosen()
lesson.choose(chosen)
lesson.draw(chosen)
lesson.walk(chosen)
progress.show()
