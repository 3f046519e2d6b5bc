"""What a visitor takes along and brings in: links that check themselves, files, pasted configurations."""

import pytest

from components.take_home import PASTED
from models.export import configuration_json, digest_of
from models.spec import RunConfig
from models.training import Run
from tests.app_page import address, configuration, labels, playground, press, sound, words

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")
FIELDS = {"depth": 3, "width": 16, "batch": 8, "steps": 20}
QUERY = {key: str(value) for key, value in FIELDS.items()}


def digest(**fields: object) -> str:
    run = Run(RunConfig(**(FIELDS | fields)))  # type: ignore[arg-type]
    run.advance(20)
    return digest_of(run.trace())


def rerun_to_its_end(page):
    for _ in range(20):
        if "Train" in labels(page):
            return page
        sound(page.run())
    raise AssertionError(words(page))


def test_a_link_with_a_digest_runs_again_and_says_that_the_same_came_out():
    page = rerun_to_its_end(playground(**QUERY, digest=digest()))
    assert any("Same result" in said.value for said in page.success)


def test_a_digest_of_other_numbers_is_told_where_it_departs():
    page = rerun_to_its_end(playground(**QUERY, digest=digest(seed=1)))
    assert "departs from the link's at step 0" in words(page)


def test_a_digest_of_another_version_is_a_sentence():
    page = rerun_to_its_end(playground(**QUERY, digest="9.2.13.0.AAAA"))
    assert not page.success
    assert "digest" in words(page)


def test_a_digest_leaves_the_address_when_the_run_is_another():
    page = rerun_to_its_end(playground(**QUERY, digest=digest()))
    assert "digest" in address(page)
    page.toggle(key="residual").set_value(False)
    sound(page.run())
    assert "digest" not in address(page)


def test_a_pasted_configuration_is_taken_over_and_malformed_json_is_refused_in_a_sentence():
    page = playground(**QUERY)
    page.session_state["take_home"] = True
    sound(page.run())
    page.text_area(key=PASTED).set_value(configuration_json(RunConfig(**(FIELDS | {"norm": "rms norm"}))))  # type: ignore[arg-type]
    press(page, "Use it")
    assert configuration(page).norm == "rms norm"
    page.text_area(key=PASTED).set_value('{"format": 1,')
    press(page, "Use it")
    assert "not valid JSON" in words(page)
    assert configuration(page).norm == "rms norm"
