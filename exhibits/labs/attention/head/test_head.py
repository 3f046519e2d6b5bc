"""One head: its arithmetic in words, its examples, masks and tables, good and bad."""

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from addnorm.words import number
from exhibits.labs.attention.head.page import arithmetic, attention_sentence, projected_mismatch
from models.labs.attention import attend, attention_mask
from models.labs.attention_examples import PROJECTIONS, ROWS
from tests.app_page import charts, sound, words
from tests.drawn import drawn
from tests.labs_page import lab

SOURCE = np.random.default_rng(11)
X = SOURCE.normal(size=(4, 3)).round(1)
W = SOURCE.normal(size=(3, 2)).round(1)


def test_the_way_of_a_token_ends_at_its_output_with_every_number_on_the_way():
    seen = attention_mask(4, 4, causal=True)
    head = attend(X @ W, X @ W, X @ W, divisor=2**0.5, mask=seen)
    text = arithmetic(head, X, W, 1)
    assert f"**[{number(head.q[1, 0], 4)}, {number(head.q[1, 1], 4)}]**" in text
    assert text.count("-∞") == 1 + 2
    assert f"**[{number(head.output[1, 0], 4)}, {number(head.output[1, 1], 4)}]**" in text
    assert "v3" not in text


def test_tables_that_do_not_fit_are_told_why():
    assert projected_mismatch((X, W, W, W)) == ""
    assert "needs 3 rows; it has 4" in projected_mismatch((X, W, X, W))
    assert "W_Q has 2 columns, W_K 3" in projected_mismatch((X, W, np.eye(3), W))
    assert "the limit here is 32" in projected_mismatch((np.ones((33, 3)), W, W, W))


@pytest.fixture
def page(trainer_in_this_process) -> AppTest:
    page = lab("attention")
    page.selectbox(key="attention_head_preset").select("X times W")
    return sound(page.run())


def test_the_page_opens_on_a_sentence_whose_map_names_its_words_and_on_no_slip(trainer_in_this_process):
    page = lab("attention")
    assert "“it” attends most to “cat”, with a weight of 87.57%" in words(page)
    assert not page.info
    (shade,) = drawn(charts(page)["Attention weights"])["data"]
    assert shade["hovertext"][4][1] == "“it” looks at “cat”"


def put(page: AppTest, key: str, text: str) -> AppTest:
    page.text_area(key=f"{key}_paste").set_value(text)
    page.button(key=f"{key}_use").click()
    return sound(page.run())


@pytest.mark.parametrize("name", PROJECTIONS)
def test_every_example_of_a_head_sets_its_tables_and_its_mask(page, name):
    page.selectbox(key="attention_head_preset").select(name)
    sound(page.run())
    example = PROJECTIONS[name]
    q, k, v = (example.x @ w for w in (example.w_q, example.w_k, example.w_v))
    by = q.shape[1] ** 0.5 if example.scaled else 1.0
    head = attend(q, k, v, divisor=by, mask=attention_mask(len(q), len(q), causal=example.causal))
    assert attention_sentence(head, example.query, example.words) in words(page)
    assert arithmetic(head, example.x, example.w_q, example.query, direct=example.direct_qkv) in words(page)


def test_given_vectors_begin_at_their_dot_products_with_words_on_the_axes(page):
    page.selectbox(key="attention_head_preset").select("Q, K and V given")
    sound(page.run())
    scores = np.array([1, 1, 1, 0.5, 1, 0.5])  # of "cat", as in the row of six scores
    expected = torch.softmax(torch.tensor(scores), 0).numpy() @ np.array(ROWS["Six scores"].values)
    np.testing.assert_allclose(expected, [0.346, 0.308, 0.442], atol=5e-4)
    assert (
        f"output: {' + '.join(f'{w:.3g}·v{at + 1}' for at, w in enumerate(np.exp(scores) / np.exp(scores).sum()))}"
        in words(page)
    )
    assert "x W_Q" not in words(page)
    (shade,) = drawn(charts(page)["Attention weights"])["data"]
    assert shade["hovertext"][1][2] == "“cat” looks at “sat”"
    assert "attends to “The”, “cat”, “sat” and “the” alike, with a weight of 19.18% each" in words(page)
    assert "they sum to 1.13" in words(page)
    put(page, "attention_head_w_k_given", "1 2 3")
    assert "here they have 6, 1 and 6" in words(page)
    put(page, "attention_head_w_k_given", "1 2\n3 4\n1 2\n3 4\n1 2\n3 4")
    assert "a query has 3 entries, a key 2" in words(page)
    page.toggle(key="attention_head_direct").set_value(False)
    sound(page.run())
    assert "x W_Q" in words(page)


def test_scaling_masks_and_padding_follow_their_controls(page):
    page.toggle(key="attention_head_scaled").set_value(False)
    sound(page.run())
    assert "divided by 1, and -∞ where masked: [4.46, 10.252, 16.044]" in words(page)
    page.multiselect(key="attention_head_pads").set_value([2])
    sound(page.run())
    assert "Token 1 attends most to token 2" in words(page)
    page.multiselect(key="attention_head_pads").set_value([0, 1, 2])
    sound(page.run())
    assert "Token 1 sees nothing" in words(page)
    assert "No token sees anything" in words(page)
    page.button(key="attention_head_again").click()
    sound(page.run())
    assert "divided by √4 = 2" in words(page)


def test_a_bad_table_gets_a_sentence_and_the_last_good_one_stays(page):
    for bad in ("1 nan 2 3", "x", "", "1 2 3\n4 5", "1 inf 2 3", "1 2 3 4\n" * 2500):
        put(page, "attention_head_x", bad)
        assert page.error, bad
        assert "**[3.075, 3.486, 3.897, 4.307]**" in words(page)
