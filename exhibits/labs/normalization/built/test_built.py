"""Layer norm by its lines against torch, digit by digit."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from components.shell.text import vector
from exhibits.labs.normalization.built.measure import layer_norm
from exhibits.labs.normalization.built.numbers import (
    TORCH_NORM,
    NormLines,
    digits,
    first_difference,
    unbiased_std_shortfall,
)
from exhibits.labs.normalization.built.page import digits_table, keepdim_sentence
from models.labs.normalization import normalise
from tests.app_page import sound, words
from tests.labs_page import lab

SOURCE = np.random.default_rng(5)
TOKEN = np.array([1.0, 2, -1])
TABLE = SOURCE.normal(1.5, 2, size=(4, 6))
EVERY = [
    NormLines(*choice, gamma=1.5, beta=-0.5)
    for choice in product([False, True], [False, True], [1e-6, 1e-5], [False, True])
]


def as_torch_runs(lines: NormLines, x: np.ndarray) -> np.ndarray:
    """The class as shown."""
    names: dict = {}
    exec(lines.code, names)
    layer = names["LayerNorm"](len(x)).double()
    with torch.no_grad():
        assert len(list(layer.parameters())) == 2 * lines.affine
        return layer(torch.tensor(x)).numpy()


@pytest.mark.parametrize("lines", EVERY, ids=str)
def test_the_code_that_is_shown_gives_the_numbers_that_are_shown(lines):
    for x in (TOKEN, 0.003 * TABLE[0], np.full(3, 7.0)):
        np.testing.assert_allclose(lines.apply(x), as_torch_runs(lines, x), atol=1e-12)


def test_only_torchs_lines_agree_with_torch_on_every_token():
    x = 0.003 * TABLE[0]
    layer = torch.nn.LayerNorm(6, dtype=torch.float64)
    torch.nn.init.constant_(layer.weight, 1.5)
    torch.nn.init.constant_(layer.bias, -0.5)
    expected = layer(torch.tensor(x)).detach().numpy()
    answered = layer_norm(x.tolist(), eps=1e-5, gain=1.5, bias=-0.5).row
    np.testing.assert_array_equal(answered, expected)
    agree = [
        lines
        for lines in EVERY
        if all(first_difference(a, b) is None for a, b in zip(lines.apply(x), expected, strict=True))
    ]
    assert agree == [replace(TORCH_NORM, gamma=1.5, beta=-0.5)]


@pytest.mark.parametrize(
    ("value", "other", "place"),
    [
        (1.25, 1.25, None),
        (1.25, 1.26, 3),
        (-1.25, 1.25, 0),
        (10.5, 1.5, 0),
        (1e-12, -1e-12, None),
        (0.1234567894, 0.1234567882, 10),
    ],
)
def test_the_first_digit_that_differs(value, other, place):
    assert first_difference(value, other) == place


def test_the_digit_is_marked_where_it_stands():
    text = digits_table(np.array([1.25, 2.0]), np.array([1.26, 2.0]))
    assert "| 1 | 1.2:red[**50000000**] | 1.260000000 |" in text
    assert f"| 2 | {digits(2.0)} | {digits(2.0)} |" in text


@pytest.mark.parametrize("shape", [(3, 3), (3, 4), (1, 4), (3, 1)])
def test_what_keepdim_left_out_does_is_torchs(shape):
    x = torch.tensor(SOURCE.normal(size=shape))
    said = keepdim_sentence(x.numpy())
    try:
        wrong = x - x.mean(-1)
    except RuntimeError:
        assert f"torch would refuse: {shape[0]} means do not fit {shape[1]} features" in said
        return
    right = x - x.mean(-1, keepdim=True)
    if wrong.shape != right.shape:
        assert "one feature would become 3" in said
        assert wrong.shape == (3, 3)
    elif torch.equal(wrong, right):
        assert "no difference with one token" in said
    else:
        assert f"would be {vector(wrong[0].numpy().round(3))} instead of {vector(right[0].numpy().round(3))}" in said


def test_a_formula_is_held_against_its_code(page):
    page.session_state["normalization_part"] = "By hand against torch"
    said = words(sound(page.run()))
    token = torch.tensor(TOKEN)
    formula, code = (token.var(correction=0) + 1e-6).sqrt(), token.std() + 1e-6
    assert f"the formula divides by {formula:.4f}, these lines by {code:.4f}" in said
    assert "by √eps = 0.001 and by eps = 0.000001" in said or "by √eps = 0.001 and by eps = 10⁻⁶" in said
    page.toggle(key="normalization_built_inside").set_value(True)
    assert "beside a class that divides" not in words(sound(page.run()))


@pytest.fixture
def page(trainer_in_this_process):
    return lab("normalization")


def test_switching_the_lines_to_torchs_makes_all_digits_agree(page):
    page.session_state["normalization_part"] = "By hand against torch"
    sound(page.run())
    assert ":red[" in words(page)
    assert "The largest difference is" in words(page)
    assert "std = x.std(-1, keepdim=True)" in page.code[0].value
    next(one for one in page.button if one.label == "Use torch's lines").click()
    sound(page.run())
    assert page.code[0].value == replace(TORCH_NORM, gamma=1.5).code
    assert "torch.full((features,), 1.5)" in page.code[0].value
    assert "All digits agree: copy the class." in words(page)
    assert ":red[" not in words(page)


@pytest.mark.parametrize(("width", "percent"), [(3, 18.4), (4, 13.4), (8, 6.5), (64, 0.78)])
def test_layer_norm_by_hand_comes_out_too_short(width, percent):
    x = np.random.default_rng(width).normal(size=width)
    shrunk = 1 - np.linalg.norm(NormLines(inside=False, eps=1e-9).apply(x)) / np.linalg.norm(
        normalise(x[None], "layer norm", eps=1e-9).values
    )
    assert 100 * shrunk == pytest.approx(percent, abs=0.051)
    assert unbiased_std_shortfall(width) == pytest.approx(shrunk, abs=1e-6)


pytestmark = pytest.mark.usefixtures("trainer_in_this_process")


@pytest.mark.parametrize("row", [[], [1.0], [0.0] * 401, [[1.0, 2.0]]])
def test_torch_is_asked_for_rows_only(row):
    with pytest.raises(ValueError, match="2 to 400 numbers"):
        layer_norm(row, eps=1e-5)
