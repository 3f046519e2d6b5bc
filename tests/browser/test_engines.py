"""A round through the app in engines other than Chromium's: ten pages, a run that trains, and a scrub."""

from collections.abc import Iterator

import pytest

from tests.browser.engines import ENGINES, Engine
from tests.browser.page import SMALL
from tests.browser.person import PAGES
from tests.load.server import Server, serving

ROUND = (
    "Start",
    "The story",
    "Playground",
    "Compare",
    "Anatomy",
    "Maps",
    "Normalisation",
    "Attention",
    "Lessons",
    "Glossary",
)
STEPS = 40
SLIDER = ".stage-scrub input"
AT_REST = """document.querySelector('[data-testid="stApp"][data-test-script-state="notRunning"]')"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as started:
        started.wait_for()
        yield started


@pytest.fixture(scope="module", params=sorted(ENGINES))
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with ENGINES[request.param]() as started:
        yield started


def arrives(engine: Engine, server: Server, name: str, query: str = "") -> None:
    """Goes to a page and waits for its heading, and for all of it."""
    path, _, heading = PAGES[name]
    engine.goes(server.url + path + query)
    said = f"[...document.querySelectorAll('h1')].some((one) => one.innerText.trim().startsWith({heading!r}))"
    engine.until(f"{AT_REST} && {said}", f"{name}: {heading}")


@pytest.mark.full
def test_ten_pages_are_drawn_without_an_error(engine, server):
    for name in ROUND:
        arrives(engine, server, name)
        boxes = "[...document.querySelectorAll('[role=alert]')].filter((one) => one.innerText.trim()).length"
        engine.until(f"!({boxes})", f"{name} without a red box")
        charts = "[...document.querySelectorAll('.stage-chart:not([hidden])')]"
        visible = f"{charts}.filter((one) => one.getBoundingClientRect().width && one.closest('.stage').isConnected)"
        engine.until(
            f"{visible}.every((one) => one.textContent)" if name != "Glossary" else "true", f"charts of {name}"
        )
        assert engine.says("window.errors") == [], name


@pytest.mark.full
def test_a_run_trains_and_a_press_on_its_loss_goes_back(engine, server):
    arrives(engine, server, "Playground", f"?{SMALL}")
    engine.until("document.querySelectorAll('.stage-chart .main-svg').length >= 9", "plotly's charts")
    engine.presses_on(".stage-main")
    shown = f"document.querySelector('{SLIDER}')?.value"
    engine.until(f"{shown} === '{STEPS}'", "the last step")
    engine.until("document.querySelector('.stage-status').innerText.includes('done')", "the end of the run")
    x, y, width, height = engine.place(SLIDER)
    engine.presses((x + width / 2, y + height / 3))
    engine.until(f"Math.abs({shown} - {STEPS / 2}) <= 2", "the middle of the run")
    engine.presses((x + width / 2, y + height / 3), (x + width / 4, y + height / 3))
    engine.until(f"Math.abs({shown} - {STEPS / 4}) <= 3", "a quarter of the run")
    engine.until(f"document.querySelector('.stage-status').innerText.includes('step ' + {shown} + ' of')", "its words")
    # Nobody can tell whether a mouse is there: plotly's buttons are away, or wait for it.
    groups = "[...document.querySelectorAll('.modebar-group')].map((one) => getComputedStyle(one).opacity)"
    engine.presses((5, 5))
    engine.until(f"{groups}.every((one) => one === '0')", "charts without plotly's buttons")
    assert engine.says("window.errors") == []
