"""Hugging Face's `Trainer`, Lightning and accelerate record, by a callback or by `watch`, what the plain loop records."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from addnorm import watch
from addnorm.recording import read
from tests.addnorm.loops import batch, net


def plain(folder: Path, steps: int, parts: int = 1) -> Any:
    """The same training by hand."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with watch(model, folder / "plain.jsonl", optimizer=optimizer) as recorder:
        for k in range(steps):
            for part in range(parts):
                x, y = batch(parts * k + part)
                loss = nn.functional.cross_entropy(model(x), y)
                (loss / parts).backward()
                recorder.loss(loss)
            optimizer.step()
            optimizer.zero_grad()
    return read(recorder.path)


class Batches(torch.utils.data.IterableDataset[dict[str, Tensor]]):
    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self) -> Iterator[Any]:
        for k in range(self.count):
            x, y = batch(k)
            yield from ({"x": x[at], "labels": y[at]} for at in range(len(x)))


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_hugging_faces_trainer_records_by_a_callback(parts: int, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    from addnorm.huggingface import HuggingFaceCallback

    class Wrapped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net()

        def forward(self, x: Tensor, labels: Tensor) -> dict[str, Tensor]:
            return {"loss": nn.functional.cross_entropy(self.net(x), labels)}

    model = Wrapped()
    callback = HuggingFaceCallback(tmp_path / "run.jsonl")
    asked = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        per_device_train_batch_size=8,
        max_steps=4,
        gradient_accumulation_steps=parts,
        max_grad_norm=0.0,
        lr_scheduler_type="constant",
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
    )
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    transformers.Trainer(
        model=model, args=asked, train_dataset=Batches(4 * parts), optimizers=(optimizer, None), callbacks=[callback]
    ).train()
    recording, expected = read(tmp_path / "run.jsonl"), plain(tmp_path, 4, parts)
    assert (recording.problem, recording.is_complete, len(recording)) == ("", True, 4)
    assert [site.name for site in recording.sites] == [f"net.{site.name}" for site in expected.sites]
    for name in ("act_rms", "grad_rms", "weight_grad_rms"):
        assert recording.series[name] == pytest.approx(expected.series[name], rel=1e-5)
    assert recording.scalars["loss"] == pytest.approx(expected.scalars["loss"], rel=1e-5)
    assert recording.scalars["lr"][0] == pytest.approx(0.1)


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_the_loss_of_a_model_of_hugging_faces_is_the_one_that_its_trainer_logs(parts: int, tmp_path: Path) -> None:
    """Such a model is told how many tokens all small batches have, and returns its share of the loss."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    from addnorm.huggingface import HuggingFaceCallback

    class Texts(torch.utils.data.Dataset[dict[str, Tensor]]):
        def __len__(self) -> int:
            return 24

        def __getitem__(self, at: int) -> dict[str, Tensor]:
            ids = torch.randint(16, (9,), generator=torch.Generator().manual_seed(at))
            return {"input_ids": ids, "labels": torch.where(torch.arange(9) < 3 + at % 6, ids, -100)}

    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_layer=2, n_head=2, n_embd=8, n_positions=16, vocab_size=16, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    asked = transformers.TrainingArguments(
        output_dir=str(tmp_path), per_device_train_batch_size=8 // parts, gradient_accumulation_steps=parts, max_steps=3,
        logging_steps=1, use_cpu=True, report_to=[], save_strategy="no", disable_tqdm=True,
    )  # fmt: skip
    trainer = transformers.Trainer(
        model=transformers.GPT2LMHeadModel(config), args=asked, train_dataset=Texts(),
        callbacks=[HuggingFaceCallback(tmp_path / "run.jsonl")],
    )  # fmt: skip
    trainer.train()
    logged = [float(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry]
    assert list(read(tmp_path / "run.jsonl").scalars["loss"]) == pytest.approx(logged, abs=1e-4)
    assert len(logged) == 3


@pytest.mark.parametrize("parts", [1, 4])
def test_losses_that_are_shares_of_a_steps_add_up(parts: int, tmp_path: Path) -> None:
    """A model that is told how many tokens a step has, as Hugging Face's are, returns its small batch's share."""

    class Shares(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net()

        def forward(self, x: Tensor, labels: Tensor, **given: Any) -> dict[str, Tensor]:
            return {
                "loss": nn.functional.cross_entropy(self.net(x), labels, reduction="sum") / given["num_items_in_batch"]
            }

    model = Shares()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        for k in range(2):
            xs, ys = batch(k)
            for x, y in zip(xs.chunk(parts), ys.chunk(parts), strict=True):
                model(x, y, num_items_in_batch=len(ys))["loss"].backward()
            optimizer.step()
            optimizer.zero_grad()
    assert read(recorder.path).scalars["loss"] == pytest.approx(plain(tmp_path, 2).scalars["loss"], rel=1e-6)


def same_rows(found: Any, expected: Any) -> None:
    assert (found.problem, found.is_complete, len(found)) == ("", True, len(expected))
    for name in ("act_rms", "grad_rms", "weight_grad_rms"):
        assert found.series[name] == pytest.approx(expected.series[name], rel=1e-5)
    assert found.scalars["loss"] == pytest.approx(expected.scalars["loss"], rel=1e-5)


def test_a_loop_of_accelerates_is_recorded_with_the_optimizer_that_it_has_wrapped(tmp_path: Path) -> None:
    accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = net()
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.1))
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        for k in range(6):
            with accelerator.accumulate(model):
                x, y = batch(k)
                loss = nn.functional.cross_entropy(model(x), y)
                accelerator.backward(loss)
                recorder.loss(loss)
                optimizer.step()
                optimizer.zero_grad()
    same_rows(read(recorder.path), plain(tmp_path, 3, 2))


@pytest.mark.parametrize("how", ["watched inside", "compiled whole"])
def test_lightning_is_recorded_as_people_write_it(how: str, tmp_path: Path) -> None:
    """`watch` is given the optimizer that Lightning has wrapped, or the callback a module that is compiled whole."""
    lightning = pytest.importorskip("lightning.pytorch", reason="lightning is not installed")
    from addnorm.lightning import LightningCallback

    class Module(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.net = net()

        def on_train_start(self) -> None:
            if how == "watched inside":
                self.recorder = watch(self.net, tmp_path / "run.jsonl", optimizer=self.optimizers())

        def training_step(self, given: dict[str, Tensor], _at: int) -> Tensor:
            loss = nn.functional.cross_entropy(self.net(given["x"]), given["labels"])
            if how == "watched inside":
                self.recorder.loss(loss)
            return loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), 0.1)

        def on_fit_end(self) -> None:
            if how == "watched inside":
                self.recorder.close()

    whole = how == "compiled whole"
    lightning.Trainer(
        max_steps=3, accumulate_grad_batches=2, callbacks=[LightningCallback(tmp_path / "run.jsonl")] if whole else [],
        logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, accelerator="cpu",
    ).fit(
        torch.compile(Module(), backend="eager") if whole else Module(),
        torch.utils.data.DataLoader(Batches(6), batch_size=8),
    )  # fmt: skip
    same_rows(read(tmp_path / "run.jsonl"), plain(tmp_path, 3, 2))


@pytest.mark.parametrize("parts", [1, 2])
def test_lightning_records_by_a_callback(parts: int, tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning.pytorch", reason="lightning is not installed")
    from addnorm.lightning import LightningCallback

    class Module(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.net = net()

        def training_step(self, given: dict[str, Tensor], _at: int) -> Tensor:
            return nn.functional.cross_entropy(
                self.net(given["x"]), given["labels"]
            )  # the module itself is never called

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), 0.1)

    loader = torch.utils.data.DataLoader(Batches(4 * parts), batch_size=8)
    lightning.Trainer(
        max_steps=4, accumulate_grad_batches=parts, callbacks=[LightningCallback(tmp_path / "run.jsonl")], logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, accelerator="cpu",
    ).fit(Module(), loader)  # fmt: skip
    recording, expected = read(tmp_path / "run.jsonl"), plain(tmp_path, 4, parts)
    assert (recording.problem, recording.is_complete, len(recording)) == ("", True, 4)
    assert [site.name for site in recording.sites] == [f"net.{site.name}" for site in expected.sites]
    for name in ("act_rms", "grad_rms", "weight_grad_rms"):
        assert recording.series[name] == pytest.approx(expected.series[name], rel=1e-5)
    assert recording.scalars["loss"] == pytest.approx(expected.scalars["loss"], rel=1e-5)


@pytest.mark.parametrize("chosen", [None, 1])
def test_a_gan_under_lightning_is_one_series(chosen: int | None, tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning.pytorch", reason="lightning is not installed")
    from addnorm.lightning import LightningCallback

    norms: dict[str, list[float]] = {"generator": [], "critic": []}
    losses: dict[str, list[float]] = {"generator": [], "critic": []}

    class Module(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.automatic_optimization = False
            self.generator, self.critic = nn.Sequential(*net(), nn.Linear(3, 4)), net()

        def training_step(self, given: dict[str, Tensor], _at: int) -> None:
            x, fake = given["x"], self.generator(given["x"])
            for part, optimizer in zip(("generator", "critic"), self.optimizers(), strict=True):
                self.toggle_optimizer(optimizer)
                optimizer.zero_grad()
                if part == "generator":
                    loss = self.critic(fake).square().mean()
                else:
                    loss = self.critic(x).square().mean() - self.critic(fake.detach()).square().mean().clamp(max=2)
                self.manual_backward(loss)
                own = getattr(self, part)
                norms[part].append(torch.cat([p.grad.flatten() for p in own.parameters()]).norm().item())
                losses[part].append(loss.item())
                optimizer.step()
                self.untoggle_optimizer(optimizer)

        def configure_optimizers(self) -> Any:
            return [torch.optim.SGD(one.parameters(), 0.05) for one in (self.generator, self.critic)], []

    callback = LightningCallback(tmp_path / "run.jsonl", optimizer=chosen)
    trainer = lightning.Trainer(
        max_steps=8, callbacks=[callback], logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, accelerator="cpu",
    )  # fmt: skip
    with pytest.warns(UserWarning, match="in turns") if chosen is None else nullcontext():
        trainer.fit(Module(), torch.utils.data.DataLoader(Batches(4), batch_size=8))
    found, part = read(tmp_path / "run.jsonl"), "critic" if chosen else "generator"
    assert (found.problem, list(found.steps)) == ("", [0, 1, 2, 3])
    assert list(found.scalars["loss"]) == pytest.approx(losses[part], rel=1e-5)
    names = [block.name for block in found.blocks]
    for row in range(3):
        measured = found.measured("update_to_weight", row)
        assert {name for name, there in zip(names, measured, strict=True) if there} == {
            name for name in names if part in name
        }
