"""Start: ten digits on their way through four nets, the experiment residual x norm, and where to go from there."""

import streamlit as st

from components.classroom import answers, board, following
from components.shell import hide, language, projector, tour
from components.start import cells
from components.start.ways import ways
from components.start.words import TEXTS, conclusion
from models.lessons.stops import questions_of

if projector.is_on():
    projector.enlarge()
st.title(TEXTS.title, anchor=False)
hide.adopt()
if (now := following.held()) and now.asked:
    board.ask(now, TEXTS("question"), cells.told)
else:
    if now:
        st.markdown(TEXTS("the class guessed"))
        right = None if hide.hidden("verdict") else answers.right
        board.results(following.code(), questions_of(now.stop), right, following.member())
    found = cells.ended()
    if found:
        tour.done("start")
    with st.container(key="start_words"):  # one over the other, so that what is below stays where it is
        if not (now or projector.is_on()):
            st.markdown(TEXTS("introduction"))
        if len(found) == len(cells.CELLS):
            st.markdown(conclusion(*found))
    cells.picture(asks=not now)
    cells.draw(found)
    if not (now or projector.is_on()):
        ways()
        language.choice()
