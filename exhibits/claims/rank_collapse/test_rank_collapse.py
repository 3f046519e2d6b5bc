"""Tests the claim: Pre-norm suffers from rank collapse, post-norm does not."""

from itertools import pairwise
from typing import Any

import numpy as np

from models.claims.claims import CLAIMS
from tests.claims.kit import Rows, first_batch, mean_cosine, put, rows_agree, stream_by_hand, upheld_by


def rank_collapse() -> Rows:
    tokens, layers = [], []
    for name in ("pre-norm", "post-norm"):
        cfg = CLAIMS["rank-collapse"].sources[f"{name}, tokens"].cfg
        model, x, _ = first_batch(cfg)
        sites = [one.detach().double().numpy() for one in stream_by_hand(cfg, model, x)]
        tokens.append(np.mean([mean_cosine(sample) for sample in sites[-1]]))
        alike = [
            np.mean((one * two).sum(-1) / np.linalg.norm(one, axis=-1) / np.linalg.norm(two, axis=-1))
            for one, two in pairwise(sites)
        ]
        layers.append(np.mean(alike))
    return {"tokens alike": tokens, "sublayers alike": layers}


def tokens_alike(values: dict[str, Any]) -> None:
    for name, alike in (("pre-norm", 1.0), ("post-norm", 0.1)):
        put(f"{name}, tokens", cosine=np.array([alike]))(values)
        put(f"{name}, layers", neighbour_cosine=np.array([alike]))(values)


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("rank-collapse", rank_collapse())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("rank-collapse", tokens_alike)
