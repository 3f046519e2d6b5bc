"""Tests the result: In pre-norm the deep blocks hardly contribute."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from models.papers.papers import PAPERS
from models.spec.cautions import config_caution
from tests.papers.kit import comes_out, fed, lesions


def of_streams(plain: float, scaled: float, late: float, *, linear: bool = False) -> str:
    """The verdict on streams that end at these mean squares, and what the last scaled blocks are worth."""
    grid = np.linspace if linear else np.geomspace
    values: dict[str, Any] = {}
    for kind, end, worth in (("pre-norm", plain, 0.01), ("LayerNorm scaling", scaled, late)):
        signal = fed(end ** (1 / 32))
        squares = np.tile(grid(1, end, 33), (6, 1))
        values[f"{kind}, before training"] = replace(signal, mean_square=squares)
        values |= {f"{kind}, lesions, seed {at}": lesions(*[0.9] * 16, loss=0.3 + worth) for at in range(3)}
    return PAPERS["curse-of-depth"].finding(values).answer


@pytest.mark.full
def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("curse-of-depth", PARTLY)


@pytest.mark.parametrize("scaled", [False, True])
def test_a_pre_norm_stream_by_hand_grows_by_the_sum_of_the_formula(scaled: bool) -> None:
    torch.manual_seed(3)
    x = torch.nn.functional.layer_norm(torch.randn(64, 256), (256,))
    start, blocks = x.square().mean(), 16
    for block in range(1, blocks + 1):
        w1, w2 = torch.randn(256, 1024) / 16, torch.randn(1024, 256) / 32
        read = torch.nn.functional.layer_norm(x, (256,)) / (block**0.5 if scaled else 1)
        x = x + (read @ w1).relu() @ w2
    harmonic = float((1 / np.arange(1, blocks + 1)).sum())
    expected = 1 + 0.5 * (harmonic if scaled else blocks)
    assert (x.square().mean() / start).item() == pytest.approx(expected, rel=0.05)


def test_the_curse_is_judged_by_both_streams_and_by_the_last_blocks() -> None:
    assert of_streams(17.0, 3.03, 0.1) == HOLDS
    assert of_streams(17.0, 3.03, 0.001) == PARTLY
    assert of_streams(17.0, 17.0, 0.1) == PARTLY
    assert of_streams(17.0, 3.03, 0.1, linear=True) == PARTLY
    assert of_streams(65000.0, 17.0, 0.001, linear=True) == NOT_HERE


def test_the_curse_quotes_the_paper_and_scales_only_once() -> None:
    """Linear growth, which the toy has before training, does not count as the exponential one of the abstract."""
    card = PAPERS["curse-of-depth"]
    assert "exponentially grows with the model depth" in card.result
    assert "version 4" in card.result
    scaled = [cfg for name, cfg in card.nets.items() if name.startswith("LayerNorm scaling")]
    assert scaled
    for cfg in scaled:
        assert config_caution(cfg) is None
        assert "to remove the latter" in str(config_caution(replace(cfg, init="gpt2")))
        assert "to remove the latter" not in str(config_caution(replace(cfg, init="gpt2", input_scale="one")))
