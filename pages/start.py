"""Start: ten digits through four nets, the experiment residual x norm, a net to break, and where to go next."""

import streamlit as st

from components.classroom import answers, board, following
from components.search import notes
from components.shell import hidden_parts, projector, tour
from components.start import cells, net
from components.start.ways import draw_way_to_story, draw_ways
from components.start.words import TEXTS, conclusion
from models.lessons.stops import questions_of

state = following.shown_state()
is_plain_visit = state is None and not projector.is_on()
st.title(TEXTS.title, anchor=False)
if state is not None and state.open_questions:
    board.draw_question(state, TEXTS("question"), cells.draw_shown_cells)
else:
    if state is not None:
        st.markdown(TEXTS("the class guessed"))
        right_option = None if hidden_parts.is_hidden("verdict") else answers.right_option
        board.draw_results(following.code(), questions_of(state.stop), right_option, following.member())
    runs = cells.finished_runs()
    if runs:
        tour.mark_done("start")
    with st.container(key="start_words"):  # its two texts share one place, so that nothing below moves
        if is_plain_visit:
            st.markdown(TEXTS("introduction"))
        if len(runs) == len(cells.CELLS):
            st.markdown(conclusion(*runs))
    cells.draw_digits(asks=state is None)
    cells.draw(runs)
    if is_plain_visit:
        draw_way_to_story()
    if state is None:
        net.draw()
    if is_plain_visit:
        draw_ways()
        notes.draw()
