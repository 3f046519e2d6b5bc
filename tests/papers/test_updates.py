"""A step of descent, by torch's own optimiser."""

import pytest
import torch

from models.instruments import INSTRUMENTS
from models.nets import build_model
from models.spec import RunConfig
from models.tasks import open_task
from models.training import Replays, cross_entropy, result_of

SMALL = RunConfig.arranged(
    "DeepNorm", net="transformer", task="book", depth=2, width=16, heads=2, batch=4, optimizer="sgd", lr=0.1, steps=2
)


def test_an_update_is_that_of_torchs_own_sgd_on_the_same_parameters() -> None:
    found = result_of(INSTRUMENTS["update"](Replays(), SMALL, step=0))
    x, y = open_task(SMALL, torch.device("cpu")).batch(0)
    for everything, of in ((False, found.matrices), (True, found.everything)):
        model = build_model(SMALL).double()
        before = model(x)
        inner = [p for name, p in model.named_parameters() if ".blocks." in name and name.endswith("weight")]
        own = [p for p in inner if p.ndim == 2]
        cross_entropy(before, y).backward()
        last = model.get_parameter("stream.blocks.b02.ffn.function.w2.weight").grad
        assert last is not None
        assert found.last_gradient == pytest.approx(last.norm().item(), rel=1e-6)
        torch.optim.SGD(model.parameters() if everything else own, lr=0.1).step()
        assert of == pytest.approx((model(x) - before).square().mean().sqrt().item(), rel=1e-6)
