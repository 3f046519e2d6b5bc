"""How a head learns and what it measures by: gradients against
autograd, descent against torch's SGD, cosines against torch's.
"""

import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from components.labs.attention.head_learning import (
    arithmetic,
    cosine_scores,
    cosine_sentence,
    cosine_weights,
    descent_chart,
    descent_sentence,
    gradient_sizes,
)
from components.labs.attention.heads import first_w_o, writes_sentence
from components.shell.text import vector
from models.labs.attention import attend, attention_mask, descent, head_contributions, head_gradients, heads
from models.labs.attention_examples import PROJECTIONS
from tests.app_page import charts, sound, words
from tests.drawn import drawn
from tests.labs_page import lab

RANDOM = PROJECTIONS["Five random tokens, d_k = 2"]
X, MATRICES = RANDOM.x, (RANDOM.w_q, RANDOM.w_k, RANDOM.w_v)
TARGET = np.array([0.5, -1.0])


def in_torch(matrices, at, causal, by):
    """Loss of a head made of torch's own attention, a leaf for every matrix."""
    x = torch.tensor(X)
    leaves = [torch.tensor(w, requires_grad=True) for w in matrices]
    q, k, v = ((x @ w)[None] for w in leaves)
    output = F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=1 / by)[0, at]
    return (output - torch.tensor(TARGET)).square().sum() / 2, leaves


@pytest.mark.parametrize("at", [0, 2, 4])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("by", [2**0.5, 1.0])
def test_the_gradients_are_those_of_autograd(at, causal, by):
    found = head_gradients(X, MATRICES, at, TARGET, divisor=by, mask=attention_mask(5, 5, causal=causal))
    loss, leaves = in_torch(MATRICES, at, causal, by)
    loss.backward()
    assert found.loss == pytest.approx(loss.item())
    for gradient, leaf in zip(found.matrices, leaves, strict=True):
        np.testing.assert_allclose(gradient, leaf.grad, atol=1e-12)


def test_the_walk_is_that_of_torchs_sgd():
    walk = list(descent(X, MATRICES, 2, TARGET, divisor=2**0.5, lr=0.01, steps=10))
    _, leaves = in_torch(MATRICES, 2, False, 2**0.5)
    sgd, taken = torch.optim.SGD(leaves, lr=0.01), []
    for _ in range(11):
        current = in_torch([leaf.detach().numpy() for leaf in leaves], 2, False, 2**0.5)
        taken.append(current[0].item())
        current[0].backward()
        for leaf, fresh in zip(leaves, current[1], strict=True):
            leaf.grad = fresh.grad
        sgd.step()
    np.testing.assert_allclose([one.loss for one in walk], taken, atol=1e-12)
    assert taken[-1] < taken[0]
    drawn(descent_chart(walk, 1))
    assert f"In 10 steps the loss goes from {walk[0].loss:.4g} to {walk[-1].loss:.3g}" in descent_sentence(walk, 1, 10)
    assert "too large" in descent_sentence(walk, 1, 300)


def test_queries_and_keys_that_are_both_zero_never_learn():
    rows = gradient_sizes(head_gradients(X, MATRICES, 2, TARGET, divisor=2**0.5), X, MATRICES)
    by_start = {name: [float(rows[w][at]) for w in ("W_Q", "W_K", "W_V")] for at, name in enumerate(rows["matrices"])}
    assert [size > 0 for size in by_start["as they are"]] == [True, True, True]
    assert [size > 0 for size in by_start["W_Q = 0"]] == [True, False, True]
    assert [size > 0 for size in by_start["W_Q = W_K = 0"]] == [False, False, True]
    assert [size > 0 for size in by_start["W_V = 0"]] == [False, False, True]


# --- dot product and cosine ---


def head_of(x, w_q, w_k, w_v):
    return attend(x @ w_q, x @ w_k, x @ w_v, divisor=2**0.5)


def test_cosines_are_torchs():
    head = head_of(X, *MATRICES)
    expected = F.cosine_similarity(torch.tensor(head.q)[:, None], torch.tensor(head.k)[None], dim=-1)
    np.testing.assert_allclose(cosine_scores(head), expected, atol=1e-12)
    np.testing.assert_allclose(cosine_weights(cosine_scores(head), head.mask), expected.softmax(-1), atol=1e-12)
    assert (cosine_scores(head_of(0 * X, *MATRICES)) == 0).all()


def test_a_long_key_wins_by_dot_product_and_not_by_cosine():
    x = np.array([[1.0, 0.0], [2.0, 0.1], [9.0, 9.0]])
    head = attend(x, x, x, divisor=1.0)
    sentence = cosine_sentence(head, cosine_scores(head), 0)
    assert re.findall(r"token (\d)", sentence) == ["1", "3", "1"]
    assert "length 1 instead of 12.73" in sentence
    assert sentence.endswith("No score changes when query and key are exchanged.")
    turned = attend(x, x @ np.array([[0.0, 1.0], [-1.0, 0.0]]), x, divisor=1.0)
    assert "changes a score by up to" in cosine_sentence(turned, cosine_scores(turned), 0)


def test_a_head_that_is_switched_off_takes_its_write_from_the_stream(trainer_in_this_process):
    page = lab("attention")
    page.segmented_control(key="attention_head_closer").set_value("Multi-head attention")
    sound(page.run())
    example = PROJECTIONS["A sentence"]
    parts = heads(example.x, example.w_q, example.w_k, example.w_v, 2)
    written = head_contributions(parts, first_w_o(4, 4))[:, 4]
    assert writes_sentence(written, (), 4) in words(page)
    page.multiselect(key="attention_heads_off").set_value([1])
    sound(page.run())
    joined = np.concatenate([parts[0].output, 0 * parts[1].output], axis=1) @ first_w_o(4, 4)
    assert f"and {vector(joined[4])} is left" in words(page)
    assert [trace["name"] for trace in charts(page)["Written into the stream"]["data"]] == [
        "head 1",
        "all heads together",
    ]
    page.text_area(key="attention_heads_wo_paste").set_value("1 2\n3 4")
    page.button(key="attention_heads_wo_use").click()
    sound(page.run())
    assert "W_O needs 4 rows" in words(page)
    assert {"Head 1", "Head 2, off"} <= {*charts(page)}
    assert not charts(page)["Head 2, off"]["data"]
    page.text_area(key="attention_head_w_v_paste").set_value("\n".join(["1 2 3"] * 4))
    page.button(key="attention_head_w_v_use").click()
    sound(page.run())
    assert "a value 3: they cannot be divided" in words(page)


def test_both_stand_below_the_head_and_follow_its_tables(trainer_in_this_process):
    page = lab("attention")
    page.selectbox(key="attention_head_preset").select("Five random tokens, d_k = 2")
    page.segmented_control(key="attention_head_closer").set_value("How the matrices learn")
    sound(page.run())
    target = X[-1] @ MATRICES[2]
    found = head_gradients(X, MATRICES, 0, target, divisor=2**0.5)
    assert arithmetic(found, X, target) in words(page)
    assert "Gradient descent" in charts(page)
    page.segmented_control(key="attention_head_closer").set_value("Dot product or cosine")
    sound(page.run())
    head = head_of(X, *MATRICES)
    assert cosine_sentence(head, cosine_scores(head), 0) in words(page)
    page.multiselect(key="attention_head_pads").set_value([0, 1, 2, 3, 4])
    sound(page.run())
    assert "there is nothing to compare" in words(page)
    page.segmented_control(key="attention_head_closer").set_value("How the matrices learn")
    sound(page.run())
    assert "none of them gets a gradient" in words(page)
