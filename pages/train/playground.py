"""Playground: set a network, see signal and gradient at initialisation at once, train it and watch every layer."""

import streamlit as st

from components import controls, link, playground

st.title("Playground", anchor=False)
notes = link.adopt(link.PLAYGROUND)
with st.sidebar:
    wanted, problem = controls.draw()
cfg = playground.settle(wanted)
link.write(cfg)
playground.say(cfg, notes, problem)
playground.watch(cfg)
playground.what_is_set(cfg)
