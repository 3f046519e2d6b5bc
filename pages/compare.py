"""Compare: two to five configurations with the same seed and batches, stepped together on shared axes."""

import streamlit as st

from components.compare import columns, runs
from components.controls import drive
from components.shell import projector
from components.shell.drawer import settings_button

notes = columns.adopt()
if projector.is_on():
    st.title(columns.title(), anchor=False)
    drive.draw_on_projector()
    runs.draw()
else:
    st.title("Compare", anchor=False)
    st.markdown("Train two to five networks side by side, on shared axes.")
    settings_button()
    with st.sidebar:
        problem = columns.draw_controls()
    columns.write_address()
    columns.draw_messages(notes, problem)
    against = columns.draw_column_buttons()
    columns.draw_warnings()
    runs.draw(against=against)
    columns.draw_differences()
