"""A part of a page that waits for an answer (components/shell/waiting.py)."""

from streamlit.testing.v1 import AppTest


def page() -> None:
    """Runs are counted outside of the part that waits; the answer is there from the second look on."""
    import streamlit as st

    from components.shell.address import arrive, settle
    from components.shell.waiting import waits

    arrive("waiting", {})
    st.session_state["runs"] = st.session_state.get("runs", 0) + 1

    def looks() -> bool:
        st.session_state["looks"] = st.session_state.get("looks", 0) + 1
        return st.session_state["looks"] < 2

    st.number_input("Steps", value=1, key="steps")
    waits("some", looks)
    settle()


def test_the_page_runs_again_when_a_wait_is_over_and_not_when_it_begins():
    at = AppTest.from_function(page).run()
    assert (at.session_state["runs"], at.session_state["looks"]) == (1, 1)
    at.run()  # as the browser asks; the wait is over in this run
    assert (at.session_state["runs"], at.session_state["looks"]) == (3, 3)
    at.run()
    assert (at.session_state["runs"], at.session_state["looks"]) == (4, 4)
