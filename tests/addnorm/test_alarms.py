"""What a recorder calls out and passes on while a model trains."""

import math
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from addnorm import Alarm, read, watch
from tests.addnorm.loops import Block, batch, net, recorded, train, train_step


def sgd(model: nn.Module, lr: float = 0.1) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr)


def alarms_of(model: nn.Module, path: Path, steps: int = 4, lr: float = 0.1, **asked: Any) -> list[Alarm]:
    rung: list[Alarm] = []
    optimizer = sgd(model, lr)
    with watch(model, path, optimizer=optimizer) as recorder:
        recorder.on(rung.append, **asked)
        train(model, optimizer, recorder, steps)
    return rung


class Loud(nn.Module):
    """A block whose branch overflows, in which -inf masks are nothing unusual."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.scale = nn.Linear(8, 8), 1.0

    def forward(self, x: Tensor) -> Tensor:
        masked = torch.zeros_like(x).masked_fill(torch.ones_like(x).triu(1).bool(), -math.inf).softmax(-1)
        return x + torch.exp(self.down(x).abs() * self.scale) * masked


def test_a_number_that_is_not_finite_rings_once_with_its_operation_before_the_update(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), Block(), Loud(), Block(), nn.Linear(8, 3))
    optimizer, rung, seen = sgd(model, 1e-3), [], []

    def ring(alarm: Alarm) -> None:
        rung.append(alarm)
        seen.append(all(bool(p.isfinite().all()) for p in model.parameters()))

    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        recorder.on(ring, factor=math.inf)
        train(model, optimizer, recorder, 2)
        model[2].scale = 1e6
        train(model, optimizer, recorder, 2)
    (alarm,) = rung
    assert (alarm.kind, alarm.step, alarm.site, alarm.operation) == ("not finite", 2, "2", "exp in 2")
    assert alarm.sentence == "The first number that is not finite is the signal at 2 in step 2; exp in 2 made it."
    assert seen == [True]


def test_what_an_alarm_raises_stops_the_training_before_the_update(tmp_path: Path) -> None:
    model = net()
    torch.nn.init.constant_(model[4].weight, 3e38)
    before = model[0].weight.detach().clone()

    def stop(alarm: Alarm) -> None:
        raise StopIteration(alarm.sentence)

    recorder = watch(model, tmp_path / "run.jsonl", optimizer=(optimizer := sgd(model)))
    recorder.on(stop)
    with pytest.raises(StopIteration, match="model's output of step 0; linear in 4 made it"):
        train(model, optimizer, recorder, 1)
    recorder.close()
    assert torch.equal(model[0].weight, before)


def test_a_jump_rings_once_and_a_quiet_net_never(tmp_path: Path) -> None:
    assert alarms_of(net(), tmp_path / "quiet.jsonl") == []
    model = net()
    with torch.no_grad():
        model[2].down.weight.mul_(1e4)
    rung = alarms_of(model, tmp_path / "loud.jsonl", lr=0.0)
    assert [(alarm.kind, alarm.step, alarm.site) for alarm in rung] == [("signal", 0, "2"), ("gradient", 0, "2")]
    assert rung[0].sentence.startswith("The signal grows most at 2, by a factor of ")


def test_a_loss_that_rises_rings_once(tmp_path: Path) -> None:
    rung: list[Alarm] = []
    with watch(model := net(), tmp_path / "run.jsonl") as recorder:
        recorder.on(rung.append, factor=math.inf)
        for k in range(121):
            model(batch(k)[0]).sum().backward()
            recorder.step(loss=1 + k / 100)
    assert [(alarm.kind, alarm.site) for alarm in rung] == [("loss", "")]
    assert rung[0].sentence.startswith("Since step ")


def test_alarms_leave_losses_and_random_numbers_as_they_are(tmp_path: Path) -> None:
    def losses(path: Path | None) -> list[float]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), Block(), nn.BatchNorm1d(8), nn.Dropout(0.5), Block(), nn.Linear(8, 3))
        optimizer, recorder = sgd(model), None
        if path is not None:
            recorder = watch(model, path, optimizer=optimizer)
            recorder.on(lambda alarm: None)
            recorder._alarms.check_row = lambda row, operation: operation("signal")  # type: ignore[union-attr, method-assign, assignment, return-value]
        found = train(model, optimizer, recorder, 4)
        if recorder is not None:
            recorder.close()
        return found

    assert losses(tmp_path / "run.jsonl") == losses(None)


class Dashboard:
    """What TensorBoard's writer and a run of W&B have in common with a list."""

    def __init__(self) -> None:
        self.told: list[Any] = []


class TensorBoard(Dashboard):
    def add_scalar(self, name: str, value: float, step: int) -> None:
        self.told.append((name, value, step))

    def add_text(self, name: str, text: str, step: int) -> None:
        self.told.append((name, text, step))


class WandbRun(Dashboard):
    def define_metric(self, name: str, step_metric: str | None = None) -> None:
        self.defined = name, step_metric

    def log(self, numbers: dict[str, Any]) -> None:
        self.told.append(numbers)


class TrackioRun(Dashboard):
    def log(self, metrics: dict[str, Any], step: int | None = None) -> None:
        self.told.append((step, metrics))


class Offline(Dashboard):
    def log(self, numbers: dict[str, Any]) -> None:
        raise ConnectionError("no network")


@pytest.mark.parametrize("with_file", [True, False])
def test_dashboards_hear_a_few_numbers_of_each_row(with_file: bool, tmp_path: Path) -> None:
    expected = recorded(net(), tmp_path)
    model, board, run, trackio = net(), TensorBoard(), WandbRun(), TrackioRun()
    optimizer = sgd(model)
    path = tmp_path / "told.jsonl" if with_file else None
    with (
        pytest.warns(UserWarning, match="Offline gets no more of the recording: no network"),
        watch(model, path, optimizer=optimizer, to=[board, Offline(), run, trackio]) as recorder,
    ):
        train(model, optimizer, recorder)
    assert (tmp_path / "told.jsonl").exists() == with_file
    assert [told["addnorm/step"] for told in run.told] == [0, 1, 2]
    assert trackio.told == list(enumerate(run.told))
    assert run.defined == ("addnorm/*", "addnorm/step")
    if path is not None:
        with watch(model, path, optimizer=optimizer, to=[again := WandbRun()], resume=True) as recorder:
            train(model, optimizer, recorder, 1)
        assert ([told["addnorm/step"] for told in again.told], again.defined) == ([3], run.defined)
    for at, told in enumerate(run.told):
        act, grad = expected.row("act_rms", at), expected.row("grad_rms", at)
        ends = {
            "addnorm/first_site": act[0],
            "addnorm/last_site": act[-1],
            "addnorm/growth_over_depth": act[-1] / act[0],
        }
        assert {name: told[name] for name in ends} == pytest.approx(ends)
        assert told["addnorm/gradient_growth"] == pytest.approx(grad[0] / grad[-1])
        assert told["addnorm/largest_update"] == pytest.approx(max(expected.row("update_to_weight", at)))
        assert told["addnorm/verdict"].startswith("The signal ")
    assert {(name, step): value for name, value, step in board.told} == {
        (name, told["addnorm/step"]): value
        for told in run.told
        for name, value in told.items()
        if name != "addnorm/step"
    }


def test_a_dashboard_of_another_kind_is_refused_and_tensorboards_own_writer_is_not(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has neither add_scalar"):
        watch(net(), to=[object()])
    with pytest.raises(ValueError, match="neither a file nor a dashboard"):
        watch(net())
    board = pytest.importorskip("torch.utils.tensorboard", reason="tensorboard is not installed")
    model = net()
    optimizer = sgd(model)
    with warnings.catch_warnings(), board.SummaryWriter(tmp_path) as writer:
        warnings.simplefilter("error", UserWarning)
        with watch(model, optimizer=optimizer, to=[writer]) as recorder:
            train(model, optimizer, recorder)
    assert next(tmp_path.glob("events*")).stat().st_size > 500


@pytest.mark.full
def test_wandb_hears_each_row_beside_other_logs(tmp_path: Path) -> None:
    wandb = pytest.importorskip("wandb", reason="wandb is not installed")
    expected = train(model := net(), sgd(model), None, 5)
    model = net()
    optimizer = sgd(model)
    settings = wandb.Settings(silent=True, console="off")
    with wandb.init(mode="offline", dir=tmp_path, project="addnorm", settings=settings) as run:
        with watch(model, tmp_path / "run.jsonl", optimizer=optimizer, to=[run]) as recorder:
            found = []
            for k in range(5):
                found += [train_step(model, optimizer, recorder, k)]
                run.log({"mine": k})
        last = read(recorder.path).row("act_rms", 4)
        assert (run.summary["mine"], run.summary["addnorm/step"], run.step) == (4, 4, 10)
        assert run.summary["addnorm/last_site"] == pytest.approx(last[-1])
        assert run.summary["addnorm/verdict"].startswith("The signal ")
    assert found == expected
    assert next(tmp_path.glob("wandb/offline-run-*/*.wandb")).stat().st_size > 500


@pytest.mark.full
def test_a_run_of_trackio_hears_of_each_row_at_its_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    trackio = pytest.importorskip("trackio", reason="trackio is not installed")
    storage = pytest.importorskip("trackio.sqlite_storage").SQLiteStorage
    model = net()
    optimizer = sgd(model)
    run = trackio.init(project="addnorm", name="watched", embed=False)
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer, every=2, to=[run]) as recorder:
        for k in range(5):
            train_step(model, optimizer, recorder, k)
            run.log({"mine": k}, step=k)
    trackio.finish()
    told = [one for one in storage.get_logs("addnorm", "watched") if "addnorm/step" in one]
    assert [one["step"] for one in told] == [0, 2, 4]
    assert told[-1]["addnorm/last_site"] == pytest.approx(read(recorder.path).row("act_rms", 2)[-1])
