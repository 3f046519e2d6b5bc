"""Tests the result: In post-LN the last layers have large gradients at any depth; in pre-LN they shrink as 1/√L."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from models.answers import Update
from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from tests.papers.kit import comes_out, contradicted, outcome


def last_gradients(**powers: float) -> Callable[[dict[str, Any]], None]:
    """Gradients that are these powers of depth, by net."""

    def change(values: dict[str, Any]) -> None:
        for name in values:
            kind, depth, _ = name.split(", ")
            values[name] = Update(0.0, 0.0, float(depth) ** powers[kind[: -len("-LN")]])

    return change


def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("last-gradient", HOLDS)


def test_contrary_numbers_change_the_verdict() -> None:
    contradicted(
        "last-gradient",
        [
            (HOLDS, last_gradients(post=0.0, pre=-0.5)),
            (PARTLY, last_gradients(post=0.0, pre=0.0)),
            (PARTLY, last_gradients(post=0.3, pre=-0.5)),
            (NOT_HERE, last_gradients(post=-1.0, pre=-1.0)),
        ],
    )


def test_torchs_own_transformer_has_the_gradients_of_the_theorem() -> None:
    """The last layer's second matrix, as the theorem has it, of nn.TransformerEncoder with Xavier's weights."""
    depths, sizes = (2, 4, 8, 16), {}
    for first in (False, True):
        row = []
        for depth in depths:
            squares = []
            for seed in range(3):
                torch.manual_seed(seed)
                layer = torch.nn.TransformerEncoderLayer(32, 4, 128, dropout=0.0, batch_first=True, norm_first=first)
                final = torch.nn.LayerNorm(32) if first else None
                net = torch.nn.TransformerEncoder(layer, depth, norm=final, enable_nested_tensor=False)
                for p in net.parameters():
                    if p.ndim > 1:
                        torch.nn.init.xavier_uniform_(p)
                head = torch.nn.Linear(32, 32)
                loss = torch.nn.functional.cross_entropy(
                    head(net(torch.randn(8, 32, 32))).flatten(0, 1), torch.randint(32, (256,))
                )
                loss.backward()
                squares.append(net.layers[-1].linear2.weight.grad.square().mean().item())
            row.append(np.exp(np.log(squares).mean() / 2))
        sizes[first] = np.array(row)
    by_torch = np.polyfit(np.log(depths), np.log(sizes[True] / sizes[False]), 1)[0]
    assert -0.6 < by_torch < -0.35
    table = outcome("last-gradient").table
    ours = np.polyfit(np.log(depths), np.log(np.array(table["pre-LN"]) / np.array(table["post-LN"])), 1)[0]
    assert ours == pytest.approx(by_torch, abs=0.1)
