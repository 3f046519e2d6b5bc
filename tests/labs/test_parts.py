"""The parts of labs as their words announce them."""

import pytest

from components.labs.entrance import BOXES, parts_on_map
from components.labs.page import PARTS
from models.exhibits import listed
from models.labs.labs import LABS
from models.lessons.glossary import PAGES
from tests import labs_page
from tests.app_page import charts, sound
from tests.drawn import all_drawn
from tests.tables import table_of

ALL = {part.folder: part for parts in PARTS.values() for part in parts}


def test_every_lab_has_words_parts_and_a_page():
    assert set(LABS) == set(PARTS)
    assert set(LABS) <= PAGES


def test_every_part_has_words_and_a_page():
    assert sorted(ALL) == listed("labs", "page")


def test_no_two_parts_have_the_same_place():
    assert len({(part.lab, part.order) for part in ALL.values()}) == len(ALL)
    places = [(box, part.map[box][0]) for box in BOXES for part in parts_on_map(box)]
    assert len(set(places)) == len(places) == sum(len(part.map) for part in ALL.values())


def test_what_a_part_takes_or_stands_in_exists():
    assert {part.takes for part in ALL.values()} | {part.within for part in ALL.values()} <= {"", *ALL}
    assert all(part.within == ALL[part.takes].within for part in ALL.values() if part.takes)


@pytest.mark.parametrize("lab", PARTS)
def test_plotly_and_tables_accept_every_chart(lab, trainer_in_this_process):
    page = labs_page.lab(lab)
    choices = [box for box in page.segmented_control if box.key.endswith(("_part", "_closer"))]
    for key, option in [(None, None), *((box.key, option) for box in choices for option in box.options)]:
        if key:
            page.session_state[key] = option
            sound(page.run())
        for figure in all_drawn([*charts(page).values()]):
            table_of(figure)
