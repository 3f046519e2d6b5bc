"""Compare: two to four configurations with the same seed and batches, stepped together on shared axes."""

import streamlit as st

from components.compare import columns, runs
from components.shell.drawer import settings

st.title("Compare", anchor=False)
st.markdown(
    "Put two to four networks side by side and train them together: shared axes show where their signals and "
    "gradients differ, and which of them learn."
)
settings()
notes = columns.adopt()
with st.sidebar:
    problem = columns.edit()
columns.write()
columns.say(notes, problem)
columns.columns_and_seeds()
columns.differences()
runs.watch()
