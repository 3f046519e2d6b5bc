"""Homework: nothing that a link hides comes back by the address, and a text that was changed is found out."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from components.classroom import homework as visit
from components.classroom import route, text_file
from models.lessons import homework as links
from models.lessons.homework import checked, handed_in, homework_from, new_homework, use_secret_of
from tests.app_page import address, by_link, press, sound, walk, words
from tests.player_page import rests

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")
DEEDS = [("2026-11-27 10:00:00 UTC", "lessons?lesson=final"), ("2026-11-27 10:01:00 UTC", "Guess")]


@pytest.fixture(autouse=True)
def nothing_recorded() -> None:
    visit._records.clear()


def opened(stop: str = "lessons?lesson=vanishing", *hide: str) -> tuple[AppTest, links.Homework]:
    """A page by a homework link, and its homework."""
    made = new_homework(stop, hide or ("answers", "lessons"), "nonce")
    page, query = links_page(stop)
    return by_link(f"{page}.py", **query, homework=made.token), made


def links_page(stop: str) -> tuple[str, dict[str, str]]:
    page, _, query = stop.partition("?")
    return page, dict(part.split("=") for part in query.split("&") if part)


def test_no_address_shows_what_homework_hides_but_the_code_does(monkeypatch: pytest.MonkeyPatch) -> None:
    page, made = opened()
    assert "lesson_box" not in {one.key for one in page.selectbox}
    for query in (
        {"lesson": "skip"},
        {"lesson": "skip", "hide": ""},
        {"homework": "x.y"},
        {"homework": made.token + "0"},
    ):
        page.query_params.clear()
        for name, value in query.items():
            page.query_params[name] = value
        assert "lesson_box" not in {one.key for one in sound(page.run()).selectbox}
        assert address(page)["homework"]
    cookies = {"homework": made.token}
    monkeypatch.setattr("components.shell.visitor.cookie", lambda name: cookies.get(name, ""))
    page = by_link("lessons.py", lesson="vanishing")
    assert "lesson_box" not in {one.key for one in page.selectbox}, "another tab of the same browser"
    page.text_input(key="homework_code").set_value("ABCDEFGH")
    assert "not the code" in words(sound(page.run()))
    page.text_input(key="homework_code").set_value(f"{made.code[:4].lower()} {made.code[4:]}")
    assert "lesson_box" in {one.key for one in sound(page.run()).selectbox}


def test_what_was_tried_is_handed_in_with_name_and_times() -> None:
    page, made = opened()
    page.radio[0].set_value(page.radio[0].options[0])
    press(sound(page.run()), "This is my guess")
    page = walk(page, "playground.py")
    page.text_input(key="homework_name").set_value("Ada")
    page.text_area(key="homework_answer").set_value("Because.\nTries: 99\nSignature: " + "0" * 64)
    text = sound(page.run()).code[-1].value
    (found,) = checked(text)
    assert (found.is_genuine, found.name, made.id in found.homework) == (True, "Ada", True)
    assert "Guess in The gradient on its way back" in text
    assert "playground" in text
    assert int(found.tries) >= 3


def test_a_text_that_was_changed_is_found_out_and_mail_changes_nothing() -> None:
    made = new_homework("claims?claim=doubles", ("answers",), "nonce")
    text = handed_in(made, "Ada\nTries: 99", "One\ntwo", DEEDS)
    assert text.count("\nTries: ") == 1
    mailed = "\ufeff" + text.replace("\n", " \r\n\r\n")
    assert [one.is_genuine for one in checked(text + mailed)] == [True, True]
    for old, new in (("Ada", "Bob"), ("Tries: 2", "Tries: 1"), ("10:01", "10:59"), ("| two", "| three")):
        assert old in text
        assert [one.is_genuine for one in checked(text.replace(old, new))] == [False]
    assert [one.is_genuine for one in checked(text.rpartition("Signature")[0])] == [False]
    assert checked("") == []


def test_a_file_cut_inside_a_character_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    monkeypatch.setattr(text_file, "_component", lambda **given: given["on_opened_change"]())
    monkeypatch.setattr(text_file.session, "widget_value", lambda _: SimpleNamespace(opened="Name: Ada \ud83d"))
    text_file.open_text_file("Open a file", "file", 99, taken.append)
    assert [one.name for one in checked(*taken)] == ["Ada ?"]


def test_links_and_texts_are_this_servers_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = bytes(links._secret)
    made = new_homework("start", ("verdict",), "nonce")
    assert homework_from(made.token) == made
    assert new_homework("start", ("verdict",), "other").code != made.code
    for forged in (made.token[1:], made.token.partition(".")[0], "", ".", "é.é", made.token.replace(".", ".0")):
        assert homework_from(forged) is None
    use_secret_of(tmp_path / "deep")
    assert homework_from(made.token) == made, "the first start keeps its secret"
    links._secret[:] = b"another"
    use_secret_of(tmp_path / "deep")
    assert bytes(links._secret) == before
    monkeypatch.setenv(links.SECRET_VARIABLE, "shared")
    use_secret_of(tmp_path)
    assert homework_from(made.token) is None
    links._secret[:] = before
    client = TestClient(Starlette(routes=route.routes()), follow_redirects=False)
    there = client.get("/homework", params={"t": made.token, "lang": "zh"})  # as older links say
    assert (there.status_code, there.headers["location"].partition("?")[0]) == (303, "/")
    assert client.cookies["homework"] == made.token
    gone = client.get("/homework", params={"t": made.token, "code": made.code})
    assert (gone.status_code, "homework" in client.cookies) == (303, False)
    assert client.get("/homework", params={"t": "forged"}).status_code == 404


def test_a_judged_challenge_is_recorded_once() -> None:
    page, _ = opened("lessons?lesson=final", "lessons")
    page.radio[0].set_value(page.radio[0].options[0])
    page = sound(rests(press(sound(page.run()), "This is my guess")).run())
    page = rests(page, name="attempt_final")
    for _ in range(3):
        sound(page.run())
    (record,) = visit._records.values()
    assert len([deed for _, deed in record.deeds if deed.startswith("Challenge of")]) == 1


def test_records_of_homework_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visit, "MAX_RECORDS", 3)
    monkeypatch.setattr(visit, "MAX_DEEDS", 2)
    for _ in range(5):
        page, _ = opened("playground")
        for depth in (4, 5, 6):
            page.slider(key="depth").set_value(depth)
            sound(page.run())
    assert len(visit._records) == 3
    assert {len(record.deeds) for record in visit._records.values()} == {2}
    by_link("attention.py", homework=new_homework("start", (), "nonce").token, wish="2" * 9000)
    kept = [deed for record in visit._records.values() for _, deed in record.deeds]
    assert max(map(len, kept)) == links.MAX_DEED_CHARS
