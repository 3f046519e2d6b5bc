"""The demo's server and its visitors, who share the browser tests' way of looking."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Visitors, browser, playwright  # noqa: F401
from tests.load.server import Server, serving

DEMO = Path(__file__).parents[1] / "demo.py"


@pytest.fixture(scope="package")
def demo(browser: Any) -> Iterator[Server]:  # noqa: F811
    """The server of the demo, with its trainer."""
    with serving(DEMO) as started:
        started.wait_for(b'"ready"')
        yield started


@pytest.fixture(scope="package")
def passers_by(browser: Any, demo: Server) -> Visitors:  # noqa: F811
    return Visitors(browser, demo)


@pytest.fixture
def visitors(passers_by: Visitors) -> Iterator[Visitors]:
    """Visitors of the demo. Afterwards none of them may have seen an error or asked another host."""
    yield passers_by
    assert passers_by.leave() == []
