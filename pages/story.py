"""The story: how depth changes a digit, and how add and norm prevent that, in five scenes."""

import streamlit as st

from components.shell import projector
from components.story import page
from components.story.words import TEXTS

st.title(TEXTS.title, anchor=False)
if not projector.is_on():
    st.markdown(TEXTS("introduction"))
page.draw()
