"""What a visitor's session keeps: defaults that nobody shares, keys by name."""

import pytest

from components.shell import session
from components.shell.session import Key


@pytest.fixture(autouse=True)
def no_keys_of_the_app(monkeypatch):
    monkeypatch.setattr(session, "_owners", {})


@pytest.fixture
def visit(monkeypatch):
    """Begins a visit of its own at every call."""

    def begin():
        state = {}
        monkeypatch.setattr(session.st, "session_state", state)
        return state

    return begin


def test_what_one_visitor_changes_in_place_is_not_there_for_the_next(visit):
    key = Key("told", {"first"})
    visit()
    key.mutable().add("mine")
    assert key.get() == {"first", "mine"}
    visit()
    assert not key.is_set
    assert key.get() == key.default == {"first"}


def test_what_is_taken_is_gone(visit):
    key, state = Key("refused", ""), visit()
    key.put("no")
    assert (state, key.is_set, key.pop(), key.is_set, key.get()) == ({}, True, "no", False, "")


def test_several_of_a_kind_have_places_of_their_own(visit):
    running, state = Key("claim_{}_running", False), visit()
    running.of("copies").put(True)
    assert state == {"claim_copies_running": True}
    assert running.of("copies").get()
    assert not running.of("doubles").get()


def test_a_key_of_another_module_is_not_made_twice():
    Key("mine", 0)
    with pytest.raises(ValueError, match="which tests"):
        eval("Key('mine', 0)", {"Key": Key, "__name__": "another"})


def test_a_widget_that_was_drawn_is_not_set_again_by_what_it_begins_with(visit):
    state = visit()
    session.set_initial("prompt", "Call me")
    session.set_widget("prompt", "Ishmael")
    session.set_initial("prompt", "Call me")
    assert state == {"prompt": session.widget_value("prompt")} == {"prompt": "Ishmael"}
    assert session.has_value("prompt")
    assert session.widget_value("other", 3) == 3
