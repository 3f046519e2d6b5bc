"""Bands over seeds: median and range, and nothing that could not be counted goes unsaid."""

import statistics
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.insight.bands import band, frame_band, trace_band
from models.trace import Columns, Frame, trace_of

positive = st.floats(1e-30, 1e30)
anything = st.one_of(positive, st.just(0.0), st.just(np.nan), st.just(np.inf))


def seeds_of(numbers, most=8):
    """One to eight series of three numbers."""
    return st.lists(st.lists(numbers, min_size=3, max_size=3).map(np.array), min_size=1, max_size=most)


@given(seeds_of(anything), st.booleans())
def test_the_median_lies_in_the_range_and_every_seed_is_counted(series, log):
    found = band(series, log=log)
    for place in range(3):
        values = [one[place] for one in series]
        finite = [value for value in values if np.isfinite(value)]
        assert found.finite[place] == len(finite)
        assert found.zeros[place] == finite.count(0.0)
        if finite:
            assert found.low[place] == min(finite)
            assert found.high[place] == max(finite)
            assert found.low[place] <= found.mid[place] <= found.high[place]
        else:
            assert np.isnan([found.low[place], found.mid[place], found.high[place]]).all()
    assert found.seeds == len(series)


@given(seeds_of(positive), st.randoms(use_true_random=False))
def test_the_order_of_the_seeds_does_not_matter(series, random):
    shuffled = random.sample(series, len(series))
    for name in ("mid", "low", "high"):
        assert np.array_equal(getattr(band(series), name), getattr(band(shuffled), name))


@given(seeds_of(positive))
def test_the_geometric_median_is_the_median_of_the_logarithms(series):
    expected = [np.exp(statistics.median(np.log([one[place] for one in series]))) for place in range(3)]
    np.testing.assert_allclose(band(series).mid, expected, rtol=1e-12)


@given(seeds_of(st.floats(-1e300, 1e300)))
def test_the_arithmetic_median_is_the_median(series):
    expected = [statistics.median(one[place] / 2 for one in series) for place in range(3)]
    np.testing.assert_allclose(band(series, log=False).mid / 2, expected, rtol=1e-12)


@given(seeds_of(positive), st.floats(1e-6, 1e6))
def test_the_log_band_follows_units_and_reciprocals(series, unit):
    plain = band(series)
    scaled, turned = band([unit * one for one in series]), band([1 / one for one in series])
    np.testing.assert_allclose(scaled.mid, unit * plain.mid, rtol=1e-12)
    np.testing.assert_allclose(turned.mid, 1 / plain.mid, rtol=1e-12)
    np.testing.assert_allclose(turned.low, 1 / plain.high, rtol=1e-12)


@given(st.lists(positive, min_size=1, max_size=20))
def test_one_seed_is_its_own_band_and_says_so(numbers):
    found = band([np.array(numbers)])
    for edge in (found.mid, found.low, found.high):
        assert edge.tolist() == numbers
    assert found.tag == "1 seed"


def test_a_middle_of_zero_is_zero_and_not_the_smallest_positive():
    found = band([np.array([value]) for value in (0.0, 0.0, 1.0)])
    assert (found.low[0], found.mid[0], found.high[0], found.zeros[0]) == (0.0, 0.0, 1.0, 2)
    assert band([np.array([0.0]), np.array([1.0])]).mid[0] == 0.0
    assert band([np.array([0.0]), np.array([1.0])], log=False).mid[0] == 0.5


def test_a_seed_that_has_ended_no_longer_counts_and_the_tag_says_how_many_are_left():
    found = band([np.array([1.0, 2.0, 3.0]), np.array([4.0]), np.array([9.0, 8.0, np.inf])])
    assert found.finite.tolist() == [3, 2, 1]
    np.testing.assert_allclose(found.mid, [4.0, 4.0, 3.0])
    assert found.tag == "3 seeds, 1 finite at the least"
    assert band([np.ones(2)] * 3).tag == "3 seeds"


@pytest.mark.parametrize(("series", "log"), [([], True), ([], False), ([np.array([-1.0])], True)])
def test_no_seeds_and_negative_numbers_on_a_log_scale_are_refused_in_a_sentence(series, log):
    with pytest.raises(ValueError, match="legal"):
        band(series, log=log)


def test_traces_are_banded_by_series_geometric_for_norms_and_arithmetic_for_loss():
    columns = Columns(("x0", "b01"), ("b01",), 1)
    cut = trace_of(columns, np.full((1, columns.width), 4, dtype=np.float32), [_frame(0, 0.4)])
    whole = trace_of(columns, np.ones((3, columns.width), dtype=np.float32), [_frame(0, 0.2), _frame(2, 0.3)])
    loss, stream = trace_band([cut, whole], "loss"), trace_band([cut, whole], "act_rms")
    assert loss.mid.tolist() == [2.5, 1.0, 1.0]
    assert stream.mid.tolist() == [[2.0, 2.0], [1.0, 1.0], [1.0, 1.0]]
    assert stream.finite.tolist() == [[2, 2], [1, 1], [1, 1]]
    steps, cosine = frame_band([cut, whole], "sample_cosine")
    assert steps.tolist() == [0, 2]
    np.testing.assert_allclose(cosine.mid, [[0.3, 0.3], [0.3, 0.3]])


def test_traces_without_rows_or_frames_give_an_empty_band():
    columns = Columns(("x0",), (), 1)
    empty = trace_of(columns, np.zeros((0, columns.width), dtype=np.float32))
    assert trace_band([empty], "act_rms").mid.shape == (0, 1)
    assert len(frame_band([empty, empty], "held_out_loss")[0]) == 0


def test_bands_load_no_torch():
    code = "import sys, models.insight.bands; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def _frame(step: int, cosine: float) -> Frame:
    return Frame(step, np.full(2, cosine), np.ones(1), 1.0, 0.5)
