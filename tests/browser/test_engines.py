"""A round through the app in engines other than Chromium's: ten pages, a run that trains, and a scrub."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.chromium import listen
from tests.browser.page import PATIENCE, SMALL, drawn
from tests.browser.person import PAGES, Person
from tests.load.server import Server

ROUND = (
    "Start",
    "The story",
    "Playground",
    "Compare",
    "Anatomy",
    "Maps",
    "Normalisation",
    "Attention",
    "Lessons",
    "Glossary",
)
STEPS = 40

pytestmark = pytest.mark.parametrize("engine", ["firefox", "webkit"], indirect=True)


@pytest.fixture
def person(engine: Any) -> Iterator[Person]:
    """Somebody at a tab, in which nothing may fail."""
    tab, complaints = engine.new_page(viewport={"width": 1280, "height": 900}), []
    tab.set_default_timeout(PATIENCE)
    listen(tab, complaints)
    yield Person(tab)
    tab.close()
    assert complaints == []


@pytest.mark.full
def test_ten_pages_are_drawn_without_an_error(person: Person, server: Server) -> None:
    for name in ROUND:
        person.tab.goto(server.url + PAGES[name][0])
        person.arrives(name)
        for chart in person.tab.locator(".player-chart:visible").all():
            chart.locator(".main-svg").first.wait_for()


@pytest.mark.full
def test_a_run_trains_and_a_press_on_its_loss_goes_back(person: Person, server: Server) -> None:
    person.tab.goto(f"{server.url}/playground?{SMALL}")
    drawn(person.tab)
    person.arrives("Playground").trains(last=STEPS).reads("done")
    assert abs(person.scrubs_to_the_middle() - STEPS / 2) <= 2
    person.reads(f"step {person.step} of {STEPS}")
