"""The playground in a browser: charts that move and keep their zoom, a pause that holds, viewers who share a log."""

import math
import re

import pytest
from playwright.sync_api import expect

from models.spec import TASKS, RunConfig
from models.training import profile_at_init
from tests.browser.page import (
    NAMES,
    PHONE,
    PROFILES,
    address,
    arrange,
    button,
    chart,
    choose,
    drawn,
    laid_out,
    line,
    link,
    press,
    ranges,
    row,
    scrubber,
    settled,
    status,
    train,
    until,
    until_at_rest,
    until_line,
    until_row,
    zoom,
)

LONG = 5000
GRIP = 22  # pixels by which the slider is wider than the plot at either end


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_an_instrument_that_is_opened_comes_into_sight_and_leaves_whoever_scrolls_alone(visitors, motion):
    page = drawn(visitors(link(seed=22), reduced_motion=motion))
    page.get_by_text("Look deeper").click()
    page.get_by_role("radio", name="Surgery").click()
    title = page.get_by_role("heading", name="Surgery", level=3)
    until(page, lambda: title.count() and 150 < title.bounding_box()["y"] < 300, "the title under the player")
    expect(page.locator(".st-key-instrument_opened .static-chart").first).to_be_in_viewport()
    page.mouse.move(800, 500)

    def at_top():
        page.mouse.wheel(0, -3000)
        return button(page, "Train").bounding_box()["y"] > 300

    until(page, at_top, "the top of the page")


def test_a_verdict_is_a_line_and_the_rest_unfolds(visitors):
    page = settled(drawn(visitors("/playground?residual=false")))
    verdict, why = page.locator(".player-headline").first, page.get_by_role("button", name="why", exact=True)
    reasons = page.locator(".player-reasons").first
    expect(verdict).to_have_text(re.compile(r"^Collapsed: all digits look the same by block \d+\.$"))
    expect(reasons).to_be_hidden()
    expect(status(page)).to_have_text("measured live")
    expect(page.locator(".pinned .player-sentence")).to_have_text("")
    expect(page.get_by_role("main")).not_to_contain_text("the loss stays")  # which nobody has seen yet
    why.focus()
    page.keyboard.press("Enter")
    expect(why).to_have_attribute("aria-expanded", "true")
    told = (
        "Step 0 · Collapsed: all samples look",
        "not trained yet, loss 3.29; chance is 2.30",
        "Look at the ten digits",
    )
    for words in (*told, "parameters · seed 0", "A verdict judges"):
        expect(reasons).to_contain_text(words)
    height = reasons.bounding_box()["height"]
    press(page, "Step")
    expect(reasons).to_contain_text("Step 1 · ")
    expect(reasons).not_to_contain_text("Look at")
    expect(status(page)).to_contain_text("step 1 of 300")
    assert reasons.bounding_box()["height"] == height, "nothing below moves"
    why.click()
    expect(reasons).to_be_hidden()


def test_the_step_beside_a_verdict_leads_on(visitors):
    page = settled(drawn(visitors(link(seed=15, steps=40))))
    button(page, "Now train it").click()
    until_row(page, 40)
    until_at_rest(page)
    button(page, "Now cut the residuals").click()
    page.wait_for_url(lambda url: "residual=false" in url)
    expect(button(page, "Now train it")).to_be_visible()
    press(page, "Step")
    expect(button(page, "Go on training")).to_be_visible()


def test_net_loss_answers_and_profiles_share_the_first_screen(visitors):
    page = settled(visitors("/playground"))
    stack, loss = page.get_by_role("group", name="Signal and gradient, block by block"), scrubber(page)
    answers = page.get_by_role("img", name=re.compile(r"^A \d, read as \d"))
    expect(answers).to_have_count(10)
    laid_out(page, stack, page.locator(".player-headline").first, button(page, "Train"), loss, *answers.all())
    left = stack.bounding_box()
    for part in (answers.first, chart(page, "Loss")):
        assert part.bounding_box()["x"] > left["x"] + left["width"]
    assert chart(page, "Loss").evaluate("el => el._fullLayout._size.h") >= 110
    for name in PROFILES:
        expect(chart(page, name)).to_be_in_viewport(ratio=1 / 4)


def test_an_untrained_net_answers_about_points(visitors):
    page = drawn(visitors(link(task="spiral", seed=61)), "Decision regions")
    says = "el => el.data.filter(({ type }) => type === 'heatmap').map(({ z }) => z.map((row) => row.map((one) => one !== null)))"
    frame = profile_at_init(RunConfig(depth=4, width=16, batch=16, steps=60, task="spiral", seed=61)).frames[0]
    grid = frame.picture["grid"]
    regions = chart(page, "Decision regions").evaluate(says)
    assert regions == [(grid == label).tolist() for label in range(3)]


def test_an_untrained_transformer_answers_a_sequence(visitors):
    title = "Input, target and answer"
    page = drawn(visitors(link(task="recall", net="transformer", seed=62)), title)
    cfg = RunConfig(depth=4, width=16, batch=16, steps=60, task="recall", net="transformer", seed=62)
    guesses = profile_at_init(cfg).frames[0].picture["guess"][0]
    rows = chart(page, title).evaluate("el => el.data[0].text")
    assert [int(cell.split("<br>")[0]) for cell in rows[3] if cell] == guesses[guesses >= 0].tolist()


def test_a_phone_shows_net_train_loss_answers_and_profiles_in_this_order(visitors):
    page = settled(drawn(visitors("/playground", **PHONE)))
    expect(button(page, "Train")).to_be_in_viewport(ratio=0.99)
    parts = [page.get_by_role("group", name="Signal and gradient, block by block"), chart(page, "Loss")]
    parts += [page.get_by_role("img", name=re.compile(r"^A 0, read as \d")), *(chart(page, name) for name in PROFILES)]
    tops = [part.bounding_box()["y"] for part in parts]
    assert tops == sorted(tops)


def test_a_pause_holds_the_row_and_nothing_is_sent_any_more(visitors):
    page, frames = visitors.tab(), []

    def received(frame: str | bytes) -> None:
        if '"kind":"trainer"' not in str(frame):  # how many runs share the trainer is told to everybody
            frames.append(len(frame))

    page.on("websocket", lambda socket: socket.on("framereceived", received))
    page.goto(visitors.server.url + link(seed=2, steps=LONG))
    choose(drawn(page), "Speed", "5 steps/s")
    press(settled(page), "Train")
    until_row(page, 2)
    press(page, "Pause")
    until_at_rest(page)
    # So much time passes as another run takes: first until this page has all that was on its way, then to see it hold.
    train(drawn(visitors(link(seed=3))))
    held, loss, sent = row(page), line(page, "Loss"), len(frames)
    assert 2 <= held < LONG
    train(drawn(visitors(link(seed=12))))
    assert (row(page), line(page, "Loss")) == (held, loss)
    assert len(frames) == sent


def test_a_press_on_the_loss_moves_there(visitors):
    page = train(drawn(visitors(link(seed=14, net="transformer", task="book", depth=2))))  # long names at the right
    end = line(page, "Signal by depth")
    scrubber(page).press("Home")
    expect(status(page)).to_contain_text("step 0 of 60")
    until(page, lambda: line(page, "Signal by depth") != end, "the profile of step 0")
    assert len(line(page, "Loss")) == 61
    page.get_by_role("heading", name="This network").scroll_into_view_if_needed()
    plot, thumb = chart(page, "Loss").bounding_box(), scrubber(page).bounding_box()
    assert 0 < plot["y"] < 720
    assert plot["x"] <= thumb["x"] <= thumb["x"] + thumb["width"] <= plot["x"] + plot["width"]
    middle = plot["y"] + plot["height"] / 3
    for step in (15, 60, 45):
        left = chart(page, "Loss").evaluate(
            "(el, step) => el._fullLayout.xaxis._offset + el._fullLayout.xaxis.l2p(step)", step
        )
        page.mouse.move(plot["x"] + left, middle)
        if step == 15:
            page.mouse.down()
        until(page, lambda step=step: row(page) == step, f"step {step} by a press or a drag")
        thumb = scrubber(page).bounding_box()
        shown = thumb["x"] + GRIP + step / 60 * (thumb["width"] - 2 * GRIP)
        assert shown == pytest.approx(plot["x"] + left, abs=1), "the playhead stands at its step of the axis"
    page.mouse.up()


def test_a_zoom_is_undone_by_a_double_click_by_a_button_and_by_rescale(visitors):
    page = drawn(visitors(link(seed=25)))
    figure = chart(page, "Signal by depth")
    whole = ranges(page, "Signal by depth")

    def double_click() -> None:
        """Until it is one: on a busy machine plotly hears of the two clicks too far apart."""
        until(page, lambda: figure.dblclick() or ranges(page, "Signal by depth") == whole, "a double click")

    for undo in (double_click, page.locator("[data-title='Undo zoom']").first.click, lambda: press(page, "Rescale")):
        figure.scroll_into_view_if_needed()
        assert zoom(page, "Signal by depth") != whole
        figure.hover()
        undo()
        until(page, lambda: ranges(page, "Signal by depth") == whole, "the whole axes")


NO_HOVER = """
const asked = window.matchMedia.bind(window)
window.matchMedia = (query) => query.includes("hover: hover") ? { matches: false } : asked(query)
"""


def test_where_nothing_can_hover_no_chart_has_plotlys_buttons(visitors):
    page = visitors.tab()
    page.add_init_script(NO_HOVER)
    page.goto(visitors.server.url + link(seed=26))
    drawn(page)
    expect(page.locator(".modebar-btn")).to_have_count(0)


def test_the_axes_hold_both_the_net_and_the_previous_one(visitors):
    wild = {"depth": 16, "width": 16, "steps": 40, "norm": "none", "init_gain": 2}
    page = drawn(visitors(link(**wild)))
    exploding = line(page, "Signal by depth")
    press(page, "Train")
    expect(status(page)).to_contain_text("diverged")
    until(page, lambda: ranges(page, "Signal by depth")[1][1] > 10, "an axis over what explodes")
    arrange(page, "pre-norm")
    page.wait_for_url(lambda url: "norm=none" not in url)
    until(page, lambda: line(page, "Signal by depth", "dot"), "the previous net at step 0")
    assert line(page, "Signal by depth", "dot") == pytest.approx(exploding, rel=1e-3)
    for name in PROFILES:
        low, high = ranges(page, name)[1]
        both = [math.log10(value) for dash in ("solid", "dot") for value in line(page, name, dash)]
        assert low <= min(both)
        assert max(both) <= high <= max(both) + 2
    press(page, "Train")
    until_row(page, 40)
    until_at_rest(page)
    until(page, lambda: not line(page, "Signal by depth", "dot"), "no previous net at a step to which it did not come")
    low, high = ranges(page, "Signal by depth")[1]
    assert high - low <= 4


def test_a_run_that_diverges_has_one_last_step(visitors):
    page = drawn(visitors(link(depth=16, width=16, steps=40, norm="none", init_gain=1.3)))
    press(page, "Train")
    verdict = page.locator(".player-headline").first
    expect(verdict).to_contain_text("Diverged at step")
    until_at_rest(page)
    step = int(re.search(r"step (\d+)", verdict.inner_text())[1])
    assert step > 1
    expect(status(page)).to_contain_text(f"step {step} of 40")
    expect(status(page)).to_contain_text("diverged")
    assert row(page) == step
    until(page, lambda: "not finite" in chart(page, "Signal by depth").evaluate(NAMES), "the marks")
    told = " ".join(
        page.locator(".player-headline, .player-reasons, .player-status, .player-sentence").all_text_contents()
    )
    assert {int(said) for said in re.findall(r"[Ss]tep (\d+)", told)} == {step}, (
        "every sentence is of the one last step"
    )
    assert chart(page, "Loss").evaluate(NAMES).count("diverged") == 1
    expect(page.get_by_role("button", name=re.compile("^Try "))).to_be_visible()  # which helps
    press(page, "Step")
    assert row(page) == step
    scrubber(page).press("ArrowLeft")
    expect(verdict).not_to_contain_text("Diverged")
    until(page, lambda: None not in line(page, "Signal by depth"), "the last finite step")


def test_two_viewers_share_a_log_and_one_pauses_while_the_other_goes_on(visitors):
    anna, ben = drawn(visitors(link(seed=7))), drawn(visitors(link(seed=7), locale="en-GB"))
    choose(anna, "Speed", "1 step/s")
    press(anna, "Train")
    until_row(anna, 1)
    press(anna, "Pause")
    until_at_rest(anna)
    held = row(anna)
    train(ben)
    assert row(anna) == held < row(ben) == 60
    scrubber(anna).press("End")
    expect(status(anna)).to_contain_text("step 60 of 60")
    for name in (*PROFILES, "Loss"):
        until_line(anna, name, line(ben, name))


def test_nothing_moves_when_a_run_fails(visitors):
    page = settled(drawn(visitors(link(depth=32, norm="none", seed=12))))
    tops = [chart(page, name).bounding_box()["y"] for name in PROFILES]
    press(page, "Train")
    expect(page.get_by_role("button", name=re.compile("^Try "))).to_be_visible()
    assert [chart(page, name).bounding_box()["y"] for name in PROFILES] == tops


def test_everything_has_the_name_that_people_and_tools_go_by(visitors):
    page = drawn(visitors(link(seed=11)))
    for name in ("Train", "Step", "Reset"):
        expect(button(page, name)).to_have_count(1)
    expect(page.get_by_role("switch", name="Residual", exact=True)).to_have_count(1)
    page.get_by_text("Network", exact=True).click()
    for name in ("Placement", "Norm", "Activation", "Initialisation"):
        expect(page.get_by_role("combobox", name=name, exact=True)).to_have_count(1)
    expect(page.get_by_role("radiogroup", name="Task").get_by_role("radio")).to_have_text(list(TASKS))
    expect(page.get_by_role("button", name=re.compile("^Arrangement: pre-norm"))).to_be_visible()  # beside a wide page
    expect(button(page, "Settings")).to_have_count(0)  # which opens them where they are hidden
    for name in ("Depth", "Width", "Step shown"):
        expect(page.get_by_role("group", name=name, exact=True).get_by_role("slider")).to_have_count(1)
    for name in (*PROFILES, "Loss"):
        expect(chart(page, name)).to_have_count(1)
    expect(page.get_by_role("heading", level=1)).to_have_count(1)


def test_a_link_to_another_place_in_the_notes_is_not_a_link(visitors):
    page = drawn(
        visitors("/playground?depth=9999&width=16&init=www.example.com&norm=[a](javascript:alert(1))&task=<b>x</b>")
    )
    notes = page.get_by_test_id("stAlert")
    expect(notes).to_contain_text("Depth 9999 is out of range (1 to 128): 128 instead")
    assert notes.locator("a, b, script, img").count() == 0
    assert address(page) == "/playground?depth=128&width=16"


@pytest.mark.parametrize("how", [{"color_scheme": "dark"}, PHONE])
def test_a_task_is_chosen_by_its_picture(visitors, how):
    page = settled(drawn(visitors(link(seed=81), **how)))
    if how is PHONE:
        press(page, "Settings")
    group = page.get_by_role("radiogroup", name="Task")
    for radio in group.get_by_role("radio").all():
        box, picture = radio.bounding_box(), radio.locator("img").bounding_box()
        assert min(box["width"], box["height"]) >= 44
        assert 24 <= picture["width"] <= box["width"]
        assert picture["height"] == pytest.approx(picture["width"], abs=0.01)
        assert radio.locator("img").evaluate("el => el.complete && el.naturalWidth") > 0
    group.get_by_role("radio", name="digits", exact=True).focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.wait_for_url("**task=spiral**")
    expect(group.get_by_role("radio", name="spiral", exact=True)).to_be_checked()
    page.go_back()
    expect(group.get_by_role("radio", name="digits", exact=True)).to_be_checked()
