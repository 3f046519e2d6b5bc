"""The other pages in a real browser: the comparison trains on shared axes, a click on a block opens it."""

import re
from urllib.parse import quote

from tests.browser.page import PHONE, button, chart, drawn, line, press, row, scrubber, until, until_row

SMALL = "depth=3&width=16&batch=16&steps=40"
FOUR = [f"Loss, {cell}" for cell in ("residual and norm", "residual, no norm", "norm, no residual", "neither")]


def test_two_columns_train_on_shared_axes_and_the_table_says_what_differs(visitors):
    page = visitors(f"/compare?a={quote(SMALL)}&b={quote(SMALL + '&residual=false')}")
    drawn(page)
    page.get_by_role("cell", name="Residual").wait_for()
    press(page, "Train all")
    until(page, lambda: len(line(page, "Loss")) == len(line(page, "Loss", "dash")) == 41, "two losses to the end")
    button(page, "Train all").wait_for()
    first, second = line(page, "Loss"), line(page, "Loss", "dash")
    assert first != second


def test_columns_that_have_all_diverged_stop_at_the_last_end_and_say_where_each_ended(visitors):
    wild = "depth=20&width=16&batch=16&steps=40&norm=none&lr="
    page = drawn(visitors(f"/compare?a={quote(wild + '0.03')}&b={quote(wild + '1.0')}"))
    press(page, "Train all")
    status = page.locator(".stage-status").filter(has_text="all have diverged: ")
    status.wait_for()
    steps = [int(step) for step in re.search(r"A at step (\d+), B at step (\d+)", status.inner_text()).groups()]
    assert steps[0] != steps[1]
    assert row(page) == max(steps)
    for label, step in zip("AB", steps, strict=True):
        page.get_by_text(f"{label} Diverged at step {step}").wait_for()
    crosses = "el => el.data.filter((trace) => trace.name === 'diverged').map((trace) => trace.x[0])"
    assert chart(page, "Loss").evaluate(crosses) == steps


def test_the_stacks_of_all_columns_have_one_scale_and_each_column_leads_to_the_playground_and_back(visitors):
    page = drawn(visitors(f"/compare?a={quote(SMALL)}&b={quote(SMALL + '&init_gain=5&norm=none')}"))
    press(page, "Step")
    until_row(page, 1)
    until(page, lambda: len(set(page.locator(".stage-stack canvas").evaluate_all(SCALES))) == 1, "one scale")
    page.get_by_role("link", name="Open in the playground").last.click()
    page.wait_for_url("**/playground?**norm=none**")
    drawn(page)
    page.go_back()
    drawn(page)
    until_row(page, 1)


SCALES = """(all) => all.map((one) => {  // what stands beside the columns, below the letter
    const { width, height } = one, left = width - 80, top = 30
    return one.getContext("2d").getImageData(left, top, width - left, height - top).data.join()
})"""


def test_a_click_on_a_block_opens_it_and_its_skip_can_be_cut_there(visitors):
    page = visitors(f"/anatomy?{SMALL}")
    drawn(page, "Activation by depth")
    whole = line(page, "Activation by depth")
    page.get_by_role("button", name="Block 2: skip, norm").click()
    page.get_by_role("button", name="Block 2: skip, norm", pressed=True).wait_for()
    page.get_by_text("Residual here").click()
    page.get_by_role("button", name="Block 2: no skip, norm").wait_for()
    page.wait_for_function("() => location.search.includes('overrides=2.residual.false')")
    page.wait_for_function(
        "whole => { const el = document.querySelector('[aria-label^=\"Activation by depth\"]');"
        " const now = el?.data?.find((t) => t.name === 'as set'); return now && now.y[2] !== whole[2] }",
        arg=whole,
    )
    assert line(page, "Activation by depth", "dot") == whole


def test_the_start_page_trains_four_nets_after_one_button(visitors):
    page = drawn(visitors("/"), *FOUR)
    assert sentence(page, "neither").startswith("Step 0: not trained yet")
    press(page, "Train all four")
    page.get_by_text("Diverged at step").wait_for()
    button(page, "Pause").wait_for()
    assert page.get_by_role("heading", level=1).count() == 1
    until_row(page, 5)
    press(page, "Pause")
    button(page, "Train all four").wait_for()
    step = row(page)
    for name in ("residual and norm", "norm, no residual", "neither"):
        until(page, lambda name=name: sentence(page, name).startswith(f"Step {step}: loss "), f"the sentence of {name}")
        assert chart(page, f"Loss, {name}").evaluate("el => el.data[0].x.at(-1)") == step
    assert chart(page, "Loss, residual, no norm").evaluate("el => el.data.some((trace) => trace.marker?.symbol === 'x')")
    scrubber(page).focus()
    page.keyboard.press("Home")
    until(page, lambda: "Diverged" not in sentence(page, "residual, no norm"), "the net before it diverged")


def test_who_comes_back_to_the_start_page_finds_it_where_it_was(visitors):
    page = drawn(visitors("/"), *FOUR)
    press(page, "Step")
    press(page, "Step")
    until(page, lambda: sentence(page, "neither").startswith("Step 2: "), "two steps")
    page.get_by_role("link", name="Open in the playground").last.click()
    drawn(page)
    page.wait_for_url("**residual=false**")
    assert page.get_by_role("switch", name="Residual").is_checked() is False
    page.go_back()
    drawn(page, *FOUR)
    until(page, lambda: sentence(page, "neither").startswith("Step 2: "), "the same two steps")
    assert row(page) == 2


def test_on_a_phone_each_of_the_four_stands_under_its_name(visitors):
    page = drawn(visitors("/", **PHONE), *FOUR)
    placed = page.locator(".stage-heading, .stage-chart").evaluate_all(
        "els => els.map((el) => [el.getBoundingClientRect().top, el.tagName])"
    )
    assert [tag for _, tag in sorted(placed)] == ["H3", "DIV"] * 4


def sentence(page, cell: str) -> str:
    """What stands above the chart of one of the four."""
    panel = page.locator(".stage-panel").filter(has=chart(page, f"Loss, {cell}"))
    return panel.locator(".stage-sentence").inner_text()
