"""The digest in a link: the same run says so, another one says
where it departs, and a broken one says that it is broken.
"""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.export.digest import compare, digest_of
from models.spec import RunConfig
from models.trace import Columns, Trace, trace_of
from models.training import Run

CFG = RunConfig(depth=3, width=16, batch=8, steps=40, device="cpu")


def trained(cfg: RunConfig = CFG, steps: int = 40) -> Trace:
    run = Run(cfg, frames=False)
    run.advance(steps)
    return run.trace()


@pytest.fixture(scope="module")
def trace() -> Trace:
    return trained()


def made(loss: list[float]) -> Trace:
    """A trace with these losses, activation 1 and gradient 2 throughout."""
    columns = Columns(("x0", "b01"), ("b01",), 1)
    rows = np.zeros((len(loss), columns.width), np.float32)
    rows[:, 0] = loss
    rows[:, columns.slices["act_rms"]] = 1
    rows[:, columns.slices["grad_rms"]] = 2
    return trace_of(columns, rows)


def test_a_run_computed_again_is_the_same_result(trace: Trace) -> None:
    digest = digest_of(trace, "2.13.0+cpu")
    found = compare(digest, trained(), "2.99.1+cu130")
    assert found.same is True
    assert "2.13.0" in found.sentence
    assert "2.99.1" in found.sentence


def test_a_departure_says_where_and_by_how_much() -> None:
    there = made([2.0, 1.9, 1.8, 1.7, 1.6, 1.5, 1.4, 1.3, 1.2])
    here = made([2.0, 1.9, 1.8, 1.7, 1.6, 1.5, 1.4, 1.3, 1.32])
    found = compare(digest_of(there), here)
    assert found.same is False
    assert "at step 8: 1.32 here, 1.2 there, 10.00% apart" in found.sentence


def test_the_two_ends_of_the_stream_count_too(trace: Trace) -> None:
    grad_rms = trace.grad_rms.copy()
    grad_rms[-1, 0] *= 1.02
    found = compare(digest_of(trace), replace(trace, grad_rms=grad_rms))
    assert found.same is False
    assert "gradient at the input" in found.sentence


def test_noise_in_the_last_bits_is_not_a_departure(trace: Trace) -> None:
    for factor in (1 - 3e-6, 1 + 3e-6):
        assert compare(digest_of(trace), replace(trace, loss=trace.loss * np.float32(factor))).same is True


def test_the_third_digit_is_a_departure(trace: Trace) -> None:
    assert compare(digest_of(trace), replace(trace, loss=trace.loss * np.float32(1.02))).same is False


def test_a_part_of_the_run_is_compared_as_far_as_it_goes(trace: Trace) -> None:
    whole = digest_of(trace)
    assert compare(whole, trained(steps=17)).same is None
    assert "17 of the link's 40" in compare(whole, trained(steps=17)).sentence
    assert compare(whole, trained(replace(CFG, seed=1), steps=17)).same is False
    assert compare(digest_of(trained(steps=17)), trace).same is True


def test_a_run_that_ends_early_departs() -> None:
    diverging = RunConfig(depth=20, width=16, batch=8, steps=60, norm="none", init_gain=6.0, lr=5.0, device="cpu")
    short = trained(diverging)
    assert short.divergence is not None
    assert compare(digest_of(short), short).same is True
    long = made([float(loss) for loss in short.loss] + [1.0] * 9)
    ended = replace(made([float(loss) for loss in short.loss]), divergence=short.divergence)
    found = compare(digest_of(long), ended)
    assert found.same is False
    assert f"ended after {len(short)} steps here" in found.sentence


@pytest.mark.parametrize(
    "text",
    ["", "hello", "1.2.13.0.AAAA", "1.2.13.0.!", "1." + "A" * 500, "1.2.13.0.AAEB", "1.2.13.0.Z", "\n1.2.3.AA", "é"],
)
def test_a_malformed_digest_is_a_sentence(text: str, trace: Trace) -> None:
    found = compare(text, trace)
    assert found.same is None
    assert found.sentence == "The digest in the link cannot be read: it is cut short or was changed."


def test_a_digest_of_another_version_is_a_sentence(trace: Trace) -> None:
    found = compare("2" + digest_of(trace)[1:], trace)
    assert found.same is None
    assert found.sentence == "The digest in the link has format 2; this version compares format 1."


@given(st.text(max_size=80), st.integers(0, 60), st.text("ABCabc019._-", max_size=3))
def test_no_text_breaks_the_comparison(text: str, at: int, inserted: str) -> None:
    some = made([3.0, 2.0, 1.0])
    digest = digest_of(some)
    assert compare(text, some).sentence
    assert compare(digest[:at] + inserted + digest[at + 1 :], some).sentence


@given(
    st.lists(
        st.floats(0, 2.0**100, width=32) | st.sampled_from([np.inf, np.nan, 0.0, 9.995e-7, 9.994]),
        min_size=1,
        max_size=70,
    )
)
def test_a_digest_agrees_with_its_own_trace_and_fits_a_link(loss: list[float]) -> None:
    digest = digest_of(made(loss), "2.13.0+cu130 (odd)")
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,200}", digest)
    assert compare(digest, made(loss)).same is True


def test_a_long_run_has_a_short_digest() -> None:
    assert len(digest_of(made([1.0] * 5000), "2.13.0")) < 100


def test_an_empty_trace_has_no_digest() -> None:
    with pytest.raises(ValueError, match="one row at least"):
        digest_of(made([]))
