"""Positions: rows, angles and biases against torch, and what is said of each kind."""

import numpy as np
import pytest
import torch

from addnorm.words import number
from components.labs.distances import distance_chart
from components.shell.text import vector
from exhibits.labs.attention.positions import page as positions
from exhibits.labs.attention.positions.numbers import full_turns, nearest_rows
from exhibits.labs.attention.positions.page import ROUNDING, order_sentence, shuffling_differences, table_map
from models.labs.positions import by_distance, position_rows, scores, sinusoids
from models.spec import POSITIONS, RunConfig
from models.training import Run, snapshot_of
from tests import hand
from tests.app_page import sound, words
from tests.drawn import all_drawn
from tests.labs_page import lab
from tests.tables import table_of


def test_the_nearest_rows_of_many_are_those_of_all_pairs():
    table = np.random.default_rng(1).normal(size=(60, 3))
    apart = np.linalg.norm(table[:, None] - table, axis=-1) + np.diag(np.full(60, np.inf))
    distance, first, second = nearest_rows(table)
    assert (distance, first) == (pytest.approx(apart.min()), min(np.argwhere(apart == apart.min())[0]))
    assert apart[first, second] == apart.min()


@pytest.mark.parametrize("kind", POSITIONS)
def test_every_kind_is_drawn_and_scored(kind):
    for figure in all_drawn([table_map(kind, 5, 4, 0), distance_chart(scores(kind, 5, 4))]):
        table_of(figure)
    assert positions.longer_text_sentence(kind, 5, 4)


def test_a_learned_row_starts_as_large_as_sines_and_cosines():
    learned, table = position_rows("learned", 200, 64), position_rows("sinusoidal", 200, 64)
    assert np.square(learned).mean() == pytest.approx(np.square(table).mean(), rel=0.05)
    cfg = RunConfig.arranged("pre-norm", net="transformer", task="book", position="learned", width=64, depth=1)
    model = snapshot_of(Run(cfg, probe=False, frames=False)).model
    assert model.position.table_TD.square().mean().item() == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize(
    ("kind", "projected", "expected"),
    [
        ("sinusoidal", False, "an earlier and a later position score the same"),
        ("sinusoidal", True, "Distance alone does not determine the score"),
        ("learned", False, "Distance alone does not determine the score"),
        ("rotary", True, "so the score shows the order"),
        ("relative bias", True, "so the score shows the order"),
        ("alibi", True, "an earlier and a later position score the same"),
        ("none", False, "Not even the distance matters"),
    ],
)
def test_the_claim_that_distance_alone_matters_is_checked(kind, projected, expected):
    assert expected in positions.distance_sentence(kind, by_distance(scores(kind, 32, 16, projected=projected)))


def test_a_longer_text_meets_no_row_or_angles_that_are_new():
    assert "none for position 32" in positions.longer_text_sentence("learned", 32, 16)
    gone = full_turns(16, 32)
    assert gone[0] == pytest.approx(32 / (2 * np.pi))
    circle = sinusoids(np.array([0.0, 1.0]) * 2 * np.pi, 16)[:, :2]
    np.testing.assert_allclose(circle[0], circle[1], atol=1e-12)
    assert (
        f"{int((gone >= 1).sum())} of the 8 pairs of features complete a full turn"
        in positions.longer_text_sentence("rotary", 32, 16)
    )


@pytest.mark.parametrize("count", [2, 8, 32, 100, 128])
def test_a_longer_text_meets_a_bucket_that_is_known_or_new(count):
    used = {hand.t5_bucket(ago, bidirectional=True) for ago in range(count)}
    new = hand.t5_bucket(count, bidirectional=True)
    said = positions.longer_text_sentence("relative bias", count, 8)
    assert f"falls into bucket {new}, which" in said
    assert ("never uses" in said) == (new not in used)
    both = {hand.t5_bucket(ago, bidirectional=True) for ago in range(1 - count, count)}
    assert f"{count} positions use {len(both)} of a head's 32" in positions.bias_sentence("relative bias", count)


@pytest.mark.parametrize(
    ("kind", "count", "width"), [("sinusoidal", 32, 16), ("learned", 8, 4), ("sinusoidal", 128, 2)]
)
def test_positions_have_rows_of_their_own_and_the_closest_are_found(kind, count, width):
    table = torch.tensor(position_rows(kind, count, width))
    apart = torch.pdist(table).min().item()
    sentence = positions.closest_rows_sentence(table.numpy())
    assert sentence.startswith("No two positions share a row")
    assert f"at a distance of {apart:.3g};" in sentence
    assert positions.closest_rows_sentence(np.ones((3, 2))).startswith("Two positions share a row")


def test_position_two_has_twice_the_angles_of_one():
    sine, cosine = np.sin([1, 0.01]), np.cos([1, 0.01])
    doubled = np.column_stack([2 * sine * cosine, cosine**2 - sine**2]).ravel()
    assert f"twice these angles: {vector(doubled.round(4))}." in positions.slip_sentence()


@pytest.mark.parametrize("width", [2, 16])
def test_pairs_repeat_and_rows_do_not(trainer_in_this_process, width):
    page = lab("attention")
    page.session_state["attention_part"] = "Positions"
    sound(page.run()).slider(key="attention_positions_width").set_value(width)
    said = words(sound(page.run()))
    first, last = (2 * np.pi * 10_000 ** (pair / width) for pair in (0, width - 2))
    assert f"repeats after 2π = {number(first)} positions, the last after {number(last)}." in said
    for pair, period in ((0, first), (width - 2, last)):
        again = sinusoids(np.array([3.0, 3.0 + period]), width)[:, pair : pair + 2]
        np.testing.assert_allclose(again[0], again[1], atol=1e-9)
    table = torch.tensor(sinusoids(np.arange(2000), width))
    assert torch.pdist(table).min() > 1e-6


def test_only_a_head_without_positions_and_without_a_mask_is_blind_to_the_order():
    for seed in range(20):
        rows = shuffling_differences(seed)
        assert rows.keys() == POSITIONS.keys()
        blind = {(kind, mask) for kind, found in rows.items() for mask, off in found.items() if off < ROUNDING}
        assert blind == {("none", "no mask")}
    assert "Blind to the order: “none” with no mask. All others" in order_sentence(rows)
