"""The page "Your model" in a real browser: a recording of the folder, a file of one's own, a file that grows."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from addnorm.recording import Recording, read
from addnorm.words import verdict
from models.spec import RunConfig
from tests.addnorm.loops import net, recorded
from tests.addnorm.test_read import END, HEADER, ROW, SITE
from tests.browser.page import (
    NAMES,
    button,
    by_menu,
    chart,
    choose,
    drawn,
    line,
    press,
    row,
    scrubber,
    settled,
    status,
    until,
    until_line,
    until_row,
)

DEPTH = ("Signal by depth", "Gradient by depth")
STEPS = 12


@pytest.fixture(scope="module")
def folder(recordings: Path) -> Path:
    """The server's folder, with the recording of a small residual net in it."""
    recorded(net(6), recordings, STEPS)
    return recordings


def shows(page: Any, recording: Recording, step: int) -> None:
    """Waits until the charts over depth have the numbers of a step."""
    for title, name in zip(DEPTH, ("act_rms", "grad_rms"), strict=True):
        wanted = pytest.approx(list(recording.row(name, step)), rel=1e-6)
        until(page, lambda title=title, wanted=wanted: line(page, title) == wanted, f"step {step} of {title}")


def test_a_recording_is_opened_played_left_found_again_reloaded_and_shared(visitors, folder):
    recording = read(folder / "run.jsonl")
    page = visitors("/recordings")
    settled(page)
    choose(page, "Recording", "run.jsonl")
    shows(drawn(page, *DEPTH), recording, STEPS - 1)
    assert "run.jsonl, Sequential, " in status(page).inner_text()
    expect(page.locator(".player-headline")).to_contain_text(verdict(recording, STEPS - 1))
    assert len(line(page, "Loss")) == STEPS
    names = [site.name for site in recording.sites]
    assert chart(page, DEPTH[0]).evaluate("el => [...el.data[0].text]") == names
    press(page, "Reset")
    shows(page, recording, 0)
    press(page, "Play")
    until_row(page, STEPS - 1)
    button(page, "Play").wait_for()
    press(page, "Reset")
    press(page, "Step")
    shows(page, recording, 1)
    page.get_by_role("link", name="Labs", exact=True).click()
    page.get_by_role("heading", name="Labs").wait_for()
    by_menu(page, "More", "Your model")
    shows(drawn(page, *DEPTH), recording, 1)
    page.reload()
    shows(drawn(page, *DEPTH), recording, STEPS - 1)
    other = visitors(page.evaluate("location.pathname + location.search"))
    shows(drawn(other, *DEPTH), recording, STEPS - 1)


def test_ones_own_file_never_reaches_the_server(visitors, folder, tmp_path):
    recording = read(folder / "run.jsonl")
    own = tmp_path / "mine.jsonl"
    own.write_bytes((folder / "run.jsonl").read_bytes() + b'{"step":')
    page = visitors("/recordings?recording=your+own+file")
    told: list[str] = []
    page.on("request", lambda request: told.append(request.post_data or ""))
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: told.append(str(frame))))
    settled(page)
    page.get_by_label("File", exact=True).set_input_files(own)
    shows(drawn(page, *DEPTH), recording, STEPS - 1)
    page.get_by_role("alert").filter(
        has_text=f"Line {2 * STEPS + 3} is cut off; what came before it is shown."
    ).wait_for()
    assert not any("grad_norm" in one or "mine" in one for one in told)
    choose(page, "Compare with", "run.jsonl")
    until(page, lambda: len(chart(page, DEPTH[0]).evaluate(NAMES)) == 2, "two lines")
    assert line(page, DEPTH[0]) == line(page, DEPTH[0], "dash")
    page.get_by_role("link", name="Labs", exact=True).click()
    page.get_by_role("heading", name="Labs").wait_for()
    by_menu(page, "More", "Your model")
    shows(drawn(page, *DEPTH), recording, STEPS - 1)


def test_a_hostile_file_draws_no_link_and_what_was_whole_is_shown(visitors, tmp_path):
    evil = "<a href='https://evil.example/'>here</a><img src=x onerror=alert(1)>\u202e" + "x" * 300
    header = {**HEADER, "model": evil, "notes": [evil], "sites": [{**SITE, "name": evil}, {**SITE, "name": evil}]}
    said = {"said": {kind: [[0, evil]] for kind in ("verdict", "findings", "law", "loss", "kind", "like", "__proto__")}}
    own = tmp_path / "evil.jsonl"
    lines = (header, ROW, said, {**ROW, "step": 1, "act_rms": [1, 1e999]})
    own.write_text("\n".join(map(json.dumps, lines)) + "\n")
    page = visitors("/recordings?recording=your+own+file")
    settled(page)
    page.get_by_label("File", exact=True).set_input_files(own)
    page.get_by_role("alert").filter(has_text="Line 4 is not JSON").wait_for()
    drawn(page, *DEPTH)
    until_line(page, DEPTH[0], [1.0, 2.0])
    page.get_by_text(evil[:20]).first.wait_for()
    assert page.locator("a[href*=evil], img[src=x]").count() == 0


LEAST, MOST = 5e-324, 1.7976931348623157e308
LONG_NAME = "<b>x</b>\u202e" + "n" * 990
HOSTILE = {  # its lines, and what the page says of it
    "the ends of what a number can be": (
        [HEADER, *({**ROW, "step": at, "loss": loss, "lr": MOST, "grad_norm": LEAST, "act_rms": [LEAST, MOST],
                    "grad_rms": [MOST, LEAST], "weight_grad_rms": [MOST], "update_to_weight": [LEAST]}
                   for at, loss in enumerate((MOST, LEAST, MOST, 1.0)))],
        "4 rows",
    ),
    "losses far below and above 0": (
        [HEADER, *({**ROW, "step": at, "loss": loss, "act_rms": [MOST, 0.0], "grad_rms": [0.0, LEAST], "update_to_weight": [MOST]}
                   for at, loss in enumerate((-MOST, MOST, -LEAST, "NaN", "-Infinity")))],
        "5 rows",
    ),
    "steps as far apart as can be": ([HEADER, ROW, {**ROW, "step": 2**53 - 1}], "2 rows"),
    "names of prototypes and markup": (
        [{**HEADER, "model": "__proto__", "meta": {"__proto__": {"device": "x"}}, "optimizer": {"name": "constructor"},
          "sites": [{**SITE, "name": name} for name in ("__proto__", "constructor", "__proto__", LONG_NAME, "", "a.b")],
          "blocks": [{"name": "toString", "site": 0, "parameters": 4}]},
         {**ROW, "act_rms": [1.0] * 6, "grad_rms": [1.0] * 6}],
        "1 row",
    ),
    "as many sites as a recording may have": (
        [{**HEADER, "sites": [{**SITE, "name": f"{at}.{'x' * 100}"} for at in range(20_000)]},
         *({**ROW, "step": at, "act_rms": [1.0] * 20_000, "grad_rms": [0.5] * 20_000} for at in range(3))],
        "3 rows",
    ),
    "more sites than that": ([{**HEADER, "sites": [SITE] * 20_001}], "Line 1 has more than 20000 sites."),
    "nested deeply": (["[" * 200_000], "Line 1 is not JSON, or is nested too deeply."),
    "no sites": ([{**HEADER, "sites": [], "blocks": []}, {**ROW, "act_rms": [], "grad_rms": [], "weight_grad_rms": []}], "1 row"),
}  # fmt: skip


def test_no_hostile_file_is_an_error_in_the_page(visitors):
    page = visitors("/recordings?recording=your+own+file")
    settled(page)
    for name, (lines, said) in HOSTILE.items():
        text = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines) + "\n"
        file = {"name": f"<i>{name}</i>.jsonl", "mimeType": "", "buffer": text.encode()}
        page.get_by_label("File", exact=True).set_input_files(file)
        page.get_by_text(said).first.wait_for()
        if "row" in said:
            status(page).filter(has_text=f"i>{name[:20]}").wait_for()
            settled(page)
            press(page, "Reset")
            press(page, "Step")
        settled(page)
        assert page.evaluate("[{}.device, document.querySelectorAll('.player i, .player b').length]") == [None, 0], name


def test_beside_a_recording_a_net_of_the_playground_trains_along(visitors, folder):
    recording = read(folder / "run.jsonl")
    page = visitors("/recordings?recording=run.jsonl&beside=toy:%20pre-norm")
    drawn(page, *DEPTH)
    toy = RunConfig.arranged("pre-norm").depth + 1
    until(page, lambda: [len(line(page, title, "dash")) for title in DEPTH] == [toy, toy], "both lines of the toy")
    names = "el => (el.data ?? []).map(({ name }) => name)"
    until(
        page,
        lambda: "toy: pre-norm: another task" in chart(page, "Loss").evaluate(names),
        "why its losses are left out",
    )
    shows(page, recording, STEPS - 1)


def test_a_recording_without_its_last_line_grows_until_its_rows_stay_away(visitors, folder):
    path = folder / "stopped.jsonl"
    created = datetime.now(UTC) - timedelta(seconds=50)
    path.write_text(json.dumps({**HEADER, "created": created.isoformat(timespec="seconds")}) + "\n")
    page = visitors("/recordings?recording=stopped.jsonl")
    status(page).filter(has_text="0 rows, growing").wait_for()
    status(page).filter(has_text="0 rows, no row for 1 min: paused or killed").wait_for()
    with path.open("a") as file:
        file.write(json.dumps(ROW) + "\n")
        file.write(json.dumps({**END, "end": "error", "reason": "KeyboardInterrupt"}) + "\n")
    status(page).filter(has_text="1 row, ended by KeyboardInterrupt").wait_for()


def test_a_recording_that_grows_is_followed(visitors, folder):
    path = folder / "growing.jsonl"
    page = settled(visitors("/recordings?recording=your+own+file"))
    page.get_by_text("drop it here").wait_for()
    path.write_text(json.dumps(HEADER) + "\n" + json.dumps(ROW) + "\n")
    box = page.get_by_role("combobox", name="Recording", exact=True)

    def offered() -> bool:
        box.click()
        found = page.get_by_role("option", name="growing.jsonl").count() > 0
        page.keyboard.press("Escape")
        return found

    until(page, offered, "the new recording in the list")
    choose(page, "Recording", "growing.jsonl")
    drawn(page, *DEPTH)
    until(page, lambda: line(page, DEPTH[0]) == ROW["act_rms"], "the first row")
    with path.open("a") as file:
        for step in range(1, 31):
            file.write(json.dumps({**ROW, "step": step, "act_rms": [1.0, 1.0 + step], "loss": 1 / (1 + step)}) + "\n")
    until(page, lambda: line(page, DEPTH[0]) == [1.0, 31.0], "the last row")
    assert row(page) == 30
    scrubber(page).press("ArrowLeft")
    until(page, lambda: line(page, DEPTH[0]) == [1.0, 30.0], "the row before")
    with path.open("a") as file:
        file.write(json.dumps({**ROW, "step": 31, "act_rms": [1.0, "Infinity"]}) + "\n")
        file.write(json.dumps({"said": {"verdict": [[31, "Not finite: the signal of step 31 first at b."]]}}) + "\n")
        file.write(json.dumps({"end": "done", "reason": "", "rows": 32, "dropped": 0}) + "\n")
    status(page).filter(has_text="32 rows, ended").wait_for()
    assert row(page) == 29, "who looks at another row is left there"
    press(page, "Play")
    page.get_by_text("Not finite: the signal of step 31 first at b.").wait_for()
