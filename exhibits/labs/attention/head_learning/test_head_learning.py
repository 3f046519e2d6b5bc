"""How the matrices learn: gradients and descent against torch's."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from exhibits.labs.attention.cosine.page import cosine_scores, cosine_sentence
from exhibits.labs.attention.head_learning.numbers import descent, head_gradients
from exhibits.labs.attention.head_learning.page import arithmetic, descent_chart, descent_sentence, gradient_sizes
from models.labs.attention import attend, attention_mask
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


def head_of(x, w_q, w_k, w_v):
    return attend(x @ w_q, x @ w_k, x @ w_v, divisor=2**0.5)


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
