"""Why scores are divided by √d_k: statistics of random scores and dice, and the page."""

from itertools import product

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from exhibits.labs.attention.scaling.numbers import dice_draws, dice_probabilities
from exhibits.labs.attention.scaling.page import (
    DIVISORS,
    KEY_SIZES,
    dice_sentence,
    entropy_chart,
    experiment,
    histogram,
)
from exhibits.labs.attention.scaling.page import variance_sentence as of_variance
from models.labs.attention import KEYS, score_draws
from tests.app_page import by_link, charts, sound, words
from tests.drawn import drawn
from tests.labs_page import lab


def test_keeps_mean_and_variance_apart():
    found = experiment(0)
    at = KEY_SIZES.index(64)
    raw, scaled = found["as they are"][at], found["divided by √d_k"][at]
    for measured in (f"({raw.mean:.2g} in", f"({raw.variance:.3g})", "√64 = 8", f"({scaled.variance:.3g})"):
        assert measured in of_variance(raw, scaled)
    for row, scaling in zip(found.values(), (1, np.sqrt(KEY_SIZES), np.array(KEY_SIZES), np.sqrt(512)), strict=True):
        expected = np.array(KEY_SIZES) / np.square(scaling)
        np.testing.assert_allclose([one.variance for one in row], expected, rtol=0.25)


def test_the_entropy_stays_below_that_of_equal_weights():
    figure = drawn(entropy_chart(experiment(0)))
    assert figure["layout"]["shapes"][1]["y0"] == pytest.approx(np.log(KEYS))
    assert max(max(trace["y"]) for trace in figure["data"]) <= np.log(KEYS)


def opened(page: AppTest, part: str) -> AppTest:
    page.segmented_control(key="attention_part").set_value(part)
    return sound(page.run())


@pytest.fixture
def page(trainer_in_this_process) -> AppTest:
    page = lab("attention")
    page.selectbox(key="attention_head_preset").select("X times W")
    return sound(page.run())


def test_the_size_of_the_keys_is_chosen_and_the_draws_are_drawn_anew(page):
    opened(page, "Softmax and √d_k")
    before = charts(page)["Variance of the scores"]
    page.select_slider(key="attention_scaling_size").set_value(256)
    page.number_input(key="attention_scaling_seed").set_value(5)
    sound(page.run())
    assert "variance that is d_k = 256" in words(page)
    assert charts(page)["Variance of the scores"] != before
    assert len(charts(page)["Variance of the scores"]["data"]) == len(DIVISORS) + 1


pytestmark = pytest.mark.usefixtures("trainer_in_this_process")


@pytest.mark.parametrize(("count", "ends"), [(1, 2 / 6), (2, 2 / 36), (5, 2 / 6**5)])
def test_more_dice_make_extremes_rarer(count, ends):
    """All outcomes one by one; 33%, 5.6% and .03% are the smallest or the largest total."""
    totals = np.array([sum(faces) for faces in product(range(1, 7), repeat=count)])
    expected = np.bincount(totals)[count:] / len(totals)
    np.testing.assert_allclose(dice_probabilities(count), expected, atol=1e-12)
    assert expected[0] + expected[-1] == pytest.approx(ends)
    assert f"expected in {ends:.2%}" in dice_sentence(dice_draws(count), count)
    assert dice_draws(count).std() == pytest.approx(totals.std(), rel=0.05)


@pytest.mark.parametrize("count", [1, 2, 10, 100])
def test_a_histogram_holds_every_draw(count):
    totals = dice_draws(count)
    for figure in (histogram(totals, "total", range(count, 6 * count + 1)), histogram(score_draws(64), "q·k")):
        assert sum(drawn(figure)["data"][0]["y"]) == pytest.approx(1, abs=1e-3)


def test_the_page_draws_scores_and_dice():
    page = by_link("attention.py", part="softmax-and-d-k", drawn="dice", dice="5")
    assert "Totals of 5 dice" in words(page)
    assert "Histogram of the draws" in charts(page)
    page.segmented_control(key="attention_scaling_drawn").set_value("scores")
    assert "away from their mean" in words(sound(page.run()))
