"""Anatomy: the block as equation, diagram and code, and one block of the stack changed at a time."""

import streamlit as st

from components.anatomy import page as anatomy
from components.controls import panel as controls
from components.playground import page as playground
from components.shell import hide, link
from components.shell.waiting import waits

st.title("Anatomy of a block", anchor=False)
notes = link.adopt()
hide.adopt()
with st.sidebar:
    wanted, problem = controls.draw()
cfg = playground.settle(wanted)
link.write(wanted or cfg)
playground.say(cfg, notes, problem)
st.subheader("Choose a block, and change it", anchor=False)
block = anatomy.one_block(cfg)
anatomy.three_views(cfg, block)
anatomy.history(cfg)
st.subheader("Where the signal breaks", anchor=False)
waits("anatomy", lambda: anatomy.signal(cfg))
st.page_link(link.PLAYGROUND, label="Train it in the playground", icon=":material/tune:", query_params=cfg.to_query())
