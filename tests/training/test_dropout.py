"""Dropout: which numbers a training pass drops, that nothing else drops any, and what it does to batch norm."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from models.generator import generator
from models.nets import build_model
from models.spec import RunConfig
from models.spec.cautions import config_caution
from models.training import Run
from models.training.modes import dropout_masks, dropout_modules
from tests import hand
from tests.training.test_run import assert_same

SMALL = {"depth": 3, "width": 16, "batch": 8, "steps": 6}
DROPS = {"branch_dropout": 0.4, "stream_dropout": 0.2}


@pytest.mark.parametrize("placement", ["pre-norm", "post-norm"])
def test_a_training_pass_is_the_papers_equation_with_the_masks_that_seed_step_and_name_draw(placement):
    cfg = RunConfig(**SMALL, placement=placement, eps=hand.EPS, seed=3, **DROPS)
    net = hand.randomise(build_model(cfg))
    x = hand.stream_of(width=16)
    with dropout_masks(dropout_modules(net), 5, cfg.seed):
        found = net.stream(x)
    expected = x
    for block, parts in net.stream.blocks.items():
        kept = {
            place: torch.rand(x.shape, generator=generator(3, "dropout", 5, f"stream.blocks.{block}.mlp.{place}"))
            >= rate
            for place, rate in (("drop_branch", 0.4), ("drop_stream", 0.2))
        }
        added = hand.dropout(torch.ones_like(x), kept["drop_branch"], 0.4)
        expected = hand.sublayer(
            expected, parts["mlp"], "two layers", placement=placement, norm="layer norm", branch=added
        )
        expected = hand.dropout(expected, kept["drop_stream"], 0.2)
    hand.assert_close(found, expected, 1e-6)
    hand.assert_close(net.stream(x), build_model_without(net, cfg).stream(x))


def build_model_without(net, cfg):
    """The same weights in the net that has no dropout."""
    plain = build_model(replace(cfg, branch_dropout=0.0, stream_dropout=0.0)).double()
    plain.load_state_dict(net.state_dict())
    return plain


def test_every_seed_step_and_place_has_a_mask_of_its_own_that_drops_its_share():
    cfg = RunConfig(**SMALL | {"width": 64}, **DROPS)
    net, x = build_model(cfg), torch.ones(64, 1, 64)
    masks = []
    for seed, step in ((0, 0), (0, 1), (1, 0)):
        with dropout_masks(dropout_modules(net), step, seed):
            masks += [(part.rate, part(x)) for part in dropout_modules(net).values()]
    assert len(masks) == 18
    for at, (rate, mask) in enumerate(masks):
        assert (mask == 0).float().mean().item() == pytest.approx(rate, abs=5 * (rate * (1 - rate) / 4096) ** 0.5)
        assert mask.max().item() == pytest.approx(1 / (1 - rate))
        assert not any(torch.equal(mask == 0, other == 0) for _, other in masks[:at])


@pytest.mark.parametrize("fields", [{}, {"norm": "batch norm"}, {"net": "transformer", "task": "copy", "heads": 2}])
def test_rows_drop_numbers_and_frames_drop_none(fields):
    cfg = RunConfig(**SMALL | fields)
    runs = [Run(cfg), Run(replace(cfg, **DROPS))]
    for run in runs:
        run.advance(1)
    plain, dropping = (run.trace() for run in runs)
    assert (plain.act_rms[0, 1:] != dropping.act_rms[0, 1:]).all()
    one, other = plain.frames[0], dropping.frames[0]
    assert one.held_out_loss == other.held_out_loss
    np.testing.assert_array_equal(one.sample_cosine, other.sample_cosine)
    np.testing.assert_array_equal(one.head_input, other.head_input)
    np.testing.assert_array_equal(one.picture["ten_size"], other.picture["ten_size"])


def test_slices_of_a_run_draw_the_masks_of_the_whole():
    cfg = RunConfig(**SMALL, **DROPS)
    whole, slices = Run(cfg), Run(cfg)
    whole.advance(6)
    for n in (1, 3, 2):
        slices.advance(n)
    assert_same(whole.trace(), slices.trace())


def test_beside_batch_norm_the_variance_at_inference_is_less_than_the_one_that_was_learned():
    """Li 2018 (1801.05134). Branches of two linear layers add a variance of 1, or 1/(1 - p) where numbers are dropped:
    after one block 2 at inference over 1 + 1/(1 - p) in training, which the running variance of block 2 learns.
    """
    cfg = RunConfig(depth=2, width=256, norm="batch norm", activation="identity", branch_dropout=0.5)
    net = build_model(cfg)
    parts = dropout_modules(net)
    for step in range(80):
        x = torch.randn(256, 1, 256, generator=torch.Generator().manual_seed(step))
        with torch.no_grad(), dropout_masks(parts, step, 0):
            net.stream(x)
    seen = []
    net.stream.blocks["b02"]["mlp"].norm_in.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    with torch.no_grad():
        net.eval().stream(x)
    learned = net.stream.blocks["b02"]["mlp"].norm_in.running_var.mean().item()
    assert seen[0].var(0).mean().item() / learned == pytest.approx(2 / 3, rel=0.05)
    assert "1801.05134" in config_caution(cfg)
    assert "1801.05134" not in (config_caution(replace(cfg, norm="layer norm")) or "")
