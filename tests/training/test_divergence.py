"""A run that leaves the range of numbers: it stops, says where, and keeps its picture."""

import numpy as np
import pytest

from models.spec import RunConfig
from models.trace import Columns, Divergence, site_in_words
from models.training import Run
from models.training.divergence import first_divergence

RESIDUAL_ONLY = RunConfig.arranged("residual only")


def trained(cfg: RunConfig, slices: int | None = None, **how) -> Run:
    run = Run(cfg, **how)
    while not run.done:
        run.advance(slices or cfg.steps)
    return run


@pytest.fixture(scope="module")
def diverged() -> Run:
    return trained(RESIDUAL_ONLY)


def test_the_residual_alone_diverges_by_step_3_and_the_run_is_over(diverged):
    assert diverged.done
    assert diverged.divergence.step <= 3
    assert diverged.advance(10) == 0


def test_the_sentence_names_step_block_and_site(diverged):
    found = diverged.divergence
    assert found.block == int(found.site[1:3]) > 0
    assert str(found.step) in found.sentence()
    assert f"{found.quantity} of {site_in_words(found.site)}." in found.sentence()
    assert f"block {found.block}" in found.sentence()


def test_a_site_is_named_as_people_say_it():
    names = {"x0": "the input", "b07": "block 7", "b112": "block 112", "the head": "the head"}
    names |= {"b07.attn": "the attention of block 7", "b07.ffn": "the feed-forward net of block 7"}
    assert {site: site_in_words(site) for site in names} == names


def test_the_log_ends_with_its_first_row_that_is_not_finite(diverged):
    rows = diverged.rows()
    assert len(rows) == diverged.divergence.step + 1
    assert np.isfinite(rows[:-1]).all()
    assert not np.isfinite(rows[-1]).all()
    assert len(diverged.trace()) == len(rows)
    assert all(frame.step <= diverged.divergence.step for frame in diverged.frames)
    assert len(diverged.frames) > 1


@pytest.mark.parametrize("slices", [1, 2, 7, 300])
def test_a_divergence_is_the_same_however_the_run_was_advanced(diverged, slices):
    other = trained(RESIDUAL_ONLY, slices)
    assert other.divergence == diverged.divergence
    assert other.rows().tobytes() == diverged.rows().tobytes()
    assert [frame.step for frame in other.frames] == [frame.step for frame in diverged.frames]


def test_without_a_probe_the_loss_shows_it():
    run = trained(RESIDUAL_ONLY, probe=False, frames=False)
    assert run.divergence.quantity == "loss"
    assert run.divergence.step <= 3


# --- where it began ---

COLUMNS = Columns(
    ("x0", "b01.attn", "b01.ffn", "b02.attn", "b02.ffn"), ("b01.attn", "b01.ffn", "b02.attn", "b02.ffn"), 2
)


def spoilt(*places: tuple[str, int]) -> np.ndarray:
    """A row of ones with infinity at the named places of its series."""
    row = np.ones(COLUMNS.width, dtype=np.float32)
    for series, at in places:
        if series in COLUMNS.slices:
            row[COLUMNS.slices[series]][at] = np.inf
        else:
            row[("loss", "lr", "grad_norm").index(series)] = np.nan
    return row


ALL = [
    ("act_rms", 3),
    ("act_rms", 4),
    ("branch_rms", 3),
    ("loss", 0),
    ("grad_rms", 0),
    ("weight_grad_rms", 0),
    ("grad_norm", 0),
]


@pytest.mark.parametrize(
    ("places", "first"),
    [
        ([("act_rms", 0), *ALL], Divergence(9, "activation", "x0")),
        ([("branch_rms", 2), *ALL], Divergence(9, "branch", "b02.attn", 2)),
        (ALL, Divergence(9, "activation", "b02.attn", 2)),
        (ALL[1:], Divergence(9, "branch", "b02.ffn", 2)),
        (ALL[3:], Divergence(9, "loss", "the head")),
        ([("grad_rms", 1), ("grad_rms", 3), ("weight_grad_rms", 1)], Divergence(9, "gradient", "b02.attn", 2)),
        (
            [("weight_grad_rms", 0), ("weight_grad_rms", 1), ("grad_norm", 0)],
            Divergence(9, "weight gradient", "b02", 2),
        ),
        ([("grad_norm", 0)], Divergence(9, "gradient norm")),
    ],
)
def test_the_first_bad_tensor_is_the_first_that_a_step_computes(places, first):
    """Forward through the stream, then the loss, then the gradients backward."""
    assert first_divergence(9, spoilt(*places), COLUMNS) == first


def test_a_sentence_for_every_place():
    assert Divergence(2, "loss", "the head").sentence() == (
        "Diverged at step 2: the numbers overflow first in the loss."
    )
    assert Divergence(2, "gradient norm").sentence().endswith("in the gradient norm.")
