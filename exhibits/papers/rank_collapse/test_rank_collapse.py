"""Tests the result: Attention without skips makes all tokens alike, doubly exponentially with depth."""

from dataclasses import replace
from typing import Any

import numpy as np

from models.papers.judging import NOT_HERE, PARTLY
from tests.papers.kit import comes_out, contradicted, outcome


def exponential(values: dict[str, Any]) -> None:
    for name, one in values.items():
        if name.startswith("no skip"):
            values[name] = replace(one, spread=0.5 ** np.arange(17.0))


def swapped(values: dict[str, Any]) -> None:
    """Tokens are alike with skips, and without them they fall slowly and starve nothing."""
    for name, one in values.items():
        factor, share = (0.9, 0.3) if name.startswith("no skip") else (0.1, 0.0)
        values[name] = replace(one, spread=factor ** np.arange(17.0), query_key_share=np.full(8, share))


def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("rank-collapse", PARTLY)


def test_contrary_numbers_change_the_verdict() -> None:
    contradicted(
        "rank-collapse",
        [
            (PARTLY, exponential),
            (NOT_HERE, swapped),
        ],
    )


def test_attention_by_hand_makes_tokens_alike_faster_than_exponentially_and_a_skip_does_not() -> None:
    def distances(*, skip: bool) -> np.ndarray:
        source = np.random.default_rng(4)
        x, found = source.standard_normal((32, 64)), []
        for _ in range(3):
            q, k, v = (source.standard_normal((64, 64)) / 8 for _ in range(3))
            logits = (x @ q) @ (x @ k).T / 8
            weights = np.exp(logits - logits.max(1, keepdims=True))
            out = weights / weights.sum(1, keepdims=True) @ x @ v
            x = x + out if skip else out
            found.append(np.linalg.norm(x - x.mean(0)) / np.linalg.norm(x))
        return np.array(found)

    bare, skipped = np.log(distances(skip=False)), distances(skip=True)
    assert (bare[1:] / bare[:-1] > 2).all()
    assert skipped[-1] > 0.3
    found = np.log(np.array(outcome("rank-collapse").table["distance, no skip"])[1:3])
    assert found[1] / found[0] > 2
