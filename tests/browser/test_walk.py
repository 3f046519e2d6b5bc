"""A short fixed walk of somebody who presses anything; `python
-m benchmarks walk` goes further, and elsewhere each time.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.load.server import Server, serving
from tests.walk.tabs import Manner
from tests.walk.visitor import Visitor

WRONG = {"leak", "narrow", "link", "traceback"}  # with the page below
BROKEN = """
import streamlit as st

st.title("Broken")
st.markdown("It has learned None.")
st.markdown('<div style="width: 3000px">wide</div>', unsafe_allow_html=True)
st.markdown("[Nowhere](nowhere)")
if st.button("Fail"):
    raise ValueError("this button fails")
if st.button("Throw"):
    st.header("Elsewhere")
"""


@pytest.fixture(scope="module")
def walked(browser: Any) -> Iterator[Server]:
    """A server of its own: what a visitor leaves behind keeps no other test waiting."""
    with serving() as server:
        server.wait_for(b'"ready"')
        yield server


@pytest.mark.parametrize(
    ("seed", "deeds", "begin", "manner"),
    [
        (1, 8, "/", Manner(tabs=True)),
        (2, 7, "/playground?depth=4&width=16", Manner(phone=True, dark=True)),
        (3, 7, "/normalization", Manner(keyboard=True)),
    ],
)
def test_a_visitor_who_presses_anything_finds_nothing_broken(*, browser, walked, seed, deeds, begin, manner):
    visitor = Visitor(browser, walked.url, Random(seed), manner, kill=walked.kill_worker)
    visitor.walk(lambda done: done < deeds, begin)
    assert not visitor.findings, str(visitor)
    assert visitor.missed < deeds


def test_a_visitor_finds_what_is_broken_and_says_how_to_see_it_again(browser: Any, tmp_path: Path) -> None:
    script = tmp_path / "broken.py"
    script.write_text(BROKEN)
    with serving(script) as server:
        server.wait_for(path="/_stcore/health")
        visitor = Visitor(browser, server.url, Random(1), patience=1.0)
        visitor.walk(lambda done: done < 10 and not {finding.kind for finding in visitor.findings} >= WRONG)
    found = {finding.kind: finding for finding in visitor.findings}
    assert set(found) >= WRONG
    assert found["traceback"].trail[-1] == "/: press 'Fail'"
    assert "this button fails" in str(found["traceback"])
