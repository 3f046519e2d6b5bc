"""What cannot be recorded is one sentence, and training goes on."""

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from addnorm import watch
from addnorm.recording import read
from tests.addnorm.loops import Block, batch, net, train


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), 0.1)


def sentences(model: nn.Module, path: Any, **asked: Any) -> tuple[list[str], Path]:
    """What is said of a loop, whose losses must be those of the bare loop."""
    bare = train(twin := net(), sgd(twin), None)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        optimizer = sgd(model)
        given = asked.pop("optimizer", lambda own: own)(optimizer)
        with watch(model, path, optimizer=given, **asked) as recorder:
            assert train(model, optimizer, recorder) == bare
    return [str(one.message) for one in said], recorder.path


@pytest.mark.parametrize("name", ["\0.jsonl", "file/run.jsonl", "x" * 300])
def test_a_path_that_cannot_be_written_is_said(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (sentence,), _ = sentences(net(), f"{tmp_path}/{name}")
    assert "cannot be written" in sentence


@pytest.mark.parametrize("content", ["loss,step\n1,2\n", '{"a": 1}\n', "\x89PNG"])
def test_a_file_of_another_kind_stays(content: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(content, encoding="latin-1")
    (sentence,), new = sentences(net(), path, resume=True)
    assert "is not a recording" in sentence
    assert path.read_text(encoding="latin-1") == content
    assert len(read(new)) == 3


@pytest.mark.parametrize("given", [["adam", None], ["sgd", "own"], ["own", 3], [object()]])
def test_strangers_among_optimizers_are_named(given: list[Any], tmp_path: Path) -> None:
    said, path = sentences(
        net(), tmp_path / "run.jsonl", optimizer=lambda own: [own if one == "own" else one for one in given]
    )
    assert "optimizer" in said[0]
    assert len(said) == (1 if "own" in given else 2)
    assert len(read(path)) == (3 if "own" in given else 0)


def test_a_closed_recorder_says_so_once(tmp_path: Path) -> None:
    model = net()
    optimizer = sgd(model)
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        train(model, optimizer, recorder, 2)
    with pytest.warns(UserWarning, match="this recorder is closed") as said:
        train(model, optimizer, recorder, 2)
    recorder.step()
    recorder.close()
    assert len(said) == 1
    assert len(read(recorder.path)) == 2


def test_two_that_resume_one_file_lose_no_row(tmp_path: Path) -> None:
    """The second finds the file being written, and says so."""
    path = tmp_path / "run.jsonl"
    first, second = net(), net()
    train(first, of_first := sgd(first), None, 1)
    with watch(first, path, optimizer=of_first, resume=True) as one:
        train(first, of_first, one, 2)
        with pytest.warns(UserWarning, match="being written by another recorder"):
            other = watch(second, path, optimizer=(of_second := sgd(second)), resume=True)
        train(second, of_second, other, 3)
        train(first, of_first, one, 2)
        other.close()
    assert (len(read(path)), len(read(other.path)), other.path.name) == (4, 3, "run-2.jsonl")
    with watch(first, path, optimizer=of_first, resume=True) as one:
        train(first, of_first, one, 2)
    assert list(read(path).steps) == list(range(6))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_scripted_part_is_named_and_the_rest_recorded(tmp_path: Path) -> None:
    class Scripted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part: Any = torch.jit.script(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)))

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = x + self.part(x)
            return out

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), Block(), Scripted(), Block(), nn.Linear(8, 3))
    optimizer = sgd(model)
    recorder = watch(model, tmp_path / "run.jsonl", optimizer=optimizer)
    with pytest.warns(UserWarning, match="2.part: a script") as said:
        train(model, optimizer, recorder, 3)
    recorder.close()
    assert len(said) == 1
    found = read(recorder.path)
    assert [site.name for site in found.sites] == ["0", "1", "2", "3"]
    assert len(found) == 3
    assert any("2.part" in note for note in found.header["notes"])


def test_what_the_first_pass_leaves_out_is_noted(tmp_path: Path) -> None:
    """Stochastic depth by `if`."""

    class Dropped(Block):
        is_kept = True

        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) if self.is_kept else x

    torch.manual_seed(0)
    blocks = [Dropped() for _ in range(4)]
    model = nn.Sequential(nn.Linear(4, 8), *blocks, nn.Linear(8, 3))
    optimizer = sgd(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with watch(model, tmp_path / "run.jsonl", optimizer=optimizer):
            for k in range(8):
                for at, block in enumerate(blocks):
                    block.is_kept = at != 1 if k == 0 else (at + k) % 3 > 0
                x, y = batch(k)
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x), y).backward()
                optimizer.step()
    found = read(tmp_path / "run.jsonl")
    assert [site.name for site in found.sites] == ["0", "1", "3", "4"]
    (note,) = found.header["notes"]
    assert note.startswith("The first pass did not use 2:")
