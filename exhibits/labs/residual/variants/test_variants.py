"""Other skips against the app's own modules."""

import numpy as np
import pytest
import torch

from exhibits.labs.residual.variants.numbers import average_weights, dlcl_stream, recursive_skip, scaled_skip, turned
from exhibits.labs.residual.variants.page import effective_weight, variants
from models.labs.residual import cosine
from models.nets.stacks import DLCLStack
from models.nets.sublayer import RecursiveSublayer, Sublayer, build_skip
from tests.app_page import sound
from tests.labs.branches import BRANCHES, TOKEN, Says, as_tensor, norm_of
from tests.labs_page import lab

X, ATTENTION, FEED_FORWARD = np.array([1.0, 2, -1]), np.array([0.5, 1.5, -0.5]), np.array([0.25, 0.80, -1.0])


@pytest.mark.parametrize("weight", [0.5, 2.0, 3.7])
def test_a_scaled_skip_is_the_apps(weight):
    sublayer = Sublayer(Says(BRANCHES[0]), skip=build_skip(weight), norm_add=norm_of(True))
    expected = sublayer(as_tensor(TOKEN))[0, 0].detach().numpy()
    np.testing.assert_allclose(scaled_skip(TOKEN, BRANCHES[0], weight).values, expected, atol=1e-12)


def test_a_recursive_skip_is_the_apps():
    sublayer = RecursiveSublayer(Says(BRANCHES[0]), norm_again=norm_of(True), norm_add=norm_of(True))
    expected = sublayer(as_tensor(TOKEN))[0, 0].detach().numpy()
    np.testing.assert_allclose(recursive_skip(TOKEN, BRANCHES[0])[-1].values, expected, atol=1e-12)
    assert len(recursive_skip(TOKEN, BRANCHES[0], 4)) == 4


@pytest.mark.parametrize("repeats", [1, 2, 3])
def test_a_recursive_skip_is_a_scaled_skip_whose_weight_the_norm_finds(repeats):
    weight = effective_weight(TOKEN, BRANCHES[0], repeats)
    same = scaled_skip(TOKEN, BRANCHES[0], weight).values
    np.testing.assert_allclose(recursive_skip(TOKEN, BRANCHES[0], repeats)[-1].values, same, atol=1e-4)


@pytest.mark.parametrize("own", [None, [[1.0], [0.2, 0.8], [0.1, 0.3, 0.6], [0.4, 0.3, 0.2, 0.1]]])
def test_dlcl_reads_what_the_apps_stack_reads(own):
    weights = own or average_weights(len(BRANCHES))
    branches = [Says(output) for output in BRANCHES]
    blocks = {f"b{at:02d}": {"mlp": Sublayer(branch)} for at, branch in enumerate(branches, start=1)}
    stack = DLCLStack(blocks, lambda: norm_of(True)).double()
    if own:
        for parameter, row in zip(stack.weights, weights, strict=True):
            parameter.data = torch.tensor(row, dtype=torch.float64)
    head = stack(as_tensor(TOKEN))
    reads, outputs = dlcl_stream(TOKEN, BRANCHES, weights)
    for branch, read, output, said in zip(branches, reads, outputs[1:], BRANCHES, strict=False):
        np.testing.assert_allclose(read, branch.heard[0, 0].detach().numpy(), atol=1e-7)
        np.testing.assert_allclose(output, read + said, atol=1e-12)
    np.testing.assert_allclose(reads[-1], head[0, 0].detach().numpy(), atol=1e-7)


def test_a_heavier_skip_keeps_more_of_the_token():
    branches = np.array([[0.5, -1.5, 2.0]])
    results = {name: cosine(value, X - X.mean()) for name, (_, value) in variants(X, branches, 4.0, 2).items()}
    assert results["no residual"] < results["post-norm"] < results["recursive skip"] < results["scaled skip"]


@pytest.mark.parametrize("degrees", [0, 60, 90, 180])
def test_a_branch_turns_to_its_angle_and_keeps_its_length(degrees):
    for branch in (ATTENTION, FEED_FORWARD):
        found = turned(X, branch, degrees)
        assert np.corrcoef(X, found)[0, 1] == pytest.approx(np.cos(degrees * np.pi / 180), abs=1e-9)
        assert (found.mean(), found.std()) == pytest.approx((branch.mean(), branch.std()))
    assert turned(X, 0 * X, degrees) is None
    assert turned(X, 3 * X + 1, degrees) is None


def test_other_skips_open_where_they_differ(trainer_in_this_process):
    page = lab("residual")
    page.session_state["residual_part"] = "Other skips"
    (shown,) = [one.value for one in sound(page.run()).dataframe if "cosine with x" in one.value.columns]
    with_x = dict(zip(shown["residual"], map(float, shown["cosine with x"]), strict=True))
    branch = np.sqrt(3) * ATTENTION.std()  # at right angles: cos = a |x| / sqrt(a² |x|² + |F|²)
    for name, weight in (("no residual", 0), ("post-norm", 1), ("scaled skip", 2), ("DeepNorm's sum", 2**0.25)):
        along = weight * np.sqrt(3) * X.std()
        assert with_x[name] == pytest.approx(along / np.hypot(along, branch), abs=1e-3)
    assert max(with_x.values()) - min(with_x.values()) > 0.9


def test_a_cosine_with_nothing_is_no_number():
    assert np.isnan(cosine(np.zeros(3), X))
    assert cosine(X, -2 * X) == pytest.approx(-1)
