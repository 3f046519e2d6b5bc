"""The arithmetic of the attention lab: the worked examples
with their right numbers, and the app's own modules beside it.
"""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.stats import entropy as scipy_entropy
from torch import nn

from exhibits.labs.attention.heads.numbers import head_contributions
from exhibits.labs.attention.positions.numbers import random_head
from models.labs.attention import (
    DRAWS,
    attend,
    attention_mask,
    entropy,
    heads,
    linearity_errors,
    score_statistics,
    softmax,
    statistics_by_divisor,
    variance,
)
from models.labs.attention_examples import PROJECTIONS, ROWS
from models.labs.positions import (
    by_distance,
    rotate,
    score_bias,
    scores,
    sinusoids,
)
from models.nets.branches import Alibi, RelativeBias, Rotary
from models.nets.embedding import sinusoids as sinusoids_of_the_app

SOURCE = np.random.default_rng(7)
X = SOURCE.normal(size=(6, 4))
W_Q, W_K, W_V = SOURCE.normal(size=(3, 4, 4))
PLACES = np.arange(32)


def close(found, expected, digits=3):
    np.testing.assert_allclose(found, expected, atol=0.51 * 10**-digits)


def projected(name: str):
    example = PROJECTIONS[name]
    q, k, v = (example.x @ w for w in (example.w_q, example.w_k, example.w_v))
    by = q.shape[1] ** 0.5 if example.scaled else 1.0
    return attend(q, k, v, divisor=by, mask=attention_mask(len(q), len(k), causal=example.causal))


def test_with_the_right_scores_of_example_10():
    head = projected("X times W")
    close(head.scores[0], [4.46, 10.252, 16.044], 9)
    close(head.weights[0], [0.0029, 0.0522, 0.9449], 4)
    close(head.output[0], [3.075, 3.486, 3.897, 4.307])
    given = ROWS["Token 1 as it is, over √4"]
    close(given.numbers, head.scores[0], 9)
    close(softmax(np.array(given.numbers) / given.divisor) @ np.array(given.values), head.output[0], 9)


def test_without_scaling_the_softmax_of_wide_heads_saturates():
    raw, scaled = score_statistics(512, divisor=1.0), score_statistics(512, divisor=512**0.5)
    assert raw.entropy < 0.2
    assert 1.2 < scaled.entropy < np.log(8)
    assert raw.largest > 0.9
    assert raw.slope < scaled.slope / 3


@pytest.mark.parametrize("mean", [0.0, 0.5, 1.0])
def test_scores_of_entries_with_a_mean_have_the_mean_and_variance_of_the_closed_form(mean):
    raw, scaled, by_size = statistics_by_divisor(64, [1.0, 8.0, 64.0], mean=mean)
    spread = 64 * (1 + 2 * mean**2)  # Var(qk) = E[q²]E[k²] - m⁴ = (1 + m²)² - m⁴
    assert raw.mean == pytest.approx(64 * mean**2, abs=4 * (spread / DRAWS) ** 0.5)
    assert raw.variance == pytest.approx(spread, rel=0.1)
    assert scaled.mean == pytest.approx(raw.mean / 8)
    assert by_size.variance == pytest.approx(raw.variance / 64**2)
    q, k = np.random.default_rng([0, 64]).standard_normal((2, DRAWS, 64)) + mean
    assert raw.variance == pytest.approx(np.einsum("ij,ij->i", q, k).var())
    if not mean:  # divided by d_k the head looks everywhere alike
        assert by_size.entropy == pytest.approx(2.073, abs=1e-3) != pytest.approx(np.log(8), abs=1e-3)


@pytest.mark.parametrize("causal", [True, False])
def test_a_head_is_torchs_attention(causal):
    q, k, v = X @ W_Q, X @ W_K, X @ W_V
    found = attend(q, k, v, divisor=2.0, mask=attention_mask(6, 6, causal=causal)).output
    expected = F.scaled_dot_product_attention(*(torch.tensor(part)[None] for part in (q, k, v)), is_causal=causal)
    np.testing.assert_allclose(found, expected[0], atol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_writes_of_the_heads_add_up_to_torchs_multi_head_attention(count):
    module = nn.MultiheadAttention(4, count, bias=False, batch_first=True).double()
    w_o = SOURCE.normal(size=(4, 4))
    module.in_proj_weight.data = torch.tensor(np.concatenate([W_Q.T, W_K.T, W_V.T]))
    module.out_proj.weight.data = torch.tensor(w_o.T)
    x, mask = torch.tensor(X)[None], torch.tensor(~attention_mask(6, 6, causal=True))
    expected, weights = module(x, x, x, attn_mask=mask, average_attn_weights=False)
    parts = heads(X, W_Q, W_K, W_V, count, mask=attention_mask(6, 6, causal=True))
    written = head_contributions(parts, w_o)
    np.testing.assert_allclose(written.sum(0), expected[0].detach(), atol=1e-12)
    np.testing.assert_allclose([part.weights for part in parts], weights[0].detach(), atol=1e-12)
    # A head that is switched off is one whose rows of W_O are 0.
    cut = w_o.copy()
    cut[: 4 // count] = 0
    module.out_proj.weight.data = torch.tensor(cut.T)
    np.testing.assert_allclose(written[1:].sum(0), module(x, x, x, attn_mask=mask)[0][0].detach(), atol=1e-12)


def test_padding_is_not_looked_at_and_a_row_without_anything_to_see_is_0():
    mask = attention_mask(3, 3, causal=True, pads=frozenset({0}))
    head = attend(X[:3], X[:3], X[:3], divisor=1.0, mask=mask)
    np.testing.assert_array_equal(head.weights[0], 0)
    np.testing.assert_array_equal(head.weights[1], [0, 1, 0])
    assert head.weights[2, 0] == 0
    assert np.isfinite(head.output).all()


def test_the_softmax_holds_for_scores_that_would_overflow():
    np.testing.assert_allclose(softmax(np.array([1e9, 1e9, -1e9])), [0.5, 0.5, 0])


def test_entropy_is_scipys_and_0_where_one_token_gets_all():
    weights = softmax(SOURCE.normal(size=(4, 7)))
    np.testing.assert_allclose(entropy(weights), scipy_entropy(weights, axis=1))
    assert entropy(np.array([0.0, 1.0, 0.0])) == 0


def test_the_variance_is_of_what_is_seen():
    scores = np.array([[1.0, 100.0], [3.0, 5.0]])
    assert variance(scores, attention_mask(2, 2, causal=True)) == pytest.approx(np.var([1, 3, 5]))
    assert np.isnan(variance(scores, np.zeros((2, 2), bool)))


def test_error_29_attention_is_linear_only_while_its_weights_are_held():
    held, own = linearity_errors(X, X[::-1] * 0.5, (W_Q, W_K, W_V), 2.0)
    assert held < 1e-12
    assert own > 0.1


def test_sinusoids_are_the_apps():
    np.testing.assert_allclose(sinusoids(PLACES, 16), sinusoids_of_the_app(32, 16), atol=1e-5)


def test_rotary_is_the_apps():
    x = SOURCE.normal(size=(32, 8))
    expected = Rotary(32, 8).double()(torch.tensor(x)[None, None])[0, 0]
    np.testing.assert_allclose(rotate(x, PLACES), expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["relative bias", "alibi"])
def test_a_bias_is_the_apps(kind):
    """T5's numbers of the lab put into the app's module, and ALiBi's first head of eight."""
    added = score_bias(kind, 32, seed=3)
    if kind == "alibi":
        expected = Alibi(8)(32, False)[0]
    else:
        module = RelativeBias(1, bidirectional=True).double()
        numbers = np.random.default_rng([3, 4]).normal(0, 1, 32)
        module.bias.data = torch.tensor(numbers)
        expected = module(32, False)[0].detach()
    np.testing.assert_allclose(added, expected, atol=1e-6)
    assert by_distance(scores(kind, 32, 8)).spread < 1e-12


def test_a_head_with_a_bias_is_that_of_torch():
    x = SOURCE.normal(size=(6, 8))
    w_q, w_k, w_v = np.random.default_rng([0, 2]).normal(0, 8**-0.5, (3, 8, 8))
    q, k, v = (torch.tensor(x @ w)[None] for w in (w_q, w_k, w_v))
    for kind in ("relative bias", "alibi"):
        expected = F.scaled_dot_product_attention(q, k, v, attn_mask=torch.tensor(score_bias(kind, 6)))[0]
        np.testing.assert_allclose(random_head(kind, 6, 8, causal=False)(x), expected, atol=1e-12)
