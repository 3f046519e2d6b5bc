"""Layer norm by its lines: the code that is shown, run by torch; rows that learn against autograd and least squares."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from components.labs.normalization.built import digits_table, keepdim_sentence
from components.shell.text import vector
from models.labs.built_norm import TORCH_NORM, NormLines, digits, first_difference
from models.labs.learned_rows import largest_rate, least_loss, train_rows
from models.labs.normalization import normalise
from models.service.questions import layer_norm
from models.spec import RunConfig
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
    answered = layer_norm(RunConfig(), {"row": x.tolist(), "eps": 1e-5, "gain": 1.5, "bias": -0.5}).row
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


@pytest.mark.parametrize("tokens", [[0], [0, 1], [0, 1, 2, 3]])
def test_rows_learn_as_autograd_has_it_down_to_the_least_squares_of_every_feature(tokens):
    normed = normalise(TABLE, "layer norm").values[tokens]
    target = TABLE[tokens]
    start = SOURCE.normal(size=(2, 6))
    rows = torch.tensor(start, requires_grad=True)
    walk = train_rows(normed, target, start, rate=0.2, steps=30)
    for step in range(30):
        error = rows[0] * torch.tensor(normed) + rows[1] - torch.tensor(target)
        assert walk.loss[step] == pytest.approx((error**2).mean().item() / 2)
        np.testing.assert_allclose([walk.gain[step], walk.bias[step]], rows.detach().numpy(), atol=1e-12)
        (gradient,) = torch.autograd.grad((error**2).mean(0).sum() / 2, rows)
        rows = (rows - 0.2 * gradient).detach().requires_grad_()
    residuals = [
        np.sum((np.c_[x, np.ones(len(x))] @ np.linalg.lstsq(np.c_[x, np.ones(len(x))], y, rcond=None)[0] - y) ** 2)
        for x, y in zip(normed.T, target.T, strict=True)
    ]
    assert least_loss(normed, target) == pytest.approx(np.sum(residuals) / target.size / 2, abs=1e-12)
    long = train_rows(normed, target, start, rate=0.2, steps=20_000).loss[-1]
    assert long == pytest.approx(least_loss(normed, target), abs=1e-6)
    assert (least_loss(normed, target) < 1e-12) == (len(tokens) < 3)


def test_the_rate_from_which_descent_diverges_is_two_over_the_largest_eigenvalue():
    normed = normalise(TABLE, "layer norm").values
    largest = max(np.linalg.eigvalsh(np.c_[x, np.ones(4)].T @ np.c_[x, np.ones(4)] / 4)[-1] for x in normed.T)
    assert largest_rate(normed) == pytest.approx(2 / largest)
    start = np.array([np.ones(6), np.zeros(6)])
    below, above = (train_rows(normed, TABLE, start, rate=f * largest_rate(normed)).loss for f in (0.95, 1.1))
    assert below[-1] < below[0] < above[-1]
    assert len(train_rows(normed, 1e9 * TABLE, start, rate=1e4).loss) < 101


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


def test_one_token_is_undone_and_three_are_not_and_wrong_rows_get_one_sentence(page):
    page.session_state["normalization_part"] = "Gain and bias"
    assert "not for all" in words(sound(page.run()))
    page.selectbox(key="normalization_rows_fit").set_value("this token")
    assert "that undoes the norm" in words(sound(page.run()))
    page.number_input(key="normalization_rows_rate").set_value(3.0)
    assert "the loss grows" in words(sound(page.run()))
    page.text_area(key="normalization_rows_start_paste").set_value("1 2\n3 4")
    page.button(key="normalization_rows_start_use").click()
    assert "gamma and beta need two rows" in words(sound(page.run())) + str([one.value for one in page.error])
