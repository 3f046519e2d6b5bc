"""What is said of legal configurations that mislead."""

from dataclasses import replace

import pytest
import torch

from models.nets import build_model
from models.nets.sublayer import Dropout
from models.spec import RunConfig
from models.spec.cautions import config_caution
from tests import hand

SELU = {"activation": "selu", "norm": "none", "residual": False}


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({}, []),
        ({"branch_dropout": 0.1}, ["ordinary dropout"]),
        ({"init": "he"}, ["initialisation he"]),
        ({"init_gain": 2.0}, ["initialisation fan-in with gain 2"]),
        ({"branch_dropout": 0.1, "init": "he"}, ["ordinary dropout", "initialisation he"]),
    ],
)
def test_selu_is_cautioned_where_it_cannot_hold(fields, named):
    caution = config_caution(RunConfig(**SELU, **fields)) or ""
    assert ("SELU" in caution) == bool(named)
    assert all(f"{name} breaks that" in caution for name in named)


OUT = ((2, "identity", True),)


@pytest.mark.parametrize(
    ("fields", "warned"),
    [
        ({"depth": 1}, True),
        ({"depth": 2, "overrides": OUT}, True),
        ({"depth": 2, "overrides": ((1, "identity", "attn"), (2, "identity", "attn"))}, True),
        ({"depth": 2, "overrides": ((2, "identity", "ffn"),)}, False),
        ({"depth": 3, "overrides": OUT}, False),
        ({"depth": 1, "net": "mlp", "task": "digits"}, False),
    ],
)
def test_a_value_residual_that_changes_nothing_is_cautioned(fields, warned):
    cfg = RunConfig(**{"net": "transformer", "task": "copy", "width": 8, "heads": 2, "value_residual": True} | fields)
    assert ("Value residual does nothing here" in (config_caution(cfg) or "")) == warned
    if cfg.net == "transformer":
        models = [hand.randomise(build_model(one)) for one in (cfg, replace(cfg, value_residual=False))]
        given, without = (model(torch.arange(8)[None]) for model in models)
        assert torch.equal(given, without) == warned


def test_stream_dropout_multiplies_the_mean_square():
    drop = Dropout(0.2)
    drop.mask_key = (0, "any")
    x = torch.randn(400, 1000, generator=torch.Generator().manual_seed(0))
    assert (drop(x).square().mean() / x.square().mean()).item() == pytest.approx(1 / 0.8, rel=0.01)
    assert "1/(1 - rate) = 1.25 at every add" in (config_caution(RunConfig(stream_dropout=0.2)) or "")
