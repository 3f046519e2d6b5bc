"""The language of a visit: taken from the address, kept through the pages, chosen on Start."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.app_page import address, by_link, sound

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")
CLAIMS = "claims.py"
HELLO = "深层网络为什么需要 Add & Norm？"


def walk(page: AppTest, script: str) -> AppTest:
    """By the navigation, whose addresses are empty."""
    page.query_params.clear()
    return sound(page.switch_page(script).run())


def test_a_visit_is_read_in_the_language_of_its_address_until_another_is_chosen() -> None:
    page = by_link("start.py", lang="zh")
    assert page.title[0].value == HELLO
    assert address(walk(page, CLAIMS))["lang"] == "zh"
    assert page.title[0].value == "Common claims"  # which nobody has translated
    walk(page, "start.py")
    page.button(key="language_en").click()
    assert sound(page.run()).title[0].value == "Why do deep networks need Add & Norm?"
    assert address(page)["lang"] == "en"
    assert address(walk(page, CLAIMS))["lang"] == "en"
    assert walk(page, "start.py").title[0].value.startswith("Why")


@pytest.mark.parametrize("said", ["", "xx", "../en", "EN"])
def test_a_language_that_there_is_not_is_english(said: str) -> None:
    page = by_link("start.py", lang=said)
    assert page.title[0].value.startswith("Why")
    assert "lang" not in walk(page, CLAIMS).query_params
