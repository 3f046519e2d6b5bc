"""Keys and values that are kept: the same logits, at a cost that torch counts, and the page."""

import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from streamlit.testing.v1 import AppTest
from torch.utils.flop_counter import FlopCounterMode

from exhibits.labs.autoregression.cache.measure import _install_cache, _next_logits, cached_reading
from exhibits.labs.autoregression.cache.numbers import DecoderSize
from exhibits.labs.autoregression.net.page import configuration
from models.instruments.lens import token_ids
from models.nets.branches import Attention
from models.spec import ARRANGEMENTS, POSITIONS, TASKS, RunConfig
from tests.app_page import sound, words
from tests.instruments.nets import TINY
from tests.instruments.test_generation import BOOK, TEXT, snapshot
from tests.labs.small import small
from tests.labs_page import lab


@pytest.fixture
def page(trainer_in_this_process) -> AppTest:
    return small(lab("autoregression"), "book")


def test_keys_and_values_that_are_kept_cost_a_share_and_give_the_same_logits(page):
    cfg = configuration("book", "pre-norm", 1, 50)
    matrices = 12 * 64**2 + 64 * 75  # of one block of width 64 with four times as many hidden units, and the head
    assert cfg.expansion == 4
    assert f"takes {11 * matrices + 2 * 64 * 11**2:,} multiplications" in words(page)
    assert f"kept, {matrices + 2 * 64 * 11:,}:" in words(page)
    assert re.search(r"largest difference is (0|[\d.·]*10⁻¹[⁴⁵⁶])", words(page))
    page.text_input(key="autoregression_prompt_book").set_value("ab")
    assert "The text needs 3 tokens" in words(sound(page.run()))


@pytest.mark.parametrize(
    ("arrangement", "position"),
    [*((name, "sinusoidal") for name in ARRANGEMENTS), *(("pre-norm", name) for name in POSITIONS)],
)
def test_token_by_token_gives_the_logits_of_reading_it_whole(arrangement, position):
    found = cached_reading(snapshot(RunConfig.arranged(arrangement, **TINY | {"position": position})), text=TEXT)
    assert found.difference.shape == (len(TEXT),)
    assert found.difference.max() < 1e-12


def test_a_sliding_window_makes_kept_keys_wrong():
    """In one block whose scores know distance alone, no key holds a position or anything of the dropped token."""
    for position, blocks, wrong in (
        ("sinusoidal", 1, True),
        ("none", 2, True),
        ("none", 1, False),
        ("alibi", 1, False),
    ):
        cfg = RunConfig.arranged("pre-norm", **TINY | {"position": position, "depth": blocks})
        assert (cached_reading(snapshot(cfg), text=TEXT).slid > 1e-6) == wrong, (position, blocks)


def test_the_multiplications_are_those_that_torch_counts(monkeypatch):
    def by_hand(q, k, v, **_how):
        return (q @ k.transpose(-1, -2)).softmax(-1) @ v

    monkeypatch.setattr(F, "scaled_dot_product_attention", by_hand)
    one = snapshot()
    cfg, model, x = one.cfg, one.model.eval(), torch.tensor([token_ids(one.cfg, TEXT)])
    net = DecoderSize(cfg.depth, cfg.width, cfg.expansion * cfg.width, TASKS[cfg.task].classes)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(x)
    assert counter.get_total_flops() == 2 * net.uncached_cost(np.array(len(TEXT)))
    memories = [_install_cache(part) for part in model.modules() if isinstance(part, Attention)]
    for at in range(len(TEXT)):
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            _next_logits(model, memories, x[:, : at + 1], at)
        assert counter.get_total_flops() == 2 * net.cached_cost(np.array(at + 1))
    assert sum(part.numel() for memory in memories for part in memory.keys_values) == net.cache_size(len(TEXT))


@pytest.mark.parametrize(
    ("cfg", "text"), [(BOOK, "ab"), (RunConfig.arranged("pre-norm", **TINY | {"mask": "none"}), TEXT)]
)
def test_what_cannot_be_kept_is_refused(cfg, text):
    with pytest.raises(ValueError, match=r"needed|causal"):
        cached_reading(snapshot(cfg), text=text)
