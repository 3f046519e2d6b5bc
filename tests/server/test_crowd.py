"""Who stays when there are too many connections."""

from dataclasses import dataclass

import pytest

from components.server.connection import Crowd


@dataclass(eq=False)
class One:
    address: str
    ticket: str = ""
    ended: bool = False

    def end(self) -> None:
        self.ended = True


def crowd(*members: One, **bounds: int) -> Crowd:
    full = Crowd(**bounds)
    for one in members:
        assert full.admit(one)
    return full


def ended(*members: One) -> list[bool]:
    return [one.ended for one in members]


def test_a_stranger_goes_before_a_guest_and_the_one_that_came_first_before_others():
    members = One("a", "t"), One("b"), One("c"), One("d", "u")
    assert crowd(*members, max_connections=4).admit(One("e"))
    assert ended(*members) == [False, True, False, False]


def test_of_the_strangers_those_go_first_whose_address_has_most():
    members = One("class"), One("flood"), One("flood"), One("flood", "t")
    full = crowd(*members, max_connections=4)
    for _ in range(20):
        assert full.admit(One("flood"))
    assert ended(*members) == [False, True, True, False]
    assert len(full) == 4


def test_among_guests_only_a_newcomer_of_another_address_gets_a_place():
    members = [One("big", str(at)) for at in range(3)] + [One("small", "t")]
    full = crowd(*members, max_connections=4)
    assert not full.admit(One("big"))
    assert ended(*members) == [False] * 4
    assert full.admit(One("new"))
    assert ended(*members) == [True, False, False, False]


def test_an_address_has_no_more_than_its_share():
    members = One("a", "t"), One("a"), One("b")
    full = crowd(*members, max_connections=9, max_per_address=2)
    assert full.admit(One("a", "u"))
    assert ended(*members) == [False, True, False]
    assert not full.admit(One("a"))
    assert full.admit(One("b"))


def test_only_guests_count_as_such():
    full = crowd(One("a", "t"), One("a"), One("a"))
    assert (full.ticketed_count, len(full)) == (1, 3)


@pytest.mark.parametrize(("most", "gone"), [(1, 3), (2, 2), (4, 0)])
def test_of_one_ticket_the_newest_connections_stay(most: int, gone: int):
    members = [One("a", "t") for _ in range(4)]
    full = crowd(*members, One("a", "u"), max_per_ticket=most)
    full.limit_ticket(members[-1])
    assert sum(ended(*members)) == gone
    assert not members[-1].ended


def test_a_class_of_sixty_behind_one_address_has_several_tabs_each():
    full = crowd(*(One("hall", f"{student} {tab}") for student in range(60) for tab in range(6)))
    assert full.ticketed_count == 360
