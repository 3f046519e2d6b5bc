"""What an address asks of the search and of a setting, on pages and at the route."""

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from components.search import box
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


@pytest.mark.parametrize("asked", ["", "norm " * 2000, '"NEAR(*:^', "归一化", "\x00<script>"])
def test_the_route_answers_anything_in_a_sentence(asked: str) -> None:
    client = TestClient(Starlette(routes=box.routes()))
    for language in ("", "zh", "../en"):
        answer = client.get("/search", params={"q": asked, "lang": language})
        assert answer.status_code == 200
        assert answer.json()["sentence"]
