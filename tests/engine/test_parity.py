"""The engine that trains in a browser against torch: batches, rows, frames and ends of runs, with float64 as referee.

Bounds: row 0 within 1e-6, all later rows within 1e-5, until a kink or chaos parts two correct engines. Both are measured:
chaos by torch in float32, and torch in float64 from weights and inputs that are shaken by their rounding, both against
torch in float64, from which the engine may be ten times as far as the farthest number of these two; a kink by a unit whose sign rounding decides.
A transformer has the bounds of an MLP: with a smooth activation they hold for its whole run, and all its tokens, drawn or
held out, are torch's.
"""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from models.spec import INITS, TASKS, RunConfig, knobs
from models.spec.schema import TAKEN, browser_refusal, schema
from models.tasks import open_task
from models.trace import Frame, trace_of
from models.training import Run
from tests.engine import ENGINE, BrowserRun, answered, ask, train
from tests.golden.runs import RUNS, SHORT
from tests.strategies import configs

FIRST, LATER = 1e-6, 1e-5  # relative errors
SHAKEN = 3e-7  # relative: start weights and points of the two engines differ by as much
PARTED = 1e-5  # relative error of torch itself
KINKED = 0.02  # relative error behind a kink
ON_A_KINK = 3e-6  # distance of a unit from 0, in RMS of its layer
SMOOTH: dict[str, Any] = {"net": "transformer", "activation": "gelu", **SHORT, "steps": 40}
TRANSFORMERS = {
    "copy": RunConfig(
        task="copy", position="learned", optimizer="adamw", lr=0.002, weight_decay=0.1, seed=58, **SMOOTH
    ),
    "sort": RunConfig.arranged("post-norm", task="sort", position="alibi", norm="rms norm", seed=581, **SMOOTH),
    "book": RunConfig(task="book", position="rotary", qk_norm=True, clip=0.5, seed=582, **SMOOTH),
}
TAKEN_RUNS = {name: cfg for name, cfg in RUNS.items() if not browser_refusal(cfg)} | TRANSFORMERS
PRODUCTS = ("plain", "compiled")


def referee(cfg: RunConfig, shaken: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """The rows of torch's run in float64, of weights and inputs that are shaken by a relative noise.

    And for each row the distance of the unit nearest to a kink, in RMS of its layer.
    """
    noise = torch.Generator().manual_seed(1)

    def shake(x: Tensor) -> Tensor:
        return x.double() * (1 + shaken * torch.randn(x.shape, generator=noise))

    run = Run(cfg, frames=False)
    run.model.double()
    with torch.no_grad():
        for parameter in run.model.parameters():
            parameter.copy_(shake(parameter))
    draw = run.task.batch

    def batch(k: int) -> tuple[Tensor, Tensor]:
        x, y = draw(k)
        return (shake(x) if x.is_floating_point() else x), y

    nearest = np.full(cfg.steps + 1, np.inf)

    def look(_module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        z = inputs[0].detach()
        found = (z.abs().min() / z.square().mean().sqrt()).item()
        nearest[run.step] = min(nearest[run.step], found if found > 0 else np.inf)

    for module in run.model.modules():
        if isinstance(module, nn.ReLU | nn.SELU):
            module.register_forward_pre_hook(look)
    run.task.batch = batch  # type: ignore[method-assign]
    run.advance(cfg.steps)
    run.close()
    return run.rows(), nearest


def errors(rows: np.ndarray, exact: np.ndarray, cfg: RunConfig) -> np.ndarray:
    """The largest relative error of each series in each row, (rows, series)."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        error = np.abs(rows.astype(float) - exact) / np.abs(exact)
    error[rows == exact] = 0
    sites = cfg.sublayers + 1
    series = np.split(error, np.cumsum([1, 1, 1, 1, sites, sites, cfg.sublayers]), axis=1)
    return np.stack([part.max(axis=1) for part in series], axis=1)


def agrees(cfg: RunConfig, run: BrowserRun, torchs: Run) -> int:
    """Checks the rows of both engines against float64; the number of rows up to where they part."""
    rows, (exact, nearest), (shaken, _) = torchs.rows(), referee(cfg), referee(cfg, SHAKEN)
    both = [
        row for row in zip(run.rows, rows, exact, shaken, strict=False) if all(np.isfinite(part).all() for part in row)
    ]
    if not both:
        return 0
    mine, theirs, exact, shaken = (np.stack(part) for part in zip(*both, strict=True))
    may = np.maximum.accumulate(errors(theirs, exact, cfg) + errors(shaken, exact, cfg))
    is_kinked = np.logical_or.accumulate(nearest[: len(mine)] < ON_A_KINK + may.max(axis=1))
    bound = np.where(is_kinked, KINKED, np.where(np.arange(len(mine)) == 0, FIRST, LATER))[:, None]
    found = errors(mine, exact, cfg)
    allowed = np.broadcast_to(bound + 10 * may.max(axis=1, keepdims=True), found.shape)
    over = found > allowed
    assert not over.any(), list(zip(np.argwhere(over), found[over], allowed[over], strict=True))
    parted = (may > PARTED).any(axis=1) | is_kinked
    together = int(parted.argmax()) if parted.any() else len(mine)
    if not (may > PARTED).any():
        assert len(run.rows) == len(rows)
        assert run.trace.divergence == torchs.divergence
    return together


def same_frame(mine: Frame, theirs: Frame) -> None:
    """Checks that two engines measure the same on the same net."""
    assert mine.step == theirs.step
    for name in ("sample_cosine", "dead_units", "update_to_weight", "held_out_loss", "train_mode_loss"):
        np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), rtol=1e-3, atol=1e-4, err_msg=name)
    size, spread, _ = theirs.head_input
    told = 3 if spread > 1e-3 * size else 2  # what rounding spreads has no directions
    np.testing.assert_allclose(mine.head_input[:told], theirs.head_input[:told], rtol=1e-3, atol=1e-4)
    assert mine.held_out_accuracy == pytest.approx(theirs.held_out_accuracy, abs=0.01)
    assert set(mine.picture) == set(theirs.picture)
    for name in ("ten_names", "ten_blocks"):
        assert list(mine.picture[name]) == list(theirs.picture[name])


def same_picture(mine: Frame, theirs: Frame) -> None:
    """Checks the pictures of nets whose answers and directions are no ties."""
    for name, far in (
        ("ten_size", 1e-4),
        ("ten_plane", 1e-4),
        ("ten_cosine", 1e-4),
        ("ten_at", 0.002),
        ("points", 1e-6),
        ("p", 1e-4),
        ("candidate_p", 1e-4),
    ):
        if name in theirs.picture:
            np.testing.assert_allclose(mine.picture[name], theirs.picture[name], rtol=far, atol=far, err_msg=name)
    for name in ("prompt", "sample", "candidates"):
        assert mine.picture.get(name) == theirs.picture.get(name)
    for name in ("grid", "ten_guess", "guess", "truth", "mistakes", "input", "target"):
        if name in theirs.picture:
            found, expected = np.asarray(mine.picture[name]), np.asarray(theirs.picture[name])
            assert np.mean(found != expected) <= 0.01, name


def torch_run(cfg: RunConfig) -> Run:
    run = Run(cfg)
    run.advance(cfg.steps)
    run.close()
    return run


@pytest.mark.parametrize("products", PRODUCTS)
@pytest.mark.parametrize("name", TAKEN_RUNS)
def test_a_golden_run_is_torchs(name: str, products: str, tmp_path: Path) -> None:
    cfg = TAKEN_RUNS[name]
    mine, theirs = train(cfg, tmp_path / "log", products), torch_run(cfg)
    together = agrees(cfg, mine, theirs)
    assert together == len(theirs.rows()) or cfg.activation == "relu"
    assert len(mine.trace.frames) == len(theirs.frames)
    for frame, other in zip(mine.trace.frames, theirs.frames, strict=True):
        if frame.step < together:
            same_frame(frame, other)
            same_picture(frame, other)
    assert errors(mine.opening[None], theirs.rows()[:1], cfg).max() <= FIRST * 2


@pytest.mark.parametrize("init", INITS)
def test_every_initialisation_is_torchs(init: str, tmp_path: Path) -> None:
    transformer = {"net": "transformer", "task": "copy", "width": 12, "position": "learned"}
    for more in ({"width": 7, "expansion": 3}, {"width": 24}, {"width": 1, "norm": "none"}, transformer):
        cfg = RunConfig(init=init, activation="tanh", init_gain=1.5, **SHORT | more | {"steps": 1})
        agrees(cfg, train(cfg, tmp_path / str(more["width"])), torch_run(cfg))


@pytest.mark.parametrize("net", TAKEN["net"])
@pytest.mark.parametrize("task", TAKEN["task"])
def test_every_label_pixel_and_symbol_is_torchs(task: str, net: str) -> None:
    for seed, k, batch in ((0, 0, 64), (91, 7, 5), (2**31 - 1, 4999, 2)):
        cfg = RunConfig(net=net, task=task, seed=seed, batch=batch)
        mine, data = ask("batch", link=cfg.to_query(), k=k), open_task(cfg, "cpu")
        for found, (x, y) in ((mine, data.batch(k)), (mine["held"], data.held_out)):
            assert found["y"] == y.flatten().tolist()
            error = np.abs(np.array(found["x"], "f4") - x.flatten().numpy()).max()
            assert error <= (1e-6 if TASKS[task].kind == "points" else 0)


@st.composite
def small(draw: st.DrawFn) -> RunConfig:
    """A small run of what the engine takes, all other fields at random."""
    fields = {
        **{name: st.sampled_from(choices) for name, choices in TAKEN.items()},
        "depth": st.integers(1, 8),
        "width": st.integers(1, 24),
        "expansion": st.integers(1, 3),
        "batch": st.integers(2, 16),
        "steps": st.integers(1, 9),
    }
    return draw(configs(**{name: draw(values) for name, values in fields.items()}))


@pytest.mark.full
@settings(max_examples=40, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(small(), st.sampled_from((*PRODUCTS, "full")))
def test_a_drawn_run_is_torchs(tmp_path_factory: pytest.TempPathFactory, cfg: RunConfig, products: str) -> None:
    mine, theirs = train(cfg, tmp_path_factory.mktemp("run") / "log", products), torch_run(cfg)
    together = agrees(cfg, mine, theirs)
    for frame, other in zip(mine.trace.frames, theirs.frames, strict=False):
        if frame.step < together:
            same_frame(frame, other)


@settings(max_examples=100, deadline=None)
@given(configs())
def test_a_setting_is_taken_or_refused_by_name(cfg: RunConfig) -> None:
    answer = answered("settings", link=cfg.to_query())
    if "refused" in answer:
        field, sentence = answer["refused"]
        assert sentence == browser_refusal(cfg)
        assert sentence.startswith(knobs()[field][1].label)
        return
    assert not browser_refusal(cfg)
    taken = answer["said"]
    blocks = {(int(block), key): value for block, own in taken.pop("overrides").items() for key, value in own.items()}
    assert tuple((*place, value) for place, value in sorted(blocks.items())) == cfg.overrides
    assert taken == {name: getattr(cfg, name) for name in knobs() if name != "overrides"}


def test_a_choice_that_the_engine_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    cfg = RunConfig(overrides=((2, "norm", "rms norm"),))
    assert "refused" not in answered("settings", link=cfg.to_query())
    monkeypatch.setitem(TAKEN, "norm", ("layer norm",))
    schema.cache_clear()
    said = answered("settings", link=cfg.to_query(), known=schema())["refused"]
    assert said == ["norm", browser_refusal(cfg)]
    schema.cache_clear()


@pytest.mark.parametrize(
    "link",
    [
        {"depht": "3"},
        {"__proto__": "3"},
        {"depth": "129"},
        {"depth": "3.5"},
        {"lr": "NaN"},
        {"width": ""},
        {"norm": "constructor"},
        {"residual": "toString"},
        {"overrides": "40.norm.none"},
        {"overrides": "1.constructor.name"},
        {"overrides": "1.norm.__proto__"},
        {"overrides": "1.identity.attn"},
        {"norm": "batch norm", "batch": "1"},
        {"net": "transformer", "width": "10"},
        {"net": "transformer", "width": "12", "position": "rotary"},
        {"net": "transformer", "position": "relative bias"},
    ],
    ids=str,
)
def test_what_does_not_exist_is_refused(link: dict[str, str]) -> None:
    field, sentence = answered("settings", link=link)["refused"]
    assert field in (*link, "overrides")
    assert sentence.endswith(".")


def test_rows_of_a_log_are_those_of_the_engine(tmp_path: Path) -> None:
    cfg = RunConfig(**SHORT)
    run = train(cfg, tmp_path / "log")
    again = trace_of(torch_run(cfg).columns, run.rows)
    assert again.loss.tolist() == run.trace.loss.tolist()
    longer = train(replace(cfg, steps=20), tmp_path / "longer")
    np.testing.assert_array_equal(longer.rows[: cfg.steps], run.rows[: cfg.steps])


def test_the_kernels_belong_to_their_source() -> None:
    for line in (ENGINE / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        assert sha256((ENGINE / name).read_bytes()).hexdigest() == digest
