"""Faults of loops: each is found in the loop that has it, in nothing beside it, and with the right numbers."""

import copy
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import addnorm
from addnorm import read, watch
from addnorm.recording import Reader, Recording
from addnorm.table import table
from tests.addnorm.bugs import ARCHITECTURES, BUGS, HEALTHY, Training, WrappedBlock, run_case
from tests.addnorm.loops import batch, net, rms, train
from tests.addnorm.shapes import SHAPES, Watched


def recording_of(case: Any, architecture: str, folder: Path, seed: int = 0) -> Recording:
    """What is recorded of a case of the benchmark."""

    @contextmanager
    def watched(training: Training) -> Any:
        with watch(training.model, folder / "run.jsonl", optimizer=training.optimizer) as recorder:
            yield recorder.loss

    torch.set_num_threads(1)
    run_case(case, architecture, seed, watched)
    found = read(folder / "run.jsonl")
    assert found.problem == ""
    return found


# Each comes near another rule: an unused gradient, clipping, zeros at the start, a part that is skipped, two passes.
HEALTHY_FIRST = (
    "AdamW with warm-up",
    "four small batches to an update",
    "clipped at 1",
    "branches that start at zero",
    "blocks dropped at random",
    "checkpoints",
    "two experts in turns",
)
OTHERS = [pytest.param(one, marks=pytest.mark.full) for one in list(ARCHITECTURES)[1:]]


@pytest.mark.parametrize("architecture", ["MLP", *OTHERS])
@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_is_found_and_said_in_report_and_file(bug: str, architecture: str, tmp_path: Path) -> None:
    case, ids = BUGS[bug]
    found = recording_of(case, architecture, tmp_path)
    (first, *_) = [one for one in found.findings if one.id in ids]
    assert first.numbers or first.id == "AN-N1"
    report = "\n".join(table(found))
    assert first.sentence[:400] in report
    assert f"{first.id} {first.severity}: " in report
    assert first.remedy[:100] in report
    again = Reader().feed(b"".join(found.lines()))
    assert [one.as_json() for one in again.findings] == [one.as_json() for one in found.findings]


@pytest.mark.parametrize("architecture", ["MLP", *OTHERS])
@pytest.mark.parametrize(
    "loop", [pytest.param(loop, marks=() if loop in HEALTHY_FIRST else pytest.mark.full) for loop in HEALTHY]
)
def test_a_healthy_loop_has_no_findings(loop: str, architecture: str, tmp_path: Path) -> None:
    found = recording_of(HEALTHY[loop], architecture, tmp_path)
    losses = list(found.scalars["loss"])
    quarter = len(losses) // 4
    assert sum(losses[-quarter:]) < 0.97 * sum(losses[:quarter]), "it is healthy: it learns"
    assert found.findings == []


@pytest.mark.full
@pytest.mark.parametrize("name", SHAPES)
def test_a_loop_of_another_shape_has_no_findings(name: str, tmp_path: Path) -> None:
    @contextmanager
    def watched(training: Watched) -> Any:
        with watch(training.model, tmp_path / "run.jsonl", optimizer=training.optimizer) as recorder:
            yield recorder.step if training.optimizer is None else recorder.loss

    torch.set_num_threads(1)
    SHAPES[name](0, watched)
    assert read(tmp_path / "run.jsonl").findings == []


def only(found: Recording, rule: str) -> addnorm.Diagnostic:
    (one,) = [one for one in found.findings if one.id == rule]
    return one


def test_clipping_is_said_with_the_norms_that_torch_gives(tmp_path: Path) -> None:
    model, norms = net(), []
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer):
        for k in range(40):
            x, y = batch(k)
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            norms.append(nn.utils.clip_grad_norm_(model.parameters(), 0.01).item())
            optimizer.step()
    finding = only(read(tmp_path / "run.jsonl"), "AN-C1")
    assert finding.numbers["before"] == pytest.approx(norms[finding.since], rel=1e-4)
    assert finding.numbers["after"] == pytest.approx(0.01, rel=1e-3)
    assert finding.since <= 2, "clipping is noticed at the first or second row"


@pytest.mark.parametrize(("loop", "seed"), [("fewer steps", 4), ("clipped at 1", 2)])
def test_a_slow_start_is_not_stalled_and_a_gradient_of_ten_times_the_limit_is_usual(
    loop: str, seed: int, tmp_path: Path
) -> None:
    architecture = "convnet" if loop == "fewer steps" else "transformer"
    assert recording_of(HEALTHY[loop], architecture, tmp_path, seed).findings == []


def test_a_gradient_that_is_left_is_measured(tmp_path: Path) -> None:
    model: Any = net()
    left = []
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer):
        for k in range(5):
            x, y = batch(k)
            if k:
                left.append(rms(model[0].weight.grad))
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    found = read(tmp_path / "run.jsonl")
    assert list(found.scalars["gradient_left"])[1:] == pytest.approx(left, rel=1e-5)
    assert only(found, "AN-G3").since == 1
    assert only(found, "AN-G3").numbers["rows"] == 3, "as many as when it was first said"


@pytest.mark.parametrize("how", ["returned", "with a graph", "of a part"])
@pytest.mark.parametrize("zeroed", [True, False])
def test_gradients_that_are_read_are_not_left_over(how: str, zeroed: bool, tmp_path: Path) -> None:
    """They are asked of autograd before `zero_grad`: for a log, a penalty, a step of meta-learning."""
    model: Any = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer):
        for k in range(10):
            x, y = batch(k)
            loss = nn.functional.cross_entropy(model(x), y)
            asked = list(model[1:].parameters() if how == "of a part" else model.parameters())
            read_ = torch.autograd.grad(loss, asked, retain_graph=True, create_graph=how == "with a graph")
            if zeroed:
                optimizer.zero_grad()
            (loss + 0.01 * sum(one.square().sum() for one in read_)).backward()
            optimizer.step()
    found = [one.id for one in read(tmp_path / "run.jsonl").findings]
    assert found == ([] if zeroed else ["AN-G3"])


def test_copies_are_told_from_zeros_tied_and_unit_matrices(tmp_path: Path) -> None:
    model: Any = net(4)
    model[2] = copy.deepcopy(model[1])
    for block in (model[3], model[4]):
        nn.init.zeros_(block.down.weight)
        nn.init.ones_(block.up.weight)
    found = addnorm.profile(model, batch(0), nn.functional.cross_entropy)
    finding = only(found.recording, "AN-I1")
    assert finding.numbers == {"copies": 2, "matrices": 10}
    assert finding.sentence == (
        "2 of 10 weight matrices start as copies of another: 2.up.weight has the numbers of 1.up.weight."
    )
    nn.init.normal_(model[2].up.weight)
    nn.init.normal_(model[2].down.weight)
    assert addnorm.profile(model, batch(0), nn.functional.cross_entropy).findings == []
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
    assert only(addnorm.profile(encoder, torch.randn(2, 5, 8)).recording, "AN-I1").numbers["copies"] == 8


@pytest.mark.parametrize(
    ("cut", "label"),
    [(Tensor.detach, "detach in 2"), (lambda x: x.data, "data in 2")],
)
def test_a_cut_is_said_with_its_place_and_the_matrices_that_autograd_leaves_out(cut: Any, label: str) -> None:
    model: Any = net()
    model[2] = WrappedBlock(model[2], cut)
    found = addnorm.profile(model, batch(0), nn.functional.cross_entropy)
    finding = only(found.recording, "AN-G2")
    model(batch(0)[0]).sum().backward()
    without = [name for name, p in model.named_parameters() if p.grad is None and p.ndim > 1]
    assert (finding.place, finding.numbers) == (label, {"matrices": len(without), "of": 8})
    assert "0, 1 receive none" in finding.sentence


def test_an_infinite_mask_is_no_infinite_batch(tmp_path: Path) -> None:
    class Masked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True)
            self.table, self.encoder = nn.Embedding(7, 8), nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)

        def forward(self, mask: Tensor, symbols: Tensor) -> Tensor:
            out: Tensor = self.encoder(self.table(symbols), mask)
            return out

    mask = nn.Transformer.generate_square_subsequent_mask(5)
    assert addnorm.profile(Masked(), (mask, torch.randint(7, (3, 5)))).findings == []


def test_experts_are_named_and_one_that_is_chosen_later_is_not(tmp_path: Path) -> None:
    class Experts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.experts, self.chosen = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)]), 0

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = x + self.experts[self.chosen](x)
            return out

    model: Any = nn.Sequential(nn.Linear(4, 8), Experts(), nn.Linear(8, 3))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        train(model, optimizer, recorder, 20)
        model[1].chosen = 2
        train(model, optimizer, recorder, 1)
    found = read(recorder.path)
    early = [one for one in found.findings_at(19) if one.id == "AN-W1"]
    assert early[0].sentence == "From the start no gradient has reached 1.experts.1, 1.experts.2, 1.experts.3."
    assert found.findings_at(18) == []
    assert only(found, "AN-W1").sentence == "From the start no gradient has reached 1.experts.1, 1.experts.3."


def test_the_update_of_complex_weights_is_measured_whole(tmp_path: Path) -> None:
    class Spectral(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(8, 8, dtype=torch.complex64) / 8)

        def forward(self, x: Tensor) -> Tensor:
            return x + (x.to(torch.complex64) @ self.weight).real

    torch.manual_seed(0)
    model: Any = nn.Sequential(nn.Linear(4, 8), Spectral(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    before = model[1].weight.detach().clone()
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        train(model, optimizer, recorder, 1)
        moved = (model[1].weight.detach() - before).norm() / before.norm()
    found = read(recorder.path)
    (at,) = [at for at, block in enumerate(found.blocks) if block.name.startswith("1")]
    assert found.row("update_to_weight", 0)[at] == pytest.approx(moved.item(), rel=1e-4)


@pytest.mark.parametrize("where", ["one number", "all samples"])
def test_a_number_that_outgrows_its_site_is_named(where: str, tmp_path: Path) -> None:
    """The branch adds a number of growing size to one feature, of one sample or, which is healthy, of all."""

    class Sink(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.branch, self.sink = nn.Linear(256, 256), nn.Parameter(torch.zeros(()))
            self.at = torch.zeros(128, 256)
            self.at[0 if where == "one number" else slice(None), 3] = 1

        def forward(self, x: Tensor) -> Tensor:
            return x + (self.branch(x) + self.sink * self.at)

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 256), Sink(), Sink())
    optimizer = torch.optim.SGD(model.parameters(), 1e-4)
    peaks: list[float] = []
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        for step in range(9):
            with torch.no_grad():
                model[2].sink.fill_(200.0 * max(0, step - 1))
            y = model(torch.randn(128, 256))
            optimizer.zero_grad()
            y.square().mean().backward()
            optimizer.step()
            peaks.append(float(y.detach().abs().max() / y.detach().square().mean().sqrt()))
    found = [finding for finding in recorder.findings if finding.id == "AN-S3"]
    for row in (0, 1, 8):
        assert read(recorder.path).row("act_peak", row)[2] == pytest.approx(peaks[row], rel=1e-4)
    assert [finding.place for finding in found] == (["2"] if where == "one number" else [])
