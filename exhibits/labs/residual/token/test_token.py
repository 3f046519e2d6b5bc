"""Add & norm on a token: the worked examples with their right numbers, and the walk against the app's sublayers."""

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from exhibits.labs.residual.token.numbers import contribution_factors
from exhibits.labs.residual.token.page import end_sentence, walk_map
from models.labs.residual import EPS, WALKABLE_PLACEMENTS, WORKED_EXAMPLES, layer_norm, run_sublayers
from models.nets.sublayer import Sublayer, build_skip
from models.spec.placement import PLACEMENTS
from tests.app_page import sound, words
from tests.drawn import drawn
from tests.labs.branches import BRANCHES, TOKEN, Says, as_tensor, norm_of
from tests.labs_page import lab

CHAINED = "Attention, then feed-forward, post-norm"


def close(found, expected, digits=3):
    np.testing.assert_allclose(found, expected, atol=0.51 * 10**-digits)


def steps_of(name: str):
    example = WORKED_EXAMPLES[name]
    return run_sublayers(np.array(example.token), np.array(example.branches), example.placement)


def test_from_the_printed_token_and_chained_from_the_right_one():
    (step,) = steps_of("After the feed-forward network, post-norm")
    close(step.sum, [0.40, 1.86, -2.19], 9)
    close([step.norm_add.mean, step.norm_add.variance], [0.0233, 2.8047], 4)
    close(step.after, [0.225, 1.097, -1.322])
    first, second = steps_of(CHAINED)
    close(first.after, [0.162, 1.136, -1.298])
    close(second.after, [0.226, 1.096, -1.322])


@pytest.mark.parametrize("skip", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("placement", WALKABLE_PLACEMENTS)
def test_every_placement_walks_as_the_apps_sublayers_do(placement, skip):
    slots = PLACEMENTS[placement]
    x = as_tensor(TOKEN)
    for output, step in zip(BRANCHES, run_sublayers(TOKEN, BRANCHES, placement, skip=skip), strict=True):
        branch = Says(output)
        sublayer = Sublayer(
            branch,
            skip=build_skip(skip),
            norm_in=norm_of(slots.norm_in),
            norm_out=norm_of(slots.norm_out),
            norm_add=norm_of(slots.norm_add),
        )
        x = sublayer(x)
        np.testing.assert_allclose(step.after, x[0, 0].detach().numpy(), atol=1e-12)
        np.testing.assert_allclose(step.branch_input, branch.heard[0, 0].detach().numpy(), atol=1e-12)


@pytest.mark.parametrize("skip", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("placement", WALKABLE_PLACEMENTS)
def test_the_end_of_the_stream_is_the_sum_of_what_is_left_of_every_write(placement, skip):
    steps = run_sublayers(TOKEN, BRANCHES, placement, skip=skip)
    factors = contribution_factors(steps, skip=skip)
    pieces = [TOKEN, *(step.branch_output for step in steps)]
    if PLACEMENTS[placement].norm_add:
        pieces = [piece - piece.mean() for piece in pieces]
    np.testing.assert_allclose(sum(f * p for f, p in zip(factors, pieces, strict=True)), steps[-1].after, atol=1e-12)


@pytest.mark.parametrize("skip", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("placement", [one for one in WALKABLE_PLACEMENTS if not PLACEMENTS[one].norm_add])
def test_a_relu_after_the_add_cuts_the_skip(placement, skip):
    """By torch: relu(skip x + F) sublayer by sublayer, and the gradient of its end's sum with respect to the token."""
    x = start = torch.tensor(TOKEN, requires_grad=True)
    for output in BRANCHES:
        written = torch.tensor(output)
        if PLACEMENTS[placement].norm_out:
            written = (written - written.mean()) / (written.var(correction=0) + EPS).sqrt()
        x = torch.relu(skip * x + written)
    steps = run_sublayers(TOKEN, BRANCHES, placement, skip=skip, relu=True)
    np.testing.assert_allclose(steps[-1].after, x.detach().numpy(), atol=1e-12)
    (gradient,) = torch.autograd.grad(x.sum(), start)
    factors = contribution_factors(steps, skip=skip)
    np.testing.assert_allclose(factors[0], gradient.numpy(), atol=1e-12)
    pieces = [TOKEN, *(step.branch_output for step in steps)]
    np.testing.assert_allclose(sum(f * p for f, p in zip(factors, pieces, strict=True)), steps[-1].after, atol=1e-12)


def test_what_a_relu_after_the_add_leaves_of_a_token_is_counted_and_written_out():
    """By hand: [1, 2, -1] + [-3, 0, 0.5] = [-2, 2, -0.5]; only the second feature of x goes on."""
    steps = run_sublayers(np.array([1.0, 2, -1]), [np.array([-3.0, 0, 0.5]), np.array([1.0, 1, 1])], "none", relu=True)
    np.testing.assert_allclose(steps[0].after, [0, 2, 0])
    np.testing.assert_allclose(steps[1].after, [1, 3, 1])
    np.testing.assert_array_equal(contribution_factors(steps), [[0, 1, 0], [0, 1, 0], [1, 1, 1]])
    assert "leaves 1 of 3 features of x a way to the end" in end_sentence(steps, 1.0)


def test_pre_norm_forgets_nothing_and_post_norm_fades_the_oldest_most():
    np.testing.assert_array_equal(contribution_factors(run_sublayers(TOKEN, BRANCHES, "pre-norm")), 1)
    fading = contribution_factors(run_sublayers(TOKEN, 3 * BRANCHES, "post-norm"))[:, 0]
    assert fading[0] == fading[1] < fading[2] < fading[3]


def test_a_token_of_equal_features_is_normed_to_zeros():
    np.testing.assert_array_equal(layer_norm(np.full(4, 7.0)).values, 0)


@pytest.fixture
def page(trainer_in_this_process) -> AppTest:
    return lab("residual")


def test_the_picture_shows_the_token_after_every_operation_as_torch_computes_it():
    x, f, g = (torch.tensor(row, dtype=torch.float64) for row in ((1.0, 2, -1), (0.5, 1.5, -0.5), (0.25, 0.8, -1)))
    once = torch.nn.functional.layer_norm(x + f, (3,))
    twice = torch.nn.functional.layer_norm(once + g, (3,))
    expected = {"x": x, "F 1": f, "sum 1": x + f, "norm 1": once, "F 2": g, "sum 2": once + g, "norm 2": twice}
    figure = walk_map(run_sublayers(x.numpy(), np.array([f.numpy(), g.numpy()]), "post-norm"), x.numpy())
    (trace,) = drawn(figure)["data"]
    assert trace["x"] == list(expected)
    seen = np.array(figure["data"][0]["bind"]["values"], float)
    np.testing.assert_allclose(seen.T, np.array([one.tolist() for one in expected.values()]), rtol=1e-3)
    read = walk_map(run_sublayers(x.numpy(), f.numpy()[None], "pre-norm"), x.numpy())["data"][0]
    normed = torch.nn.functional.layer_norm(x, (3,)).tolist()
    assert read["x"] == ["x", "N(x) 1", "F 1", "sum 1"]
    np.testing.assert_allclose([row[1] for row in read["bind"]["values"]], normed, rtol=1e-3)


@pytest.mark.parametrize("name", WORKED_EXAMPLES)
def test_every_example_shows_its_own_end(page, name):
    page.selectbox(key="residual_preset").select(name)
    sound(page.run())
    end = "[" + ", ".join(f"{v + 0.0:.4g}" for v in steps_of(name)[-1].after.round(3)) + "]"
    assert end in words(page)
    assert ("A widely copied worked example" in words(page)) == (WORKED_EXAMPLES[name].printed_variance is not None)


def test_a_table_of_ones_own_is_walked_and_a_bad_one_leaves_the_last_good(page):
    page.text_area(key="residual_token_paste").set_value("1 2\n3 5\n0 0\n1 1")
    page.button(key="residual_token_use").click()
    sound(page.run())
    assert "**Sublayer 3**" in words(page)
    for bad in ("1 nan\n2 3", "x", "", "1 2 3\n4 5", "1 2\n" * 5000):
        page.text_area(key="residual_token_paste").set_value(bad)
        page.button(key="residual_token_use").click()
        sound(page.run())
        assert page.error, bad
        assert "**Sublayer 3**" in words(page)
