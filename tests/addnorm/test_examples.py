"""The examples run from a clone and leave recordings with the sites of their models."""

from pathlib import Path

import pytest

import examples
from addnorm.__main__ import main
from addnorm.recording import Recording, read

SHIPPED = Path(examples.__file__).parent / "recordings"


def begins_like(shipped: str, fresh: Recording) -> bool:
    """Whether the recording that comes with the app is what its script records, as far as the fresh one goes."""
    kept = read(SHIPPED / shipped)
    assert kept.problem == ""
    assert kept.sites == fresh.sites
    return all(
        list(kept.row(name, at)) == pytest.approx(list(fresh.row(name, at)), rel=1e-3)
        for name in ("act_rms", "grad_rms")
        for at in range(len(fresh))
    )


def test_the_manual_shows_the_recordings_as_they_are_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    manual = (SHIPPED.parents[1] / "docs/your-model.md").read_text(encoding="utf-8")
    for name in ("digits", "x-transformer"):
        assert main(["show", str(SHIPPED / f"{name}.jsonl")]) == 0
        said = capsys.readouterr().out
        block = next(block for block in manual.split("```\n") if block.startswith(said.splitlines()[0]))
        above, below = block.split("...\n")
        assert said.startswith(above)
        assert said.endswith(below)


@pytest.mark.full
def test_the_digits_example(tmp_path: Path) -> None:
    from examples.digits import main as example

    example(str(tmp_path / "run.jsonl"), steps=3)
    recording = read(tmp_path / "run.jsonl")
    assert (recording.problem, len(recording), recording.header["meta"]) == ("", 3, {"task": "digits"})
    assert [site.name for site in recording.sites] == [str(at) for at in range(13)]
    assert begins_like("digits.jsonl", recording)


@pytest.mark.full
def test_the_trainer_example(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    from examples.trainer import main as example

    example(str(tmp_path / "run.jsonl"), steps=3)
    recording = read(tmp_path / "run.jsonl")
    blocks = [f"transformer.h.{at}{part}" for at in range(6) for part in (".attn", "")]
    assert (recording.problem, len(recording)) == ("", 3)
    assert [site.name for site in recording.sites] == ["transformer.drop", *blocks]
    assert all((*recording.masks["act_rms"], *recording.masks["grad_rms"], *recording.masks["loss"]))
    assert read(SHIPPED / "gpt2.jsonl").sites == recording.sites  # its numbers hang on the number of steps


@pytest.mark.full
def test_the_x_transformers_example(tmp_path: Path) -> None:
    pytest.importorskip("x_transformers", reason="x-transformers is not installed")
    from examples.x_transformer import main as example

    example(str(tmp_path / "run.jsonl"), steps=3)
    recording = read(tmp_path / "run.jsonl")
    assert (recording.problem, len(recording)) == ("", 3)
    assert [site.name for site in recording.sites] == [
        "post_emb_norm",
        *(f"attn_layers.layers.{at}.2" for at in range(12)),
    ]
    assert begins_like("x-transformer.jsonl", recording)
