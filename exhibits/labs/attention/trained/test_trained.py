"""Positions in trained nets: what a ridge regression reads, longer texts, the pair, its sentences, and the page."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from exhibits.labs.attention.trained.measure import LEARNED_FROM, beyond, decode_positions, probe_positions
from models.nets.embedding import sinusoids
from models.spec import RunConfig
from models.training import Run, cross_entropy, result_of, snapshot_of

SMALL = RunConfig.arranged("pre-norm", net="transformer", task="book", depth=2, width=16, heads=2, batch=4, steps=20)


def snapshot(cfg: RunConfig = SMALL, steps: int = 0):
    run = Run(cfg, probe=False, frames=False)
    run.advance(steps)
    return snapshot_of(run)


def test_a_place_that_is_written_into_the_stream_is_read_and_noise_is_not():
    source = torch.Generator().manual_seed(1)
    marks = torch.eye(8, dtype=torch.float64).repeat(40, 1)
    accuracy, r2 = decode_positions(marks, marks[:80], 8)
    assert accuracy == 1
    assert r2 > 0.99
    noise = torch.randn(800, 4, generator=source, dtype=torch.float64)
    accuracy, r2 = decode_positions(noise[:400], noise[400:], 8)
    assert accuracy < 0.3
    assert r2 < 0.1


def test_the_number_that_is_read_is_that_of_least_squares():
    source = torch.Generator().manual_seed(2)
    x = torch.randn(320, 5, generator=source, dtype=torch.float64)
    x[:, 0] += torch.arange(8).repeat(40)
    places = np.tile(np.arange(8), 40).astype(float)
    learned, tested = x[:240].numpy(), x[240:].numpy()
    one = np.ones((240, 1))
    weights = np.linalg.lstsq(np.hstack([learned, one]), places[:240], rcond=None)[0]
    left = tested @ weights[:5] + weights[5] - places[240:]
    expected = 1 - (left**2).sum() / ((places[240:] - 3.5) ** 2).sum()
    assert decode_positions(x[:240], x[240:], 8)[1] == pytest.approx(expected, abs=1e-3)


def test_a_stream_that_is_not_finite_has_no_answer():
    x = torch.full((16, 2), torch.inf)
    assert np.isnan(decode_positions(x, x, 8)).all()


def test_the_table_is_that_of_the_net_and_rotary_and_none_have_no_rows():
    found = result_of(probe_positions(snapshot()))
    np.testing.assert_array_equal(found.table, sinusoids(32, 16).numpy())
    assert found.accuracy.shape == found.r2.shape == (5,)
    assert found.chance == 1 / 32
    assert (found.learned_from, found.tested) == (LEARNED_FROM, 64)
    for position in ("rotary", "none"):
        assert len(result_of(probe_positions(snapshot(replace(SMALL, position=position)))).table) == 0


def test_with_a_skip_the_place_stays_and_without_it_fades():
    deep = replace(SMALL, depth=6, width=32)
    kept, lost = (result_of(probe_positions(snapshot(replace(deep, residual=on)))).accuracy for on in (True, False))
    assert kept[0] == lost[0] > 0.8
    assert kept[-1] > 0.4
    assert lost[-1] < 0.15


def test_without_positions_only_the_mask_tells_the_place():
    masked, free = (
        result_of(probe_positions(snapshot(replace(SMALL, position="none", mask=mask)))).r2
        for mask in ("causal", "none")
    )
    assert masked[0] < 0.02
    assert masked[-1] > 0.05
    assert max(free) < 0.03


def test_tasks_without_places_are_refused_in_words():
    with pytest.raises(ValueError, match="no sequences of symbols"):
        result_of(probe_positions(snapshot(RunConfig(depth=1, width=8))))


@pytest.mark.parametrize("position", ["sinusoidal", "rotary", "relative bias", "alibi", "none"])
def test_the_first_half_of_a_longer_text_costs_what_the_net_of_the_run_says(position):
    one = snapshot(replace(SMALL, position=position), steps=3)
    found = result_of(beyond(one))
    assert found.loss.shape == (64,)
    assert found.tokens == 32
    from models.tasks.book import held_out_start, text_classes, windows

    text = text_classes(torch.device("cpu"))
    start = torch.from_numpy(np.linspace(held_out_start(), len(text) - 64 - 1, found.windows).astype(np.int64))
    x, y = windows(text, start, 32)
    with torch.no_grad():
        assert found.loss[:32].mean() == pytest.approx(cross_entropy(one.model(x), y).item(), abs=1e-4)


def test_a_learned_table_has_no_rows_beyond_its_length():
    with pytest.raises(ValueError, match="none for token 33"):
        result_of(beyond(snapshot(replace(SMALL, position="learned"))))
    with pytest.raises(ValueError, match="only the book"):
        result_of(beyond(snapshot(replace(SMALL, task="copy"))))
