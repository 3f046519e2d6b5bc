"""What a stream keeps of a token: cosines and mean squares by hand."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from exhibits.labs.residual.memory.page import sizes_sentence, stream_cosines
from tests.app_page import sound, words
from tests.labs_page import lab


def test_random_branches_forget_a_token_sooner_behind_a_relu_after_every_add():
    """By hand, at the end of 24 blocks: the cosine with x of relu(... relu(x + F1) ... + F24)."""
    source = np.random.default_rng(0)
    x = source.normal(size=48)
    x /= np.sqrt(np.mean(x**2))
    end = x
    for write in source.normal(size=(24, 48)):
        end = np.where(end + write > 0, end + write, 0)
    found = stream_cosines(48, 24, 1.0, 0)
    assert found["residual, ReLU after the add"][-1] == pytest.approx(end @ x / np.linalg.norm(end) / np.linalg.norm(x))
    assert len(found) == 4


def test_the_mean_square_of_a_sum_is_three_terms_of_which_random_branches_leave_two():
    x, branch = np.array([1.5, 2.0, -0.5]), np.array([0.8, 1.2, -0.1])
    assert sizes_sentence(x, branch).startswith("Its mean square is 2.167 + 2.433 + 0.6967 = 5.297. ")
    assert ((x + branch) ** 2).mean() == pytest.approx(5.297, abs=5e-4)
    assert "mean squares add: 2.167 + 0.6967 = 2.863, which is 1.32 times the token's." in sizes_sentence(x, branch)
    assert (x**2).mean() + (branch**2).mean() == pytest.approx(1.3215 * (x**2).mean(), abs=5e-4)
    assert "mean squares add: 2.167 + 0 = 2.167, which is 1 times the token's." in sizes_sentence(x, 0 * branch)
    source = np.random.default_rng(0)
    writes = source.normal(size=(4000, 3))
    cross = (2 * x * writes).mean(1)
    assert abs(cross.mean()) < 4 * cross.std() / 4000**0.5
    assert ((x + writes) ** 2).mean() == pytest.approx((x**2).mean() + (writes**2).mean(), rel=0.05)


def test_a_skip_remembers_as_a_sum_of_random_vectors_does():
    """|x| against the square root of 1 + blocks, and half of it lost at every norm of the sum."""
    many = [stream_cosines(4000, 24, 1.0, seed) for seed in range(3)]
    assert np.mean([one["residual"][-1] for one in many]) == pytest.approx(1 / 5, abs=0.03)
    assert np.mean([one["residual, post-norm"][8] for one in many]) == pytest.approx(2**-4, abs=0.02)
    assert abs(np.mean([one["no residual"][1:] for one in many])) < 0.02


@pytest.fixture
def page(trainer_in_this_process) -> AppTest:
    return lab("residual")


def test_at_size_0_the_block_is_the_identity(page):
    page.slider(key="residual_memory_size").set_value(0.0)
    sound(page.run())
    assert "**The block is the identity" in words(page)
    assert "nan" not in words(page)
