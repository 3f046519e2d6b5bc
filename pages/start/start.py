"""Start: the experiment residual x norm behind one button, and where to go from there."""

import streamlit as st

from components.shell import hide, projector
from components.shell.link import PLAYGROUND, STORY
from components.start import cells
from components.start.ways import ways
from components.start.words import conclusion

INTRODUCTION = (
    "Four copies of one network of 32 blocks learn to read digits. They differ only in whether a **residual** path "
    "(the band) carries the stream past every block and whether a layer **norm** (a dot) rescales what each block "
    "reads. A column is a block, on a log scale: above the line the size of its :blue[**signal**], below it that of "
    "the :violet[**gradient**]. Guess what each will do, then press the button."
)

if projector.on():
    projector.enlarge()
st.title("Why do deep networks need Add & Norm?", anchor=False)
hide.adopt()
found = cells.ended()
over = len(found) == len(cells.CELLS)
text, links = (st.container(), None) if projector.on() else st.columns([5, 1], vertical_alignment="center")
with text.container(key="start_words"):  # one over the other, so that what is below stays where it is
    if links is not None:
        st.markdown(INTRODUCTION)
    if over:
        st.markdown(conclusion(*found))
if links is not None:
    with links.container(key="start_links"):
        st.page_link(STORY, label="Next: the story" if found else "The story", icon=":material/auto_stories:")
        st.page_link(PLAYGROUND, label="The playground", icon=":material/tune:")
cells.draw(found)
if links is not None:
    ways()
