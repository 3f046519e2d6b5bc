"""Dot product against cosine: torch's cosines, and a long key that wins."""

import re

import numpy as np
import torch
import torch.nn.functional as F

from exhibits.labs.attention.cosine.page import cosine_scores, cosine_sentence, cosine_weights
from models.labs.attention import attend
from models.labs.attention_examples import PROJECTIONS

RANDOM = PROJECTIONS["Five random tokens, d_k = 2"]
X, MATRICES = RANDOM.x, (RANDOM.w_q, RANDOM.w_k, RANDOM.w_v)


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
