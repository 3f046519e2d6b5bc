"""What is said of legal configurations that mislead."""

import pytest
import torch

from models.nets.sublayer import Dropout
from models.spec import RunConfig
from models.spec.cautions import config_caution

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


def test_stream_dropout_multiplies_the_mean_square():
    drop = Dropout(0.2)
    drop.mask_key = (0, "any")
    x = torch.randn(400, 1000, generator=torch.Generator().manual_seed(0))
    assert (drop(x).square().mean() / x.square().mean()).item() == pytest.approx(1 / 0.8, rel=0.01)
    assert "1/(1 - rate) = 1.25 at every add" in (config_caution(RunConfig(stream_dropout=0.2)) or "")
