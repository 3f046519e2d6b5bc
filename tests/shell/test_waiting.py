"""A part of a page that waits: when the page runs again for it, and what must not be lost over that."""

import pytest
from streamlit.testing.v1 import AppTest

from components.shell import waiting


def test_many_waiting_pages_leave_the_server_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_waiting", {})
    assert waiting.pause_after("alone", "part", 0.02) == waiting.POLL_SECONDS
    pauses = [waiting.pause_after(f"session {number}", "part", 0.02) for number in range(100)]
    assert 100 * 0.02 / pauses[-1] <= waiting.POLL_SHARE


def page_with_a_part_that_waits() -> None:
    import streamlit as st

    from components.shell.waiting import poll_while

    state = st.session_state
    state.runs = state.get("runs", 0) + 1
    poll_while("test", lambda: state.get("waiting", True))
    state.pressed = state.get("pressed", 0) + st.button("Press")


def test_a_press_arrives_though_the_wait_is_over_in_the_run_that_answers_it() -> None:
    page = AppTest.from_function(page_with_a_part_that_waits).run()
    page.session_state["waiting"] = False
    page.button[0].click().run()
    assert page.session_state["pressed"] == 1


@pytest.mark.parametrize(("alone", "runs"), [(True, 3), (False, 2)])
def test_the_page_runs_again_when_a_part_that_runs_alone_finds_its_wait_over(alone, runs, monkeypatch) -> None:
    monkeypatch.setattr(waiting, "is_fragment_run", lambda: alone)
    page = AppTest.from_function(page_with_a_part_that_waits).run()
    page.session_state["waiting"] = False
    page.run()
    assert page.session_state["runs"] == runs
    page.run()
    assert page.session_state["runs"] == runs + 1
