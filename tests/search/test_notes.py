"""Beside your notes: every stop is a page and fits a plan, and every right number comes out of a computation."""

import re
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from components.search import index
from components.search.notes import PATHS, NotesStop
from models.claims.claims import CLAIMS
from models.lessons.plan import plan_from
from tests.app_page import by_link, words
from tests.claims.kit import gathered

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

STOPS = {f"{title}: {stop.heading}": stop for title, stops in PATHS.items() for stop in stops}
SCORES = np.array([1, 1, 1, 0.5, 1, 0.5])


def too_short() -> float:
    x = np.random.default_rng(0).standard_normal((64, 4))
    centred = x - x.mean(1, keepdims=True)
    return float(
        100 * (1 - (centred / x.std(1, ddof=1, keepdims=True)).std() / (centred / x.std(1, keepdims=True)).std())
    )


def oldest() -> float:
    return min(
        float(year)
        for year in re.findall(
            r"\((\d{4})\)", CLAIMS["residuals-in-2016"].finding(gathered("residuals-in-2016")).sentence
        )
    )


RIGHT = {
    "the first design here that keeps a gradient over 32 layers": oldest,
    "how much shorter than nn.LayerNorm a token of 4 features comes out": too_short,
    "the encoding of position 1, as sine, cosine, sine, cosine": lambda: [
        np.sin(1),
        np.cos(1),
        np.sin(0.01),
        np.cos(0.01),
    ],
    "the first row of Q, for X of 0.1 to 1.2 and W_Q of 0.1 to 1.6 by rows": lambda: (
        np.arange(1, 13).reshape(3, 4)[0] / 10 @ (np.arange(1, 17).reshape(4, 4) / 10)
    ),
    "the weight of a score of 1 among 1, 1, 1, 0.5, 1, 0.5": lambda: np.exp(1) / np.exp(SCORES).sum(),
    "the variance of [1.5, 3.5, -1.5]": lambda: np.var([1.5, 3.5, -1.5]),
    "the variance of the third feature, of -1, 0.5, 1.5": lambda: np.var([-1, 0.5, 1.5]),
}


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", text)]


@pytest.mark.parametrize("stop", [stop for stop in STOPS.values() if stop.right], ids=lambda stop: stop.of)
def test_a_right_number_is_computed_and_another_printed(stop: NotesStop) -> None:
    computed = np.atleast_1d(RIGHT[stop.of]())
    decimals = len(stop.right.strip("[]%").split(",")[0].partition(".")[2])
    assert numbers(stop.right) == pytest.approx(computed, abs=0.5 * 10**-decimals)
    assert numbers(stop.printed) != pytest.approx(computed, abs=0.5 * 10**-decimals)


def test_every_stop_leads_to_what_can_be_opened() -> None:
    opened = {entry.href for entry in index._index()[""].entries} | {"anatomy", "maps"}
    assert {stop.link for stop in STOPS.values()} - opened == set()


def test_there_are_five_of_a_few_stops() -> None:
    assert len(PATHS) == 5
    assert all(4 <= len(stops) <= 8 for stops in PATHS.values())


@pytest.mark.parametrize("page", ["labs.py", "lessons.py", "start.py"])
def test_a_path_is_offered_and_makes_a_plan(page: str) -> None:
    said = words(by_link(page, notes="slides-on-transformers-their-positions-and-norms"))
    assert "Positional encoding of position 1" in said
    assert "it is [0.841, 0.540, 0.010, 1.000]" in said
    (link,) = re.findall(r"\]\((teacher\?[^)]*)\)", said)
    plan = plan_from(parse_qs(urlsplit(link).query)["plan"][0])
    assert plan.faults == ()
    assert len(plan.entries) >= 4


def test_a_link_that_hides_shows_no_way_out() -> None:
    assert "Beside your notes" not in words(by_link("labs.py", hide="answers"))
