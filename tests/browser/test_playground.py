"""The playground in a browser: charts that move and keep their zoom, a pause that holds, viewers who share a tape."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.page import (
    NAMES,
    PROFILES,
    address,
    arrange,
    button,
    chart,
    choose,
    drawn,
    hover,
    label,
    last_step,
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
    until_step,
    zoom,
)

LONG = 5000


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_an_instrument_that_is_opened_comes_into_sight_and_leaves_whoever_scrolls_alone(visitors, motion):
    page = drawn(visitors(link(seed=22), reduced_motion=motion))
    page.get_by_role("radio", name="Surgery").click()
    title = page.get_by_role("heading", name="Surgery", level=3)
    until(page, lambda: title.count() and 150 < title.bounding_box()["y"] < 300, "the title under the player")
    expect(page.locator(".st-key-instrument_opened .static-chart").first).to_be_in_viewport()
    page.mouse.move(800, 500)

    def at_top():
        page.mouse.wheel(0, -3000)
        return button(page, "Train").bounding_box()["y"] > 300

    until(page, at_top, "the top of the page")


def test_a_preset_leaves_train_where_it_is(visitors):
    page = settled(drawn(visitors(link(seed=21))))
    where = button(page, "Train").bounding_box()["y"]
    for name, verdict in {"vanishes": "Vanishing", "explodes": "Exploding", "collapses": "Collapsed"}.items():
        page.get_by_test_id("stButtonGroup").get_by_text(name, exact=True).click()
        expect(page.locator(".stage-headline").first).to_contain_text(verdict)
        assert button(settled(page), "Train").bounding_box()["y"] == pytest.approx(where, abs=1)


def test_each_verdict_names_its_step_and_where_to_look_goes_when_training_begins(visitors):
    page = settled(drawn(visitors("/playground?residual=false")))
    verdict, look = page.locator(".stage-headline").first, page.get_by_text("Look at the ten digits")
    expect(verdict).to_contain_text("Step 0 · Collapsed")
    expect(look).to_be_visible()
    expect(page.get_by_role("main")).not_to_contain_text("the loss stays")  # which nobody has seen yet
    where = button(page, "Train").bounding_box()["y"]
    press(page, "Step")
    expect(verdict).to_contain_text("Step 1 · ")
    expect(look).to_have_count(0)
    assert button(page, "Train").bounding_box()["y"] == pytest.approx(where, abs=1)
    press(page, "Reset")
    expect(look).to_be_visible()


def test_charts_and_scrubber_move_while_it_trains(visitors):
    page = settled(drawn(visitors(link(seed=1, steps=LONG))))
    before, place = line(page, "Signal by depth"), button(page, "Step").bounding_box()
    press(page, "Train")
    until_step(page, 1)
    first, thumb = last_step(page), row(page)
    assert button(page, "Pause").is_visible()
    assert button(page, "Step").bounding_box() == pytest.approx(place, abs=1), "Train and Pause are of one width"
    until_step(page, first + 1)
    until_row(page, thumb + 1)
    until(page, lambda: line(page, "Signal by depth") != before, "a profile that moves")


def test_the_stack_the_player_and_most_of_both_charts_stand_in_the_first_screen(visitors):
    page = settled(visitors("/playground"))
    expect(page.get_by_role("group", name="Signal and gradient, block by block")).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("img", name="Block diagram: mlp, pre-norm")).to_be_in_viewport(ratio=1)
    expect(page.locator(".stage-headline").first).to_be_in_viewport(ratio=1)
    expect(scrubber(page)).to_be_in_viewport(ratio=1)
    assert chart(page, "Loss").evaluate("el => el._fullLayout._size.h") >= 110
    for name in PROFILES:
        expect(chart(page, name)).to_be_in_viewport(ratio=2 / 3)


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


def test_zoom_and_hover_survive_the_next_ticks(visitors):
    # So wide that no sentence above the chart takes another line: the chart would move away from under the mouse.
    page = drawn(
        visitors(link(seed=4, steps=LONG, depth=24, width=64, batch=64), viewport={"width": 1920, "height": 1080})
    )
    press(page, "Pin this profile")  # which stays; the points of the line that is now move
    press(settled(page), "Train")
    until_step(page, 40)
    chart(page, "Sample cosine by depth").scroll_into_view_if_needed()
    profile = chart(page, "Sample cosine by depth")
    profile.evaluate("el => { el.mine = true }")
    zoomed = zoom(page, "Sample cosine by depth")
    pinned = profile.evaluate("el => el.data.find((trace) => trace.line?.dash === 'dash').name")
    hover(page, "Sample cosine by depth", pinned)
    for _ in range(2):
        until_step(page, last_step(page) + 1)
    assert ranges(page, "Sample cosine by depth") == zoomed
    assert profile.evaluate("el => el.mine")
    label(page, "Sample cosine by depth").wait_for()


def test_the_loss_is_the_scrubber_a_press_on_the_curve_goes_there_and_it_stays_in_sight(visitors):
    page = train(drawn(visitors(link(seed=14))))
    end = line(page, "Signal by depth")
    scrubber(page).press("Home")
    expect(status(page)).to_contain_text("step 0 of 60")
    until(page, lambda: line(page, "Signal by depth") != end, "the profile of step 0")
    assert len(line(page, "Loss")) == 61
    page.get_by_role("heading", name="This network").scroll_into_view_if_needed()
    plot, thumb = chart(page, "Loss").bounding_box(), scrubber(page).bounding_box()
    assert 0 < plot["y"] < 720
    assert plot["x"] <= thumb["x"] <= thumb["x"] + thumb["width"] <= plot["x"] + plot["width"]
    for step in (15, 45):
        left = chart(page, "Loss").evaluate(
            "(el, step) => el._fullLayout.xaxis._offset + el._fullLayout.xaxis.l2p(step)", step
        )
        page.mouse.click(plot["x"] + left, plot["y"] + plot["height"] / 3)
        until(page, lambda step=step: row(page) == step, f"step {step}")


def foot(page) -> tuple[float, float]:
    """Where the slider's handle meets the axis of the loss."""
    return tuple(
        chart(page, "Loss").evaluate(
            """(el, step) => {
                const { x, y } = el.getBoundingClientRect(), { xaxis, yaxis } = el._fullLayout
                return [x + xaxis._offset + xaxis.l2p(step), y + yaxis._offset + yaxis._length]
            }""",
            row(page),
        )
    )


def test_who_takes_the_handle_of_the_loss_a_little_low_moves_the_step_and_not_the_axes(visitors):
    page = train(drawn(visitors(link(seed=24))))
    before = ranges(page, "Loss")
    for key in ("Home", "PageUp", "End"):
        scrubber(page).press(key)
        expect(status(page)).to_contain_text(f"step {row(page)} of 60")
        x, y = foot(page)
        reach = [(x + across, y + down) for across in (-21, 0, 21) for down in (-21, 0, 21)]
        over = "(points) => points.map(([x, y]) => document.elementFromPoint(x, y)?.getAttribute('aria-label'))"
        assert set(page.evaluate(over, reach)) == {"Step shown"}, "44 pixels in which the handle can be taken"
    for low in (2, 12):
        x, y = foot(page)
        page.mouse.move(x, y + low)
        page.mouse.down()
        page.mouse.move(x - 150, y + low, steps=5)
        page.mouse.up()
        until(page, lambda x=x: abs(foot(page)[0] - (x - 150)) < 10, "the handle under the mouse")
        assert ranges(page, "Loss") == before


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


TEXTS_UNDER = """(bar) => {
    const reach = bar.getBoundingClientRect()
    return [...bar.closest(".stage-place").querySelectorAll("svg text, .stage-switch")].filter((one) => {
        const { left, right, top, bottom, width } = one.getBoundingClientRect()
        const over = left < reach.right && right > reach.left && top < reach.bottom && bottom > reach.top
        return width && over
    }).map((one) => one.textContent)
}"""
INSIDE = """(bar) => {
    const { top, bottom, left } = bar.getBoundingClientRect(), place = bar.closest(".stage-chart").getBoundingClientRect()
    return top >= place.top && bottom <= place.bottom + 1 && left >= place.left && bottom - top < 40
}"""
SEEN = "(bar) => [...bar.querySelectorAll('.modebar-group')].map((one) => getComputedStyle(one).opacity)"


def test_plotlys_buttons_come_where_the_mouse_is_and_lie_over_no_text(visitors):
    page = train(drawn(visitors(link(seed=26, panel="layer-and-step"))))
    page.get_by_text("Residual", exact=True).click()  # with a ghost and its legend
    page.wait_for_url("**residual=false**")
    names = (*PROFILES, "Signal by layer and step", "Gradient by layer and step")
    drawn(page, *names)
    expect(chart(page, "Loss").locator(".modebar-btn")).to_have_count(0)  # whose axes do not zoom
    for name in names:
        settled(page).mouse.move(5, 5)
        bar = chart(page, name).locator(".modebar")
        bar.scroll_into_view_if_needed()
        until(page, lambda bar=bar: set(bar.evaluate(SEEN)) == {"0"}, f"{name} without buttons")
        ground = (
            "(bar) => [...bar.querySelectorAll('.modebar-group')].map((one) => getComputedStyle(one).backgroundColor)"
        )
        assert set(bar.evaluate(ground)) == {"rgba(0, 0, 0, 0)"}
        chart(page, name).hover()
        until(page, lambda bar=bar: set(bar.evaluate(SEEN)) == {"1"}, f"the buttons of {name}")
        assert bar.evaluate(TEXTS_UNDER) == []
        assert bar.evaluate(INSIDE), f"the buttons of {name} are cut off"


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


def test_after_a_net_that_explodes_the_axes_are_those_of_the_next_and_its_ghost_is_left_out_with_a_word(visitors):
    wild = {"depth": 16, "width": 16, "steps": 40, "norm": "none", "init_gain": 1.3}
    page = drawn(visitors(link(**wild)))
    press(page, "Train")
    expect(status(page)).to_contain_text("diverged")
    until(page, lambda: ranges(page, "Signal by depth")[1][1] > 10, "an axis over what explodes")
    arrange(page, "pre-norm")
    page.wait_for_url(lambda url: "norm=none" not in url)
    for name in PROFILES:
        drawing = chart(page, name)
        until(page, lambda one=drawing: any(": " in said for said in one.evaluate(NAMES)), "what became of the ghost")
        said = drawing.evaluate(NAMES)
        assert "not finite" not in said
        assert [one for one in said if one.endswith((": far off this axis", ": not finite"))]
        expect(drawing.locator(".legend")).to_contain_text(": ")
        low, high = ranges(page, name)[1]
        assert high - low <= 3, "the axis of a net that is healthy"
    press(page, "Train")
    until_row(page, 40)
    until_at_rest(page)
    low, high = ranges(page, "Signal by depth")[1]
    assert high - low <= 4


def test_a_run_that_diverges_rests_at_its_last_finite_step_and_one_more_step_shows_the_marks(visitors):
    page = drawn(visitors(link(depth=16, width=16, steps=40, norm="none", init_gain=1.3)))
    press(page, "Train")
    verdict = page.locator(".stage-headline").first
    expect(verdict).to_contain_text("Diverged at step")
    until_at_rest(page)
    step = int(re.search(r"step (\d+)", verdict.inner_text())[1])
    assert step > 1
    expect(status(page)).to_contain_text(f"step {step - 1} of 40")
    expect(status(page)).to_contain_text("diverged")
    until(page, lambda: chart(page, "Signal by depth").evaluate(NAMES) == [f"step {step - 1}"], "numbers, not marks")
    assert None not in line(page, "Signal by depth")
    assert chart(page, "Loss").evaluate(NAMES).count("diverged") == 1
    expect(page.get_by_role("button", name="Apply")).to_have_count(1)  # which helps
    press(page, "Step")
    until(page, lambda: "not finite" in chart(page, "Signal by depth").evaluate(NAMES), "the marks")
    assert row(page) == step
    expect(verdict).to_contain_text(f"Diverged at step {step}")
    scrubber(page).press("Home")
    expect(verdict).not_to_contain_text("Diverged")


def test_switching_the_residual_off_redraws_the_profiles_and_keeps_the_last_as_a_ghost(visitors):
    page = settled(drawn(visitors(link(seed=5, depth=12))))
    before = {name: line(page, name) for name in PROFILES}
    page.get_by_text("Residual", exact=True).click()
    expect(page.get_by_role("switch", name="Residual")).not_to_be_checked()
    for name in PROFILES:
        element = chart(page, name).element_handle()
        page.wait_for_function("el => el.data.some((trace) => (trace.line || {}).dash === 'dot')", arg=element)
        assert line(page, name, "dot") == pytest.approx(before[name], rel=5e-4)  # which are sent with four digits
        assert line(page, name) != before[name]
    assert "residual=false" in address(page)


def test_back_undoes_one_change(visitors):
    page = settled(drawn(visitors(link(seed=6))))
    start, first = address(page), line(page, "Signal by depth")
    page.get_by_text("Residual", exact=True).click()
    page.wait_for_url("**residual=false**")
    arrange(page, "DeepNorm")  # sets several fields, one entry in the history
    page.wait_for_url("**skip_scale=deepnorm**")
    page.go_back()
    expect(page.get_by_role("button", name=re.compile("^Arrangement: custom"))).to_be_visible()
    expect(page.get_by_role("switch", name="Residual")).not_to_be_checked()
    assert "residual=false" in address(page)
    assert "deepnorm" not in address(page)
    page.go_back()
    expect(page.get_by_role("switch", name="Residual")).to_be_checked()
    assert address(page) == start
    element = chart(page, "Signal by depth").element_handle()
    page.wait_for_function(
        "([el, y]) => String(el.data.find((trace) => trace.line.dash !== 'dot').y) === String(y)", arg=[element, first]
    )


def test_two_viewers_share_a_tape_and_one_pauses_while_the_other_goes_on(visitors):
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


def test_a_phone_shows_everything_in_its_width_and_train_can_be_reached(visitors):
    page = drawn(visitors(link(seed=9), viewport={"width": 390, "height": 844}))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    wide = page.get_by_test_id("stMain").evaluate("el => [el.scrollWidth, el.clientWidth]")
    assert wide[0] <= wide[1] <= 390
    box = button(page, "Train").bounding_box()
    assert 0 <= box["x"] < box["x"] + box["width"] <= 390
    assert box["y"] + box["height"] <= 844
    for name in PROFILES:
        size = chart(page, name).bounding_box()
        assert size["x"] >= 0
        assert size["x"] + size["width"] <= 390
    train(page)


READABLE = """(el) => {
    const seen = (text) => { // [r, g, b, opacity] of rgb(255 255 255 / 1) or color(srgb 1 1 1 / 1)
        const parts = text.match(/[0-9.]+/g).map(Number)
        return [...parts.slice(0, 3).map((v) => text.startsWith("color(") ? v : v / 255), parts[3] ?? 1]
    }
    const light = ([r, g, b]) => 0.2126 * r ** 2.2 + 0.7152 * g ** 2.2 + 0.0722 * b ** 2.2
    let behind = el
    while (behind.parentElement && /, 0\\)$/.test(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement
    const ground = seen(getComputedStyle(behind).backgroundColor), ink = seen(getComputedStyle(el).color)
    const mixed = ink.slice(0, 3).map((v, at) => ink[3] * v + (1 - ink[3]) * ground[at])
    const [a, b] = [light(mixed), light(ground)]
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
}"""


def test_text_and_charts_are_readable_in_both_themes(visitors):
    page = drawn(visitors(link(seed=10)))
    app, colour = page.get_by_test_id("stApp"), "el => getComputedStyle(el).color"
    root = "el => [getComputedStyle(el).colorScheme, getComputedStyle(el).backgroundColor.match(/[0-9]+/g)[0] < 128]"
    themed = """el => el._fullLayout.font.color.toLowerCase()
        === getComputedStyle(el).getPropertyValue("--st-text-color").trim().toLowerCase()"""
    seen = set()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        until(page, lambda scheme=scheme: app.evaluate(root) == [scheme, scheme == "dark"], f"the {scheme} theme")
        ink = app.evaluate(colour)
        seen.add(ink)
        for name in PROFILES:
            until(page, lambda name=name: chart(page, name).evaluate(themed), f"the theme's colour in {name}")
            tick = chart(page, name).locator(".xtick text").first
            until(
                page, lambda tick=tick, ink=ink: tick.evaluate("el => getComputedStyle(el).fill") == ink, "its numbers"
            )
        texts = [
            page.get_by_role("heading", level=1),
            page.locator(".stage-headline"),
            page.get_by_text("Residual", exact=True),
            button(page, "Step"),
            status(page),
        ]
        for text in texts:
            until(page, lambda text=text: text.first.evaluate(READABLE) > 3, "a colour that is told from its ground")
    assert len(seen) == 2


def test_everything_has_the_name_that_people_and_tools_go_by(visitors):
    page = drawn(visitors(link(seed=11)))
    for name in ("Train", "Step", "Reset"):
        expect(button(page, name)).to_have_count(1)
    expect(page.get_by_role("switch", name="Residual")).to_have_count(1)
    page.get_by_text("Network", exact=True).click()
    for name in ("Placement", "Norm", "Task", "Activation", "Initialisation"):
        expect(page.get_by_role("combobox", name=name, exact=True)).to_have_count(1)
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
    expect(notes).to_contain_text("depth 9999 became 128")
    assert notes.locator("a, b, script, img").count() == 0
    assert address(page) == "/playground?depth=128&width=16"
