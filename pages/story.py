"""The story: what depth does to a digit, and what add and norm do about it, in six scenes."""

import streamlit as st

from components.shell import projector
from components.story import page
from components.story.words import TEXTS

if projector.is_on():
    projector.enlarge()
st.title(TEXTS.title, anchor=False)
if not projector.is_on():
    st.markdown(TEXTS("introduction"))
page.draw()
