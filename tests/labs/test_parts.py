"""The parts of labs as their words announce them."""

from components.labs.entrance import BOXES, parts_on_map
from components.labs.page import PARTS
from models.exhibits import listed

ALL = {part.folder: part for parts in PARTS.values() for part in parts}


def test_every_part_has_words_and_a_page():
    assert sorted(ALL) == listed("labs", "page")


def test_no_two_parts_have_the_same_place():
    assert len({(part.lab, part.order) for part in ALL.values()}) == len(ALL)
    places = [(box, part.map[box][0]) for box in BOXES for part in parts_on_map(box)]
    assert len(set(places)) == len(places) == sum(len(part.map) for part in ALL.values())


def test_what_a_part_takes_or_stands_in_exists():
    assert {part.takes for part in ALL.values()} | {part.within for part in ALL.values()} <= {"", *ALL}
    assert all(part.within == ALL[part.takes].within for part in ALL.values() if part.takes)
