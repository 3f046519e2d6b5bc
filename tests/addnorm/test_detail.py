"""More of a model where it is asked for, the gradient before clipping, and a recording that is gone on with."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from addnorm import watch
from addnorm.recording import read
from tests.addnorm.loops import batch, net, recorded, rms, train
from tests.addnorm.other_peoples import CASES


class TwoHeadAttention(nn.Module):
    """As GPT-2 has it: heads side by side, then a last matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.num_heads, self.qkv, self.out_proj = 2, nn.Linear(8, 24), nn.Linear(8, 8)
        self.seen: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.unflatten(-1, (2, 4)).transpose(-2, -3) for part in self.qkv(x).chunk(3, -1))
        heads = nn.functional.scaled_dot_product_attention(q, k, v)
        self.seen.append(heads.detach())
        return x + self.out_proj(heads.transpose(-2, -3).flatten(-2))


def test_heads_and_parameters_are_recorded_where_they_are_asked_for(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), TwoHeadAttention(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer, detail="heads") as recorder:
        grads = []
        for k in range(2):
            model(batch(k)[0].unflatten(0, (2, 4))).square().mean().backward()
            grads.append([rms(p.grad) for p in model.parameters() if p.grad is not None])
            optimizer.step()
            optimizer.zero_grad()
    found = read(recorder.path)
    assert found.problem == ""
    assert found.heads == ("1 head 0", "1 head 1")
    assert found.weights == tuple(name for name, _ in model.named_parameters())
    for at in range(2):
        expected = [rms(model[1].seen[at][:, head]) for head in range(2)]
        assert found.row("head", at) == pytest.approx(expected, rel=1e-5)
        assert found.row("parameter_grad", at) == pytest.approx(grads[at], rel=1e-5)
    with pytest.raises(ValueError, match="detail: 'everything' is not known; there are 'heads' and 'histograms'"):
        watch(model, tmp_path / "run.jsonl", detail="everything")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["GPT-2", "Llama", "BERT", "ViT"])
def test_other_peoples_heads_are_found(name: str, tmp_path: Path) -> None:
    model, inputs = CASES[name].build()
    with watch(model, tmp_path / "run.jsonl", detail="heads") as recorder:
        model(**inputs)
        recorder.step()
    found = read(recorder.path)
    assert len(found.heads) == model.config.num_hidden_layers * model.config.num_attention_heads
    assert all(found.measured("head", 0))


@pytest.mark.parametrize("scaled", [False, True])
def test_the_gradient_is_recorded_before_it_is_clipped_too(scaled: bool, tmp_path: Path) -> None:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=scaled)
    norms = []
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        for k in range(5):
            x, y = batch(k)
            optimizer.zero_grad()
            scaler.scale(nn.functional.cross_entropy(model(x), y)).backward()
            scaler.unscale_(optimizer)
            norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01).item())
            scaler.step(optimizer)
            scaler.update()
    found = read(recorder.path)
    assert list(found.scalars["grad_norm_unclipped"])[2:] == pytest.approx(norms[2:], rel=1e-4)
    assert list(found.scalars["grad_norm"]) == pytest.approx([0.01] * 5, rel=1e-3)
    assert not any(recorded(net(), tmp_path).masks["grad_norm_unclipped"])


def restarted(path: Path, steps: int, before: int, **asked: Any) -> Path:
    """Trains from a checkpoint of step `before`, which the same training has made."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for k in range(before):
        x, y = batch(k)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    with watch(model, path, optimizer=optimizer, **asked) as recorder:
        for k in range(before, steps):
            x, y = batch(k)
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    return recorder.path


@pytest.mark.parametrize(("resume", "before"), [(True, 3), (2, 2)])
def test_a_restarted_training_goes_on_with_its_recording(resume: int, before: int, tmp_path: Path) -> None:
    whole = read(restarted(tmp_path / "whole.jsonl", 5, 0))
    path = restarted(tmp_path / "run.jsonl", 3, 0)
    assert restarted(path, 5, before, resume=resume) == path
    found = read(path)
    assert (found.problem, list(found.steps), found.end) == ("", [0, 1, 2, 3, 4], whole.end)
    assert found.series["act_rms"] == whole.series["act_rms"]
    assert found.seconds[-1] >= found.seconds[0]
    assert path.read_text().count('"addnorm":2') == 1
    assert found.sentence_changes == whole.sentence_changes


def test_another_models_recording_is_not_gone_on_with(tmp_path: Path) -> None:
    path = restarted(tmp_path / "run.jsonl", 3, 0)
    before = path.read_bytes()
    model = net(blocks=2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with (
        pytest.warns(UserWarning, match="of a model with different sites"),
        watch(model, path, optimizer=optimizer, resume=True) as recorder,
    ):
        train(model, optimizer, recorder, 1)
    assert path.read_bytes() == before
    assert math.isfinite(read(tmp_path / "run-2.jsonl").scalars["loss"][0])
