"""Compare: two to four configurations with the same seed and batches, stepped together on shared axes."""

import streamlit as st

from components.compare import columns, runs
from components.shell import projector
from components.shell.drawer import settings

notes = columns.adopt()
if projector.is_on():
    projector.enlarge()
    st.title(columns.title(), anchor=False)
    runs.watch()
else:
    st.title("Compare", anchor=False)
    st.markdown("Train two to four networks side by side, on shared axes.")
    settings()
    with st.sidebar:
        problem = columns.edit()
    columns.write()
    columns.say(notes, problem)
    against = columns.controls()
    columns.warn()
    runs.watch(against=against)
    columns.differences()
