"""Start: the experiment residual x norm behind one button, and where to go from there."""

import streamlit as st

from components.shell import hide, projector
from components.shell.link import PLAYGROUND, STORY
from components.start import cells
from components.start.ways import ways
from components.start.words import conclusion

if projector.on():
    projector.enlarge()
st.title("Why do deep networks need Add & Norm?", anchor=False)
hide.adopt()
found = cells.ended()
over = len(found) == len(cells.CELLS)
text, links = (st.container(), None) if projector.on() else st.columns([5, 1], vertical_alignment="center")
if over:
    text.markdown(conclusion(*found))
elif links is not None:
    text.markdown(
        "Four copies of one network of 32 blocks, with the same initial weights and images, learn to read handwritten "
        "digits. They differ in two things: whether a **residual** path carries the signal past every block (*add*), "
        "and whether a layer **norm** rescales what each block and the output read. A column is a block: above the "
        "line the size of the :blue[**signal**] that leaves it, below it that of the :violet[**gradient**] that comes "
        "back (log scale); the band is the residual path, a dot a norm. Guess what each will do, then press the button."
    )
if links is not None:
    links.page_link(STORY, label="Next: the story" if found else "The story", icon=":material/auto_stories:")
    links.page_link(PLAYGROUND, label="The playground", icon=":material/tune:")
cells.draw(found)
if links is not None:
    ways()
