"""Playground: set a network, see signal and gradient at initialisation at once, train it and watch every layer."""

import streamlit as st

from components.controls import panel as controls
from components.playground import page as playground
from components.playground import picture
from components.shell import hide, link, projector

notes = link.adopt()
hide.adopt()
if projector.on():
    projector.enlarge()
    wanted, problem = controls.assemble()
    cfg = playground.settle(wanted)
    st.title(picture.name_of(cfg) or "Playground", anchor=False)
else:
    st.title("Playground", anchor=False)
    with st.sidebar:
        wanted, problem = controls.draw()
    cfg = playground.settle(wanted)
link.write(wanted or cfg)
playground.say(cfg, notes, problem)
playground.watch(cfg)
if not projector.on():
    playground.what_is_set(cfg)
