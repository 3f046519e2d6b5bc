"""Keys and values that are kept: the same logits, the multiplications that torch counts, and a window that slides."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from exhibits.labs.autoregression.cache.numbers import DecoderSize
from models.instruments import INSTRUMENTS
from models.instruments.cache import _install_cache, _next_logits, cached_reading
from models.instruments.generation import replacement
from models.instruments.lens import token_ids
from models.nets.branches import Attention
from models.service.wire import size
from models.spec import ARRANGEMENTS, POSITIONS, TASKS, RunConfig
from models.training import Replays, result_of
from tests.instruments.nets import TINY
from tests.instruments.test_generation import BOOK, SIXTEEN, TEXT, snapshot


@pytest.mark.parametrize(
    ("arrangement", "position"),
    [*((name, "sinusoidal") for name in ARRANGEMENTS), *(("pre-norm", name) for name in POSITIONS)],
)
def test_token_by_token_gives_the_logits_of_reading_it_whole(arrangement, position):
    found = cached_reading(snapshot(RunConfig.arranged(arrangement, **TINY | {"position": position})), text=TEXT)
    assert found.difference.shape == (len(TEXT),)
    assert found.difference.max() < 1e-12


def test_a_window_that_slides_makes_kept_keys_wrong_unless_neither_place_nor_what_was_dropped_is_in_them():
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


def test_another_token_moves_logits_from_its_place_on_and_without_the_mask_everywhere():
    one = snapshot()
    found = replacement(one, text=TEXT, at=3, token="k")
    assert "".join(found.tokens) == "Calk me"
    assert (found.causal.difference[:3] == 0).all()
    assert found.causal.difference[3:].min() > 1e-6
    assert found.unmasked.difference.min() > 1e-9
    model = one.model.double().eval()
    with torch.no_grad():
        before, after = (model(torch.tensor([token_ids(one.cfg, text)]))[0] for text in (TEXT, "Calk me"))
    np.testing.assert_allclose(found.causal.difference, (after - before).abs().amax(-1), atol=1e-12)
    copy = snapshot(RunConfig.arranged("pre-norm", **TINY | {"task": "copy"}))
    assert replacement(copy, text=SIXTEEN, at=0, token="15").tokens[0] == "15"


@pytest.mark.parametrize("bad", [{"at": 7}, {"at": -1}, {"token": ""}, {"token": "ab"}, {"token": "é"}])
def test_what_cannot_be_put_in_place_of_a_token_is_refused(bad):
    with pytest.raises(ValueError, match=r"at is|token is|character"):
        replacement(snapshot(), **{"text": TEXT, "at": 0, "token": "k"} | bad)


@pytest.mark.parametrize(("name", "args"), [("cached", {}), ("replacement", {"at": 1, "token": "x"})])
def test_the_trainer_answers_and_the_answer_crosses_the_wire(name, args):
    assert size(result_of(INSTRUMENTS[name](Replays(), BOOK, step=3, text=TEXT, **args))) > 0
