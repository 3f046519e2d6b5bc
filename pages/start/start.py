"""Start: ten digits on their way through four nets, the experiment residual x norm, and where to go from there."""

import streamlit as st

from components.classroom import board, following
from components.shell import hide, projector
from components.start import cells
from components.start.ways import ways
from components.start.words import conclusion
from models.lessons.stops import questions_of

INTRODUCTION = (
    "Ten handwritten digits pass through 32 blocks. Distance from the centre: how large the :blue[**signal**] of a "
    "digit is. Angle: which way it points. Digits at one place can no longer be told apart."
)
EXPERIMENT = (
    "Now train them. A column is a block: above the line the size of its :blue[**signal**], below it that of the "
    ":violet[**gradient**], on a log scale."
)
QUESTION = (
    "Ten handwritten digits pass through 32 blocks. With a **residual** path past every block and a **norm** in each, "
    "they arrive about as large as they came, and apart; with neither they vanish. What will they do with only one of "
    "the two?"
)

if projector.on():
    projector.enlarge()
st.title("Why do deep networks need Add & Norm?", anchor=False)
hide.adopt()
if (now := following.held()) and now.asked:
    st.markdown(QUESTION)
    board.ask(now)
else:
    if now:
        board.results(following.code(), questions_of(now.stop), following.member())
    elif not projector.on():
        st.markdown(INTRODUCTION)
    found = cells.ended()
    cells.picture(asks=not now)
    with st.container(key="start_words"):  # one over the other, so that what is below stays where it is
        if not projector.on():
            st.markdown(EXPERIMENT)
        if len(found) == len(cells.CELLS):
            st.markdown(conclusion(*found))
    cells.draw(found)
    if not (now or projector.on()):
        ways()
