"""The file that plays: opened from a disk in a browser without a network, it is the page that it was made on."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from playwright.sync_api import expect

import examples
from addnorm import player, read
from addnorm.words import verdict
from models.spec import RunConfig
from models.training import Run
from tests.browser.page import (
    PROFILES,
    SMALL,
    chart,
    choose,
    drawn,
    line,
    link,
    press,
    row,
    still,
    train,
    until,
    until_row,
)

# Workers without WebAssembly: what a strict policy, or an old browser, leaves.
NO_WEBASSEMBLY = """const { Blob } = window
window.Blob = class extends Blob {
  constructor(parts, how) { super(how?.type === "text/javascript" ? ["delete self.WebAssembly;", ...parts] : parts, how) }
}"""
NO_WORKERS = "window.Worker = class { constructor() { throw new Error('forbidden') } }"
SHIPPED = Path(examples.__file__).parent / "recordings"
MAX_BYTES = 2e6
LAST = 40
# Pixels by which the document is wider than its window, and those between the player's buttons and its sentence.
LAID_OUT = """() => {
  const boxes = (names) => [...document.querySelectorAll(names)].map((el) => el.getBoundingClientRect())
  const buttons = boxes(".pinned .player-bar > button")
  const [over, under] = [Math.min(...buttons.map(({ top }) => top)), Math.max(...buttons.map(({ bottom }) => bottom))]
  const gap = Math.min(...boxes(".pinned .player-sentence").map(({ top, bottom }) => Math.max(top - under, over - bottom)))
  return [document.documentElement.scrollWidth - innerWidth, gap]
}"""


def saved(page: Any, into: Path, *, within: str = "Export and share", button: str = "Playable HTML file") -> Path:
    """The file that a page makes; `within`: what must be unfolded first."""
    if within:
        page.get_by_text(within, exact=True).click()
    with page.expect_download() as given:
        page.get_by_role("button", name=button).click()
    given.value.save_as(into)
    return into


@pytest.fixture
def offline(browser: Any) -> Iterator[Any]:
    """Opens a file in a browser that has no network; nothing there may be asked for, and nothing complains."""
    context = browser.new_context(viewport={"width": 1280, "height": 720}, offline=True)
    heard: list[str] = []

    def opens(file: Path, before: str = "") -> Any:
        page = context.new_page()
        page.add_init_script(before)
        page.on("console", lambda message: heard.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("request", lambda asked: heard.append(asked.url) if asked.url.startswith(("http", "ws")) else None)
        page.goto(file.as_uri())
        return page

    yield opens
    context.close()
    assert heard == []


def lies_in_its_window(page: Any) -> None:
    """Nothing sticks out to the right, on a laptop and on a phone, and the player's sentence keeps off its buttons."""
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        wider, gap = still(page).evaluate(LAID_OUT)
        assert wider <= 0, width
        assert gap > 3.5, width


@pytest.mark.first
def test_the_file_of_a_run_plays_its_numbers_without_a_network(visitors: Any, offline: Any, tmp_path: Path) -> None:
    page = still(train(drawn(visitors(link(seed=91)))))
    losses, profiles = line(page, "Loss"), [line(page, name) for name in PROFILES]
    verdict = page.locator(".player-headline").inner_text()
    file = saved(page, tmp_path / "run.html")
    assert file.stat().st_size < MAX_BYTES
    played = drawn(offline(file))
    assert row(played) == 0
    assert line(played, "Loss") == []
    press(played, "Step")
    until_row(played, 1)
    press(played, "Train")
    until_row(played, 60)
    played.get_by_role("button", name="Train", exact=True).wait_for()
    still(played)
    assert line(played, "Loss") == losses
    assert [line(played, name) for name in PROFILES] == profiles
    assert played.locator(".player-headline").inner_text() == verdict
    played.get_by_role("button", name="Table of Loss").click()
    table = played.get_by_role("region", name="Loss, table")
    assert table.get_by_role("row").count() > 60
    played.get_by_role("slider", name="Step shown").press("Home")
    until_row(played, 0)
    until(played, lambda: line(played, PROFILES[0]) != profiles[0], "the profile before training")
    expect(played.get_by_role("cell", name=re.compile(r"^\d+\.2\.13"))).to_be_visible()  # the digest
    lies_in_its_window(played)


def trained_here(page: Any, query: str) -> None:
    """Trains the run of a page to its end, and checks its losses against torch's."""
    run = Run(RunConfig.from_query(dict(parse_qsl(query)))[0])
    run.advance(LAST)
    run.close()
    assert "trained in this browser" in page.locator(".pinned .player-status").inner_text()
    press(page, "Train")
    until_row(page, LAST)
    page.get_by_role("button", name="Train", exact=True).wait_for()
    assert line(still(page), "Loss") == pytest.approx(run.rows()[:, 0].tolist(), rel=1e-5)


@pytest.mark.parametrize("net", [{}, {"net": "transformer", "task": "copy"}, {"net": "transformer", "task": "book"}])
def test_a_file_trains_without_server_or_network(net: Any, visitors: Any, offline: Any, tmp_path: Path) -> None:
    address = link(seed=5, steps=LAST, activation="tanh", **net)
    query = address.partition("?")[2]
    page = drawn(visitors(address))
    file = saved(page, tmp_path / "train.html", button="HTML file that trains")
    policy = file.read_text("utf-8").partition("Content-Security-Policy")[2].partition(">")[0]
    assert "'unsafe-inline'" not in policy.partition("style-src")[0]
    played = drawn(offline(file))
    until(played, lambda: line(played, PROFILES[0]), "the first profile")
    profile = line(played, PROFILES[0])
    trained_here(played, query)
    assert "Trained in this browser" in played.locator(".player-headline").inner_text()
    press(played, "Reset")
    until_row(played, 0)
    until(played, lambda: line(played, PROFILES[0]) == profile, "the profile before training")
    press(played, "Step")
    until_row(played, 1)
    played.get_by_role("slider", name="Step shown").press("End")
    until_row(played, LAST)
    lies_in_its_window(played)
    without_simd = offline(file, NO_WEBASSEMBLY)
    trained_here(drawn(without_simd), query)
    without_workers = offline(file, NO_WORKERS)
    expect(without_workers.locator(".pinned .player-status")).to_contain_text("it allows no workers here")


def test_the_file_of_a_comparison_has_all_its_columns(visitors: Any, offline: Any, tmp_path: Path) -> None:
    query = SMALL.replace("=", "%3D").replace("&", "%26")
    page = visitors(f"/compare?a={query}&b={query}%26residual%3Dfalse")
    drawn(page)
    press(page, "Train all")
    until_row(page, LAST)
    page.get_by_role("button", name="Train all").wait_for()
    lines = chart(still(page), "Loss").evaluate("el => el.data.map((one) => [one.name, [...one.y]])")
    played = drawn(offline(saved(page, tmp_path / "comparison.html")))
    choose(played, "Speed", "full speed")
    press(played, "Train all")
    until_row(played, LAST)
    played.get_by_role("button", name="Train all").wait_for()
    assert chart(still(played), "Loss").evaluate("el => el.data.map((one) => [one.name, [...one.y]])") == lines
    for letter in ("A", "B"):
        expect(played.get_by_role("heading", name=re.compile(f"^Column {letter}: "))).to_be_visible()
    lies_in_its_window(played)


def test_the_file_of_a_recording_plays_it(visitors: Any, offline: Any, tmp_path: Path) -> None:
    page = drawn(visitors("/recordings?recording=example%3A+digits.jsonl"), *PROFILES)
    shown = line(still(page), PROFILES[0])
    verdict = page.locator(".player-headline").inner_text()
    played = drawn(offline(saved(page, tmp_path / "recording.html", within="")), *PROFILES)
    assert line(still(played), PROFILES[0]) == shown
    assert played.locator(".player-headline").inner_text() == verdict
    last = row(played)
    played.get_by_role("slider", name="Step shown").press("Home")
    until_row(played, 0)
    assert row(played) < last
    until(played, lambda: line(played, PROFILES[0]) != shown, "the profile of the first row")
    lies_in_its_window(played)
    colours = "el => [el._fullLayout.font.color, el.data[0].colorscale?.[0][1]]"
    maps = [chart(played, name) for name in (PROFILES[0], "Signal by layer and step")]
    light = [one.evaluate(colours) for one in maps]
    played.emulate_media(color_scheme="dark")  # while the file is open
    for one, before in zip(maps, light, strict=True):
        one.scroll_into_view_if_needed()
        until(played, lambda one=one, before=before: all_differ(one.evaluate(colours), before), "the dark theme")


def all_differ(some: list[Any], others: list[Any]) -> bool:
    return all(one != other for one, other in zip(some, others, strict=True) if other is not None)


def test_what_a_notebook_shows_of_a_recording_plays_in_its_frame(offline: Any, tmp_path: Path) -> None:
    recording = read(SHIPPED / "digits.jsonl")
    cell = tmp_path / "cell.html"
    cell.write_text(f"<!doctype html><body>{recording._repr_html_()}", encoding="utf-8")
    frame = offline(cell).frame_locator("iframe")
    profile = frame.locator(".player-panel", has=frame.get_by_role("button", name=f"Table of {PROFILES[0]}"))
    expect(profile.locator(".js-plotly-plot")).to_be_visible()
    expect(frame.locator("#still")).to_have_count(0)
    expect(frame.locator(".player-headline")).to_contain_text(verdict(recording, 299).split(",")[0])
    frame.get_by_role("slider", name="Step shown").press("Home")
    expect(frame.locator(".player-headline")).to_contain_text(verdict(recording, 0).split(",")[0])


# What anywidget hands a widget: its state, and what Python sends. `send` is what the test calls.
WIDGET_PAGE = """<!doctype html><body><script type="module">
{widget}
const heard = {{}}
const view = (text) => new DataView(new TextEncoder().encode(text).buffer)
const state = {{ page: {page}, recording: view("") }}
const model = {{ get: (name) => state[name], on: (name, hear) => (heard[name] = hear) }}
window.send = (start, text) => heard["msg:custom"]({{ start }}, [view(text)])
window.sendAll = (text) => {{
  state.recording = view(text)
  heard["change:recording"]()
}}
const {{ initialize, render }} = widget()
initialize({{ model }})
window.open = () => render({{ model, el: document.body }})
</script>"""


def test_a_widget_plays_what_it_is_sent(offline: Any, tmp_path: Path) -> None:
    recording = read(SHIPPED / "digits.jsonl")
    text = b"".join(recording.lines()).decode()
    cut = [text.index(f'{{"step":{step},') + 9 for step in (100, 200, 250)]  # inside a line
    source = (Path(player.__file__).parent / "widget.js").read_text("utf-8").replace("export default", "const widget =")
    page = json.dumps(player.growing_html()).replace("<", "\\u003c")
    (tmp_path / "cell.html").write_text(WIDGET_PAGE.format(widget=source, page=page), encoding="utf-8")
    cell = offline(tmp_path / "cell.html")
    cell.evaluate("([at, text]) => window.send(at, text)", [0, text[: cut[0]]])  # before there is a frame
    cell.evaluate("() => window.open()")
    status = cell.frame_locator("iframe").locator(".player-status")
    expect(status).to_contain_text("100 rows")
    cell.evaluate("([at, text]) => window.send(at, text)", [cut[0], text[cut[0] : cut[1]]])
    expect(status).to_contain_text("200 rows")
    cell.evaluate("([at, text]) => window.send(at, text)", [cut[2], text[cut[2] :]])  # after a gap
    cell.evaluate("(text) => window.sendAll(text)", text)
    expect(status).to_contain_text("300 rows")
    expect(cell.frame_locator("iframe").locator(".player-headline")).to_contain_text(
        verdict(recording, 299).split(",")[0]
    )
    cell.evaluate("() => window.open()")  # a second view of the same widget
    expect(cell.frame_locator("iframe").nth(1).locator(".player-status")).to_contain_text("300 rows")
