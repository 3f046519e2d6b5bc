"""The other pages in a real browser: the comparison trains on shared axes, a click on a block opens it."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.page import PHONE, button, chart, drawn, line, press, row, scrubber, settled, still, until, until_row

SMALL = "depth=3&width=16&batch=16&steps=40"
FOUR = ("residual and norm", "norm, no residual", "residual, no norm", "neither")


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
    assert row(page) == max(steps) - 1
    for label, step in zip("AB", steps, strict=True):
        page.locator(".stage-headline").filter(has_text=f"{label} Diverged at step {step}").wait_for()
    crosses = "el => el.data.filter((trace) => trace.name === 'diverged').map((trace) => trace.x[0])"
    assert chart(page, "Loss").evaluate(crosses) == steps


def test_the_stacks_of_all_columns_have_one_scale_and_each_column_leads_to_the_playground_and_back(visitors):
    page = drawn(visitors(f"/compare?a={quote(SMALL)}&b={quote(SMALL + '&init_gain=5&norm=none')}"))
    press(page, "Step")
    until_row(page, 1)
    until(page, lambda: page.locator(".stage-stack canvas").evaluate_all(DIFFERENT) <= 4, "one scale")
    page.get_by_role("link", name="Open in the playground").last.click()
    page.wait_for_url("**/playground?**norm=none**")
    drawn(page)
    page.go_back()
    drawn(page)
    until_row(page, 1)


# How many points differ visibly between what stands beside the columns of two stacks, below the letter.
DIFFERENT = """(all) => {
    const [first, ...others] = all.map((one) => {
        const { width, height } = one, left = width - 80, top = 30
        return one.getContext("2d").getImageData(left, top, width - left, height - top).data
    })
    if (others.length === 0) return Number.POSITIVE_INFINITY
    return Math.max(...others.map((other) => other.filter((value, at) => Math.abs(value - first[at]) > 64).length))
}"""


def test_a_click_on_a_block_opens_it_and_its_skip_can_be_cut_there(visitors):
    page = visitors(f"/anatomy?{SMALL}")
    drawn(settled(page), "Signal by depth")
    whole = line(page, "Signal by depth")
    page.get_by_role("button", name="Block 2: residual, norm").click()
    page.get_by_role("button", name="Block 2: residual, norm", pressed=True).wait_for()
    page.get_by_text("Residual in this block").click()
    page.get_by_role("button", name="Block 2: no residual, norm").wait_for()
    page.wait_for_function("() => location.search.includes('overrides=2.residual.false')")
    page.wait_for_function(
        "whole => { const el = document.querySelector('[aria-label^=\"Signal by depth\"]');"
        " const now = el?.data?.find((t) => t.name === 'as set'); return now && now.y[2] !== whole[2] }",
        arg=whole,
    )
    assert line(page, "Signal by depth", "dot") == whole


def test_the_start_page_trains_four_nets_after_one_button_and_scores_what_was_guessed(visitors):
    page = visitors("/")
    until(page, lambda: sentence(page, "neither").startswith("Step 0: not trained yet"), "the nets before training")
    until(page, lambda: all("Ten unseen digits" in answers(page, cell).inner_text() for cell in FOUR), "forty digits")
    guess(page, "Residual, no norm", "blows up")
    guess(page, "Neither", "learns")
    press(page, "Train all four")
    until(page, lambda: "no number at step" in curve(page, "residual, no norm").text_content(), "the net that diverges")
    button(page, "Pause").wait_for()
    assert page.get_by_role("heading", level=1).count() == 1
    until_row(page, 5)
    press(page, "Pause")
    button(page, "Train all four").wait_for()
    page.get_by_text("✓ it blows up, as you guessed").wait_for()
    expect(page.get_by_role("group", name="Your guess: Neither")).to_be_visible()
    step = row(page)
    for name in ("residual and norm", "norm, no residual", "neither"):
        until(page, lambda name=name: sentence(page, name).startswith(f"Step {step}: loss "), f"the sentence of {name}")
        assert f" at step {step}," in curve(page, name).get_attribute("aria-label")
    scrubber(page).focus()
    page.keyboard.press("Home")
    until(page, lambda: "not trained yet" in sentence(page, "residual, no norm"), "the net before it diverged")
    press(page, "Train all four")
    until(page, lambda: row(page) == 300, "the end")
    page.get_by_text("Only the net with both learns").wait_for()
    page.get_by_text("it gets stuck; you guessed: learns").wait_for()
    expect(page.get_by_text("Guess what each will do")).to_be_hidden()
    assert "9 right" in answers(page, "residual and norm").inner_text()
    bottom = page.locator(".stage").evaluate("el => el.getBoundingClientRect().bottom")
    assert bottom <= 720, "all four are seen at once"
    press(settled(page), "Reset")
    page.get_by_text("Guess what each will do").wait_for()


SHIFTS = """() => {
    window.shifted = 0
    new PerformanceObserver((list) => {
        for (const { value } of list.getEntries()) window.shifted += value
    }).observe({ type: "layout-shift" })
}"""


@pytest.mark.parametrize("how", [{}, PHONE], ids=["laptop", "phone"])
def test_nothing_on_the_start_page_moves_while_the_four_train(visitors, how):
    page = visitors("/", **how)
    until(page, lambda: page.locator(".stage-digits li").count() == 40, "forty digits")
    settled(page).evaluate(SHIFTS)
    press(page, "Train all four")
    until(page, lambda: row(page) == 300, "the end")
    expect(page.get_by_text("Only the net with both learns")).to_be_visible()
    still(settled(page))
    assert page.evaluate("window.shifted") < 0.005


def test_who_comes_back_to_the_start_page_finds_it_where_it_was(visitors):
    page = visitors("/")
    press(page, "Step")
    press(page, "Step")
    until(page, lambda: sentence(page, "neither").startswith("Step 2: "), "two steps")
    page.get_by_role("link", name="Open in the playground").last.click()
    drawn(page)
    page.wait_for_url("**residual=false**")
    assert page.get_by_role("switch", name="Residual").is_checked() is False
    page.go_back()
    until(page, lambda: sentence(page, "neither").startswith("Step 2: "), "the same two steps")
    assert row(page) == 2


def test_on_a_phone_each_of_the_four_stands_under_its_name(visitors):
    page = visitors("/", **PHONE)
    until(page, lambda: page.locator(".stage-digits li").count() == 40, "forty digits")
    placed = page.locator(".stage-heading, .stage-stack, .stage-curve, .stage-digits").evaluate_all(
        "els => els.map((el) => [el.getBoundingClientRect().top, el.tagName.toUpperCase()])"
    )
    assert [tag for _, tag in sorted(placed)] == ["H3", "DIV", "SVG", "FIGURE"] * 4


def guess(page, cell: str, option: str) -> None:
    page.get_by_role("group", name=f"Your guess: {cell}").get_by_role("radio", name=option).check()


def curve(page, cell: str):
    """The loss of one of the four."""
    return page.locator(f'.stage-curve[aria-label^="Loss, {cell}"]')


def answers(page, cell: str):
    """The ten digits of one of the four."""
    return page.get_by_role("figure").filter(has=page.get_by_role("list", name=f"Ten digits, {cell}"))


def sentence(page, cell: str) -> str:
    """What is said of one of the four."""
    return page.locator(".stage-why span").nth(FOUR.index(cell)).inner_text()


@pytest.mark.parametrize("path", ["/", "/story", "/playground"])
@pytest.mark.parametrize("how", [{}, PHONE], ids=["wide", "phone"])
def test_next_to_nothing_moves_while_a_page_comes(visitors, path, how):
    page = visitors.tab(**how)
    page.add_init_script(f"({SHIFTS})()")
    page.goto(visitors.server.url + path)
    page.locator(".stage[data-draws]").first.wait_for()
    settled(page)
    assert page.evaluate("window.shifted") < 0.1
