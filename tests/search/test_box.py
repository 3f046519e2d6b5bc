"""What an address asks of the search and of a setting, on pages and at the route."""

from types import SimpleNamespace

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from components.search import box, index
from models.spec.bounds import MAX_LINK_CHARS
from tests.app_page import address, by_link

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")


def test_a_setting_of_the_address_is_unfolded() -> None:
    page = by_link("playground.py", setting="clip", depth="3", width="16")
    assert page.get_by_key("clip").value == 0
    assert address(page)["setting"] == "clip"


@pytest.mark.parametrize("query", [{"setting": "nothing"}, {"q": "x" * 10_000}, {"setting": "", "q": ""}])
def test_no_page_complains_of_what_is_asked(query: dict[str, str]) -> None:
    for page in ("playground.py", "compare.py", "glossary.py"):
        assert not by_link(page, **query).info


def test_no_page_remembers_what_was_asked() -> None:
    page = by_link("playground.py", q="norm", depth="3")
    page.query_params.clear()
    assert address(page.run()) == {"depth": "3"}


def test_no_more_is_kept_than_a_link_has(monkeypatch: pytest.MonkeyPatch) -> None:
    pressed = []
    monkeypatch.setattr(box, "_component", lambda **given: pressed.append(given["on_go_change"]))
    monkeypatch.setattr(box.session, "widget_value", lambda _: SimpleNamespace(go="glossary?" + "a&" * 2**19))
    box.draw([*index.pages])
    pressed[0]()
    assert len(box.GO.pop()) == MAX_LINK_CHARS


@pytest.mark.parametrize("asked", ["", "norm " * 2000, '"NEAR(*:^', "归一化", "\x00<script>"])
def test_the_route_answers_anything_in_a_sentence(asked: str) -> None:
    client = TestClient(Starlette(routes=box.routes()))
    answer = client.get("/search", params={"q": asked})
    assert answer.status_code == 200
    assert answer.json()["sentence"]
