"""What a walking visitor calls broken, on pages made up for it."""

import time
from dataclasses import replace
from unittest.mock import Mock

import pytest

from tests.walk.checks import CHECKS, Done
from tests.walk.finding import Finding
from tests.walk.seen import Chart, Link, Seen
from tests.walk.tabs import Manner, RestlessError, Tabs

HOST = "http://127.0.0.1:1"
FINE = Seen(
    address=f"{HOST}/lessons?lesson=final",
    headings=("Lessons", "7. Why the final norm"),
    texts=("None of them is smaller than 0.1.", "norm none", "a finance model", "f(x) = (x, x)"),
    refusals=("Depth 999 is refused.",),
    main={"Lesson": "7. Why the final norm", "Speed": "full speed"},
    side={"Depth": "16"},
    charts=(
        Chart("Update", 0, "nothing measured yet"),
        Chart("Slope", 0, "choose an activation"),
        Chart("Gradient", 2),
    ),
    links=(
        Link("Next", "lessons?lesson=init", f"{HOST}/lessons?lesson=init"),
        Link("Paper", "https://a.org/b", "https://a.org/b"),
    ),
)
ELSEWHERE = replace(FINE, address=f"{HOST}/claims?claim=eps", headings=("Common claims",), main={"Claim": "eps"})
OTHER_PART = replace(FINE, headings=("Lessons", "8. Why warm-up"), main={"Lesson": "8. Why warm-up"})
MOVED = replace(OTHER_PART, address=f"{HOST}/lessons?lesson=warmup")
PRESS, WAY = Done("press 'Train'"), Done("follow 'Next'", moves=True, refusable=False)
RELOAD = Done("reload", refusable=False, same=True)


def kinds(before: Seen, done: Done, after: Seen) -> set[str]:
    """The checks that find something."""
    return {check.__name__ for check in CHECKS for _ in check(before, done, after)}


@pytest.mark.parametrize(
    ("done", "after"),
    [
        (PRESS, FINE),
        (PRESS, replace(FINE, refusals=("Width 9999 is refused.",))),
        (PRESS, replace(FINE, side={"Depth": "17"}, address=FINE.address + "&depth=17")),
        (WAY, MOVED),
        (WAY, ELSEWHERE),
        (RELOAD, replace(FINE, main={"Lesson": "7. Why the final norm", "Speed": "25 steps/s"}, side={})),
    ],
)
def test_what_is_as_it_should_be_is_not_called_broken(done, after):
    assert kinds(FINE, done, after) == set()


@pytest.mark.parametrize(
    "text",
    [
        "Net is None; legal is one of mlp, transformer.",
        "loss nan",
        "undefined",
        "step [object Object]",
        "((3, 'residual', False),)",
        "<models.spec.RunConfig object at 0x7f>",
        "{'depth': 3}",
        "np.float64(0.3)",
    ],
)
def test_a_text_that_shows_what_is_missing_or_a_values_innards_is_broken(text):
    assert kinds(FINE, PRESS, replace(FINE, texts=(*FINE.texts, text))) == {"leak"}


@pytest.mark.parametrize(
    ("kind", "done", "after"),
    [
        ("traceback", PRESS, replace(FINE, exceptions=("KeyError: 'None'",))),
        ("refusal", WAY, replace(MOVED, refusals=("Width 9999 is refused.",))),
        ("refusal", RELOAD, replace(FINE, refusals=("Width 9999 is refused.",))),
        ("reload", RELOAD, OTHER_PART),
        ("reload", RELOAD, replace(FINE, side={"Depth": "24"})),
        ("address", WAY, OTHER_PART),
        ("thrown", PRESS, MOVED),
        ("thrown", PRESS, ELSEWHERE),
        ("chart", PRESS, replace(FINE, charts=(Chart("Loss", 0),))),
        ("link", PRESS, replace(FINE, links=(Link("Gone", "gone", f"{HOST}/gone"),))),
        ("link", PRESS, replace(FINE, links=(Link("Nothing", "", f"{HOST}/lessons"),))),
        ("link", PRESS, replace(FINE, links=(Link("Below", "#below", f"{HOST}/lessons#below", lands=False),))),
        ("link", WAY, replace(MOVED, dialogs=("Page not found\nYou have requested page /x",))),
        ("narrow", PRESS, replace(FINE, wide=40)),
    ],
)
def test_each_check_finds_what_it_is_for(kind, done, after):
    assert kinds(FINE, done, after) == {kind}


def test_a_section_may_come_or_go_with_a_net_that_cannot_be_trained_and_with_nothing_else():
    other = replace(FINE, headings=("Lessons", "This network"), address=f"{HOST}/lessons?lesson=final&device=mps")
    assert kinds(FINE, PRESS, other) == {"thrown"}
    assert kinds(FINE, PRESS, replace(other, troubles=("This machine has no mps.",))) == set()


def test_every_check_says_what_it_looks_for():
    assert all(check.__doc__ for check in CHECKS)


def test_findings_that_differ_in_values_only_are_one_and_say_how_to_get_there():
    trail = tuple(f"press {at}" for at in range(20))
    one = Finding(
        "address", "heading 2: 'Step 1' became 'Health'; Part: '' became 'a'", f"{HOST}/playground?depth=3", trail
    )
    other = replace(one, what="heading 2: 'Health' became 'Lens'; Part: 'a' became 'b'", address=f"{HOST}/playground")
    assert one.same == other.same
    assert one.same != replace(one, what="heading 2: 'Step 1' became 'Health'").same
    assert one.same != replace(one, address=f"{HOST}/compare").same
    assert str(one).endswith("8. press 19")


class Busy:
    """A tab whose script always runs, and what it says at each look."""

    def __init__(self, *says: str, then_quiet: bool) -> None:
        self.says, self.then_quiet = list(says), then_quiet

    def locator(self, where: str) -> "Busy":
        return self

    def count(self) -> int:
        return int(self.then_quiet and len(self.says) == 1)

    def wait_for_timeout(self, milliseconds: int) -> None:
        time.sleep(0.02)


def rested(monkeypatch: pytest.MonkeyPatch, tab: Busy) -> Seen:
    """What is seen of it by somebody with little patience."""

    def read(page: Busy) -> Seen:
        return replace(FINE, texts=(page.says.pop(0) if len(page.says) > 1 else page.says[0],))

    monkeypatch.setattr("tests.walk.tabs.read", read)
    monkeypatch.setattr("tests.walk.tabs.PLAYING", 0.0)
    tabs = Tabs(Mock(), HOST, Manner(), patience=0.15, _open=[tab])
    return tabs.rested()


def test_a_page_is_given_time_while_it_says_how_far_its_work_is_and_not_for_ever(monkeypatch):
    for says in (
        "Measuring step 300: {}%. What is shown is step 0.",
        "Trying changes of this run for a few steps each: {}%.",
    ):
        going = [says.format(at) for at in range(20)]
        assert rested(monkeypatch, Busy(*going, then_quiet=True)).texts == (going[-1],)
    for says in (["Depth 3", "Depth 4"] * 10, ["Measuring step 300: 4%.", "Measuring step 300: 5%."] * 10):
        with pytest.raises(RestlessError, match="still running"):
            rested(monkeypatch, Busy(*says, then_quiet=True))
