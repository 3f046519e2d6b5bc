"""Start: what this is, in plain words, and the experiment residual x norm behind one button."""

import streamlit as st

from components.shell import hide
from components.shell.link import PLAYGROUND, STORY
from components.start import cells
from components.start.ways import ways as ways_from_here
from components.start.words import conclusion

st.title("Why do deep networks need Add & Norm?", anchor=False)
hide.adopt()
found = cells.ended()
text, ways = st.columns([5, 1], vertical_alignment="center")
if len(found) == len(cells.CELLS):
    text.markdown(conclusion(*found))
else:
    text.markdown(
        "Four copies of one network of 32 blocks learn to read digits: same first weights, same images. Two things differ: "
        "whether a **residual** path carries the signal past every block (*add*), and whether a layer **norm** keeps its size in "
        "hand. Guess what each will do, then press the button."
    )
ways.page_link(STORY, label="Next: the story" if found else "The story", icon=":material/auto_stories:")
ways.page_link(PLAYGROUND, label="The playground", icon=":material/tune:")
cells.draw(found)
ways_from_here()
