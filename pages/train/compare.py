"""Compare: two to four configurations, same seed, same batches, stepped together on shared axes."""

import streamlit as st

from components.compare import columns as compare_columns
from components.compare import runs as compare_watch

st.title("Compare", anchor=False)
notes = compare_columns.adopt()
with st.sidebar:
    problem = compare_columns.edit()
compare_columns.write()
compare_columns.say(notes, problem)
compare_columns.columns_and_seeds()
compare_columns.differences()
compare_watch.watch()
