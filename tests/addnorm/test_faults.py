"""Whatever goes wrong with a recording is a sentence, and the training never notices."""

import errno
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import addnorm.recorder
from addnorm import unwatch, watch
from addnorm.recording import read
from addnorm.writer import MAX_WAITING_ROWS, Writer
from tests.addnorm.loops import Restless, batch, net, recorded, train, train_step

ROOT = Path(__file__).parents[2]
HEARS_COMPILED = pytest.mark.skipif(
    not hasattr(torch.compiler, "set_stance"), reason="torch runs compiled parts as they are written from 2.6 on"
)


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), 0.1)


def hooks(model: nn.Module) -> int:
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())


def test_nothing_is_left_on_model_and_optimiser(tmp_path: Path) -> None:
    model = net()
    optimizer = sgd(model)
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        train(model, optimizer, recorder)
        assert hooks(model)
    assert not hooks(model)
    assert not optimizer._optimizer_step_pre_hooks
    assert not optimizer._optimizer_step_post_hooks
    recorder.close()
    assert train(model, optimizer, recorder)
    assert len(read(recorder.path)) == 3


def test_an_exception_in_the_loop_ends_the_recording_with_it(tmp_path: Path) -> None:
    model = net()
    optimizer = sgd(model)
    recorder = watch(model, tmp_path / "run.jsonl", optimizer=optimizer)

    def loop() -> None:
        with recorder:
            train(model, optimizer, recorder, 2)
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        loop()
    recording = read(recorder.path)
    assert (len(recording), recording.end) == (
        2,
        {"end": "error", "reason": "ZeroDivisionError: division by zero", "rows": 2, "dropped": 0},
    )
    assert not hooks(model)


def test_a_forward_pass_that_fails_is_not_taken_for_the_model(tmp_path: Path) -> None:
    model = net()
    optimizer = sgd(model)
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            model(torch.ones(2, 5))
        train(model, optimizer, recorder)
    recording = read(recorder.path)
    assert [site.name for site in recording.sites] == ["0", "1", "2", "3"]
    assert len(recording) == 3


def test_an_interrupt_in_the_first_pass_leaves_torch_as_it_was(tmp_path: Path) -> None:
    class Interrupted(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise KeyboardInterrupt

    model = nn.Sequential(nn.Linear(4, 4), Interrupted())
    with pytest.raises(KeyboardInterrupt), watch(model, tmp_path / "run.jsonl"):
        model(torch.ones(2, 4))
    assert torch.overrides._get_current_function_mode() is None
    assert not hooks(model)


def failing(*_args: Any, **_kwargs: Any) -> Any:
    raise ArithmeticError("a fault of ours")


@pytest.mark.parametrize(
    "place",
    ["addnorm.recorder.parts_of", "addnorm.recorder.cosines_of", "addnorm.recorder.find_sites", "addnorm.trace.Tracer._node",
     "addnorm.probe.Probe._keep", "addnorm.weights.Weights.gradients", "addnorm.rows.PendingRow.line", "addnorm.recorder.build_header"],
)  # fmt: skip
def test_a_fault_of_ours_is_a_warning_and_the_losses_stay_what_they_are(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = train(model := net(), sgd(model), None)
    monkeypatch.setattr(place, failing)
    model = net()
    optimizer = sgd(model)
    with (
        pytest.warns(UserWarning, match="a fault of ours"),
        watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder,
    ):
        assert train(model, optimizer, recorder) == expected
    assert not hooks(model)
    assert not [thread for thread in threading.enumerate() if thread.name == "addnorm writer"]


def test_a_full_disk_ends_the_recording_and_not_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = train(model := net(), sgd(model), None, 50)
    model = net()
    optimizer = sgd(model)
    write, room = os.write, [3000]

    def full(file: int, text: bytes) -> int:
        if room[0] == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = write(file, text[: room[0]])
        room[0] -= written
        return written

    monkeypatch.setattr("addnorm.writer.os.write", full)
    with (
        pytest.warns(UserWarning, match="No space left"),
        watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder,
    ):
        assert train(model, optimizer, recorder, 50) == expected
    recording = read(recorder.path)
    assert "is cut off" in recording.problem
    assert 0 < len(recording) < 50


def test_rows_are_dropped_and_counted_when_the_disk_is_slow(tmp_path: Path) -> None:
    go = threading.Event()
    append = Writer._append

    class Slow(Writer):
        def _append(self, lines: list[Any]) -> None:
            go.wait()
            append(self, lines)

    writer = Slow(tmp_path / "run.jsonl")
    writer.write(lambda: [{"first": 1}])
    while not writer._lines.empty():  # the thread has taken it and waits for the disk
        time.sleep(0.001)
    kept = [writer.write(lambda: [{"more": 1}]) for _ in range(MAX_WAITING_ROWS + 5)]
    assert (sum(kept), writer.dropped) == (MAX_WAITING_ROWS, 5)
    go.set()
    assert writer.close(lambda: [{"last": 1}])
    assert len(writer.path.read_text().splitlines()) == MAX_WAITING_ROWS + 2


def test_a_killed_writer_leaves_whole_lines(tmp_path: Path) -> None:
    script = f"""
        import sys; sys.path.insert(0, {str(ROOT)!r})
        import torch; torch.set_num_threads(1)
        from addnorm import watch
        from tests.addnorm.loops import net, train
        model = net(); optimizer = torch.optim.SGD(model.parameters(), 0.1)
        recorder = watch(model, {str(tmp_path / "run.jsonl")!r}, optimizer=optimizer)
        train(model, optimizer, recorder, 5); print("ready", flush=True); train(model, optimizer, recorder, 10**9)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    while len(read(tmp_path / "run.jsonl", growing=True)) < 5:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    recording = read(tmp_path / "run.jsonl", growing=True)
    assert recording.problem == ""
    assert list(recording.steps) == list(range(len(recording)))


def test_no_recording_is_written_over(tmp_path: Path) -> None:
    assert len(recorded(net(), tmp_path, steps=1)) == 1
    assert len(recorded(net(), tmp_path, steps=2)) == 2
    assert [len(read(tmp_path / name)) for name in ("run.jsonl", "run-2.jsonl")] == [1, 2]


def test_watching_twice_ends_the_first_recording(tmp_path: Path) -> None:
    model = net()
    optimizer = sgd(model)
    first = watch(model, tmp_path / "first.jsonl", optimizer=optimizer)
    train(model, optimizer, first, 1)
    with pytest.warns(UserWarning, match="watched already"):
        second = watch(model, tmp_path / "second.jsonl", optimizer=optimizer)
    train(model, optimizer, second, 2)
    unwatch(model)
    unwatch(model)
    assert [len(read(recorder.path)) for recorder in (first, second)] == [1, 2]
    assert not hooks(model)


def test_a_forward_pass_that_is_too_long_to_trace_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("addnorm.trace.MAX_NODES", 8)
    with pytest.warns(UserWarning, match="too many tensors to trace"):
        recording = recorded(net(), tmp_path)
    assert any("too many tensors" in note for note in recording.header["notes"])
    assert [block.name for block in recording.blocks] == ["0", "1", "2", "3", "4"]
    assert len(recording) == 3


def test_sites_may_be_named(tmp_path: Path) -> None:
    model = net()
    by_glob = recorded(model, tmp_path, sites=["?.down", "0"])
    by_name = recorded(net(), tmp_path, sites="?.down")
    assert [site.name for site in by_glob.sites] == ["0", "1.down", "2.down", "3.down"]
    assert [site.name for site in by_name.sites] == ["1.down", "2.down", "3.down"]
    model = net()
    named = recorded(model, tmp_path, sites={"middle": model[2], "last": model[4]})
    assert [(site.name, site.module) for site in named.sites] == [("middle", "2"), ("last", "4")]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"sites": "nothing.*"}, "no module of this model is called"),
        ({"sites": {"x": nn.Linear(2, 2)}}, "x is not a module of this model"),
        ({"every": 0}, "every: 0 is not a number of steps"),
        ({"meta": {"x": object()}}, "meta: "),
        ({"meta": {"x": float("nan")}}, "meta: "),
    ],
)
def test_arguments_without_sense_are_refused_before_training(
    asked: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=sentence):
        watch(net(), tmp_path / "run.jsonl", **asked)
    assert not list(tmp_path.iterdir())


def test_frozen_parts_and_models_have_no_gradients(tmp_path: Path) -> None:
    model = net()
    for part in model[:3]:
        part.requires_grad_(False)
    recording = recorded(model, tmp_path)
    assert list(recording.measured("grad_rms", 1)) == [0, 0, 0, 1]
    assert all(recording.masks["act_rms"])
    assert [block.name for block in recording.blocks] == ["3", "4"]
    frozen = net().requires_grad_(False)
    with watch(frozen, tmp_path / "frozen.jsonl") as recorder:
        frozen(batch(0)[0])
        recorder.step()
    recording = read(recorder.path)
    assert (len(recording), any(recording.masks["grad_rms"]), all(recording.masks["act_rms"])) == (1, False, True)


def test_a_model_that_runs_without_gradients_is_not_recorded_and_that_is_said(tmp_path: Path) -> None:
    model = net()
    with warnings.catch_warnings(record=True) as said, watch(model, tmp_path / "run.jsonl") as recorder:
        warnings.simplefilter("always")
        with torch.no_grad():
            model(batch(0)[0])
        recorder.step()
    assert "without a forward pass of the model with gradients" in str(said[0].message)
    assert read(recorder.path).is_complete


def compiled(how: str) -> tuple[nn.Module, nn.Module]:
    """A net that torch.compile has compiled in one of several ways, and what its weights are in."""
    inner = net()
    if how == "a part":
        inner[2] = torch.compile(inner[2], backend="eager", dynamic=False)
    if how == "blocks, in place":
        for at in (1, 2, 3):
            inner[at].compile(backend="eager", dynamic=False)
    if how == "whole, in place":
        inner.compile(backend="eager", dynamic=False)
    return torch.compile(inner, backend="eager", dynamic=False) if how == "whole" else inner, inner


@pytest.mark.parametrize(
    ("how", "names"),
    [
        ("a part", ["0", "1", "2", "3"]),
        ("blocks, in place", ["0", "1", "2", "3"]),
        ("whole", []),
        ("whole, in place", []),
    ],
)
@pytest.mark.parametrize("eager", [True, False])
@HEARS_COMPILED
def test_a_compiled_model_is_recorded_and_says_how(how: str, names: list[str], eager: bool, tmp_path: Path) -> None:
    hidden = not names
    names = ["0", "1", "2", "3"] if eager else names
    plain = recorded(net(), tmp_path)
    model, inner = compiled(how)
    expected = train(model, sgd(inner), None)
    model, inner = compiled(how)
    optimizer = sgd(inner)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with watch(model, tmp_path / "compiled.jsonl", optimizer=optimizer, eager=eager) as recorder:
            assert train(model, optimizer, recorder) == expected
    recording = read(recorder.path)
    assert ([site.name for site in recording.sites], len(recording)) == (names, 3)
    assert recording.header["model"] == "Sequential"
    assert recording.series["weight_grad_rms"] == pytest.approx(plain.series["weight_grad_rms"], rel=1e-5)
    for name in ("act_rms", "grad_rms") if names else ():
        assert recording.series[name] == pytest.approx(plain.series[name], rel=1e-5)
    if hidden:
        assert "All 4 sites lie inside compiled parts" in str(said[0].message)
        assert ("the last digits of the loss may differ" in str(said[0].message)) is eager
        assert "All 4 sites" in str(recorder.sites)
    else:
        assert not said
    assert not hooks(model)
    assert train(model, optimizer, None)


@pytest.mark.full
@pytest.mark.skipif(
    not any(map(shutil.which, (os.environ.get("CXX") or "g++", "clang++"))),
    reason="torch.compile's own backend needs a C++ compiler, and there is none",
)
@pytest.mark.parametrize("whole", [True, False])
@HEARS_COMPILED
def test_what_inductor_has_compiled_trains_the_same_bit_for_bit_and_what_lies_inside_is_said(
    whole: bool, tmp_path: Path
) -> None:
    def by_inductor() -> nn.Module:
        inner = net()
        for at in () if whole else (1, 2, 3):
            inner[at] = torch.compile(inner[at], dynamic=False)
        return torch.compile(inner, dynamic=False) if whole else inner

    model = by_inductor()
    expected = train(model, sgd(model), None)
    model = by_inductor()
    optimizer = sgd(model)
    with (
        pytest.warns(UserWarning, match="All 4 sites lie inside compiled parts") if whole else nullcontext(),
        watch(model, tmp_path / "run.jsonl", optimizer=optimizer, eager=False) as recorder,
    ):
        assert train(model, optimizer, recorder) == expected
    recording, plain = read(recorder.path), recorded(net(), tmp_path / "plain")
    assert [site.name for site in recording.sites] == ([] if whole else ["0", "1", "2", "3"])
    for name in ("weight_grad_rms",) if whole else ("act_rms", "grad_rms", "weight_grad_rms"):
        assert recording.series[name] == pytest.approx(plain.series[name], rel=1e-5)


def test_compiling_after_watching_trains_uncompiled_and_says_so(
    tmp_path: Path,
) -> None:
    expected = train(torch.compile(inner := net(), backend="eager", dynamic=False), sgd(inner), None)
    for _ in range(2):
        inner = net()
        optimizer = sgd(inner)
        recorder = watch(inner, tmp_path / "run.jsonl", optimizer=optimizer)
        with pytest.warns(UserWarning, match="compile the model first, then watch it") as said:
            assert train(torch.compile(inner, backend="eager", dynamic=False), optimizer, recorder) == expected
        unwatch(inner)
        assert said[0].filename.endswith("loops.py")


@HEARS_COMPILED
def test_a_compiled_model_stays_compiled_between_the_recorded_steps_and_after_an_error(tmp_path: Path) -> None:
    ran: list[int] = []

    def backend(graph: torch.fx.GraphModule, _inputs: list[Tensor]) -> Any:
        def call(*args: Any) -> Any:
            ran.append(step)
            return graph(*args)

        return call

    class Interrupted(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            if step == 4:
                raise KeyboardInterrupt
            return x

    inner = nn.Sequential(*net(), Interrupted())
    model = torch.compile(inner, backend=backend, dynamic=False)
    optimizer, step = sgd(inner), -1
    recorder = watch(model, tmp_path / "run.jsonl", optimizer=optimizer, every=2)

    def loop() -> None:
        nonlocal step
        with recorder:
            for step in range(5):
                with pytest.raises(RuntimeError, match="shapes cannot be multiplied") if step == 2 else nullcontext():
                    model(torch.ones(2, 5 if step == 2 else 4))
                nn.functional.cross_entropy(model(batch(step)[0]), batch(step)[1]).backward()
                optimizer.step()

    with pytest.warns(UserWarning, match="All 4 sites"), pytest.raises(KeyboardInterrupt):
        loop()
    assert set(ran) == {1, 3}
    step = 5
    model(batch(5)[0])
    assert ran[-1] == 5
    recording = read(recorder.path)
    assert list(recording.steps) == [0, 2]
    assert all((*recording.masks["act_rms"], *recording.masks["grad_rms"]))


def test_a_pause_keeps_the_passes_of_others_out_of_a_row(tmp_path: Path) -> None:
    """A discriminator through which a generator's gradient passes too, by an update that no optimiser makes."""
    plain = recorded(net(), tmp_path)
    model = net()
    optimizer = sgd(model)
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        for k in range(3):
            train_step(model, optimizer, recorder, k)
            with recorder.pause():
                (100 * model(torch.ones(8, 4))).sum().backward()
    recording = read(recorder.path)
    for name in ("act_rms", "grad_rms", "weight_grad_rms"):
        assert recording.series[name] == pytest.approx(plain.series[name], rel=1e-5)
    assert recording.scalars["loss"] == pytest.approx(plain.scalars["loss"])


def test_without_sums_the_parts_of_a_model_are_offered_with_both_arms_of_a_u(tmp_path: Path) -> None:
    class U(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(3))
            self.up = nn.ModuleList(nn.Sequential(nn.Linear(8, 4), nn.ReLU()) for _ in range(3))
            self.head = nn.Linear(4, 3)

        def forward(self, x: Tensor) -> Tensor:
            kept = []
            for part in self.down:
                kept.append(x := part(x))
            for part in self.up:
                x = part(torch.cat([x, kept.pop()], 1))
            return self.head(x)

    with pytest.warns(UserWarning, match="No residual additions were found"):
        recording = recorded(U(), tmp_path)
    assert [site.name for site in recording.sites] == [
        *(f"{arm}.{at}" for arm in ("down", "up") for at in range(3)),
        "head",
    ]


def test_without_an_optimiser_weights_that_stay_the_same_are_no_update(tmp_path: Path) -> None:
    model = net()
    with watch(model, tmp_path / "run.jsonl") as recorder:
        for k in range(3):
            recorder.step(model(batch(k)[0]).sum())
    assert not any(read(recorder.path).masks["update_to_weight"])


def test_the_header_has_every_setting_and_group_of_the_optimiser(tmp_path: Path) -> None:
    model = net()
    groups = [{"params": model[:2].parameters()}, {"params": model[2:].parameters(), "lr": 0.5}]
    with watch(model, tmp_path / "run.jsonl", optimizer=torch.optim.AdamW(groups, 0.1)) as recorder:
        model(batch(0)[0])
    said = read(recorder.path).header["optimizer"]
    assert (said["name"], said["lr"], said["betas"]) == ("AdamW", 0.1, [0.9, 0.999])
    sizes = [sum(p.numel() for p in part.parameters()) for part in (model[:2], model[2:])]
    assert said["groups"] == [{"parameters": sizes[0]}, {"parameters": sizes[1], "lr": 0.5}]


class FullyShardedDataParallel(nn.Sequential):
    """Named as FSDP's wrapper is."""


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (FullyShardedDataParallel(nn.Linear(2, 2)), "split over processes"),
        (nn.DataParallel(nn.Linear(2, 2)), "DistributedDataParallel can"),
        (torch.jit.script(nn.Linear(2, 2)), "is a script"),
    ],
)
def test_what_cannot_be_watched_is_refused_in_a_sentence(model: nn.Module, sentence: str, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=sentence):
        recorder = watch(model, tmp_path / "run.jsonl")
    assert not recorder.recording
    assert not list(tmp_path.iterdir())
    recorder.step(loss=1.0)
    recorder.close()


@pytest.mark.full
def test_under_ddp_the_first_process_writes_and_the_others_do_not(tmp_path: Path) -> None:
    script = f"""
        import sys; sys.path.insert(0, {str(ROOT)!r})
        import torch; torch.set_num_threads(1)
        from addnorm import watch
        from tests.addnorm.loops import net, train
        rank = int(sys.argv[1])
        store = torch.distributed.FileStore({str(tmp_path / "store")!r}, 2)
        torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=2)
        model = torch.nn.parallel.DistributedDataParallel(net())
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        with watch(model, {str(tmp_path)!r} + f"/run{{rank}}.jsonl", optimizer=optimizer) as recorder:
            train(model, optimizer, recorder)
        assert recorder.recording is False
        torch.distributed.destroy_process_group()
    """
    processes = [subprocess.Popen([sys.executable, "-c", textwrap.dedent(script), str(rank)]) for rank in (0, 1)]
    assert [process.wait(120) for process in processes] == [0, 0]
    assert not (tmp_path / "run1.jsonl").exists()
    recording, alone = read(tmp_path / "run0.jsonl"), recorded(net(), tmp_path)
    assert [site.name for site in recording.sites] == ["0", "1", "2", "3"]
    assert recording.series["grad_rms"] == pytest.approx(alone.series["grad_rms"], rel=1e-5)


def spoilt(where: str, path: Path | None, *, alarm: bool = False) -> list[Tensor]:
    """Losses, random numbers and weights of a net whose step 2 goes wrong in one place, with a recorder or without."""
    model = net()
    model[0] = Restless()
    random.seed(0)
    np.random.seed(0)
    optimizer = sgd(model)
    losses = []
    with watch(model, path, optimizer=optimizer) if path else nullcontext() as recorder:
        if alarm:
            recorder.on(lambda _alarm: None)
        for k in range(5):
            x, y = batch(k)
            if where == "head" and k == 2:
                torch.nn.init.constant_(model[4].weight, 1e38)
                torch.nn.init.constant_(model[4].bias, 3e38)
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            if where == "weight" and k == 2:
                model[2].up.weight.grad[0, 0] = math.nan
            if where == "bias" and k == 2:
                model[2].up.bias.grad[0] = math.nan
            optimizer.step()
            if recorder is not None:
                recorder.loss(loss)
            losses.append(loss.detach())
    drawn = torch.tensor([random.random(), np.random.rand()])
    return [torch.stack(losses), drawn, *model.state_dict().values()]


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("head", "model's output of step 2."),
        ("weight", "weights' gradient at 2 in step 2."),
        ("bias", "gradient of a bias or gain of step 2."),
    ],
)
@pytest.mark.parametrize("alarm", [False, True])
def test_non_finite_numbers_are_named_without_changing_training(
    where: str, sentence: str, alarm: bool, tmp_path: Path
) -> None:
    found, expected = spoilt(where, tmp_path / "run.jsonl", alarm=alarm), spoilt(where, None)
    assert not found[0][-1].isfinite()
    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)
    said = read(tmp_path / "run.jsonl").sentence("lost", 0)
    assert said == f"The first number that is not finite is the {sentence}"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA device")
def test_a_model_on_two_devices_is_recorded_as_on_one(tmp_path: Path) -> None:
    class Moved(nn.Module):
        def __init__(self, inner: nn.Module, device: str) -> None:
            super().__init__()
            self.inner, self.device = inner.to(device), device

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x.to(self.device))

    def split(device: str) -> nn.Module:
        return nn.Sequential(*(Moved(part, device if at in (2, 3) else "cpu") for at, part in enumerate(net())))

    alone, both = recorded(split("cpu"), tmp_path), recorded(split("cuda"), tmp_path)
    assert both.sites == alone.sites
    for name in ("act_rms", "grad_rms", "weight_grad_rms", "update_to_weight"):
        assert list(both.series[name]) == pytest.approx(list(alone.series[name]), rel=1e-4, nan_ok=True)


@pytest.mark.full
def test_a_program_that_ends_without_closing_still_ends_its_recording(tmp_path: Path) -> None:
    script = f"""
        import sys; sys.path.insert(0, {str(ROOT)!r})
        import torch; torch.set_num_threads(1)
        from addnorm import watch
        from tests.addnorm.loops import net, train
        model = net(); optimizer = torch.optim.SGD(model.parameters(), 0.1)
        train(model, optimizer, watch(model, {str(tmp_path / "run.jsonl")!r}, optimizer=optimizer))
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)
    recording = read(tmp_path / "run.jsonl")
    assert (recording.is_complete, len(recording)) == (True, 3)


@pytest.mark.full
def test_a_forked_process_writes_nothing(tmp_path: Path) -> None:
    script = f"""
        import os, sys; sys.path.insert(0, {str(ROOT)!r})
        import torch; torch.set_num_threads(1)
        from addnorm import watch
        from tests.addnorm.loops import net, train
        model = net(); optimizer = torch.optim.SGD(model.parameters(), 0.1)
        recorder = watch(model, {str(tmp_path / "run.jsonl")!r}, optimizer=optimizer)
        train(model, optimizer, recorder, 1)
        child = os.fork()
        if child == 0:
            sys.exit(0)  # with all that a program does at its end
        os.waitpid(child, 0)
        train(model, optimizer, recorder, 2)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)
    recording = read(tmp_path / "run.jsonl")
    assert (recording.problem, recording.is_complete, len(recording)) == ("", True, 3)


def test_the_package_needs_torch_and_the_standard_library_alone_and_a_reader_not_even_torch() -> None:
    import ast

    found: set[str] = set()
    for path in Path(addnorm.recorder.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: Sequence[str] = [alias.name for alias in node.names] if isinstance(node, ast.Import) else ()
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else names
            found |= {name.split(".")[0] for name in names}
    assert found - set(sys.stdlib_module_names) == {
        "addnorm",
        "torch",
        *("IPython", "pandas", "plotly", "traitlets"),  # where somebody asks for what they make
    }
    asked = (
        "import sys, addnorm.recording, addnorm.words, addnorm.__main__; print('torch' in sys.modules, 'numpy' in "
        "sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", asked], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout == "False False\n"
