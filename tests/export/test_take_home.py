"""What a visitor takes along and brings in: links that check themselves, files, pasted configurations."""

import pytest

from components.playground.take_home import PASTED
from models.export import configuration_json, digest_of
from models.spec import RunConfig
from models.training import Run
from tests.app_page import configuration, playground, press, sound, words
from tests.player_page import declared, rests

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")
FIELDS = {"depth": 3, "width": 16, "batch": 8, "steps": 20}
QUERY = {key: str(value) for key, value in FIELDS.items()}


def digest(**fields: object) -> str:
    run = Run(RunConfig(**(FIELDS | fields)))  # type: ignore[arg-type]
    run.advance(20)
    return digest_of(run.trace())


def test_a_link_with_a_digest_runs_again_and_says_that_the_same_came_out():
    page = rests(playground(**QUERY, digest=digest()))
    assert any("Same result" in said.value for said in page.success)


def test_a_link_with_a_digest_starts_its_run_once_and_another_does_not():
    page = playground(**QUERY, digest=digest())
    started = declared(page)["start"]
    assert started
    assert declared(sound(page.run()))["start"] == started  # a browser starts at words that are new to it
    assert declared(playground(**QUERY))["start"] == ""


def test_a_digest_of_other_numbers_is_told_where_it_departs():
    page = rests(playground(**QUERY, digest=digest(seed=1)))
    assert "first differs from the link's at step 0" in words(page)


def test_a_pasted_configuration_is_taken_over_and_malformed_json_is_refused_in_a_sentence():
    page = playground(**QUERY)
    page.session_state["take_home"] = True
    sound(page.run())
    page.text_area(key=PASTED.name).set_value(configuration_json(RunConfig(**(FIELDS | {"norm": "rms norm"}))))  # type: ignore[arg-type]
    press(page, "Use it")
    assert configuration(page).norm == "rms norm"
    page.text_area(key=PASTED.name).set_value('{"format": 1,')
    press(page, "Use it")
    assert "not valid JSON" in words(page)
    assert configuration(page).norm == "rms norm"


def test_the_page_says_what_no_browser_trains():
    for query, said in (({}, "needs no server"), ({"optimizer": "muon"}, "Optimiser muon is not trained in a browser")):
        page = playground(**QUERY, **query)
        page.session_state["take_home"] = True
        assert said in words(sound(page.run()))
