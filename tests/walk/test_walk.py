"""What a walking visitor calls broken, on pages made up for it."""

from dataclasses import replace

import pytest

from tests.walk.checks import CHECKS, Done
from tests.walk.seen import Chart, Link, Seen

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
