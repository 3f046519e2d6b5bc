"""The labs in a real browser: nets are trained to their end, left, and found again where they were."""

import pytest
from playwright.sync_api import expect

from tests.browser.page import (
    address,
    drawn,
    line,
    press,
    row,
    scrubber,
    settled,
    text,
    until,
    until_at_rest,
    until_line,
    until_row,
)
from tests.browser.person import Person


@pytest.mark.parametrize("path", ["/attention", "/residual?part=A+whole+block"])
def test_no_table_is_cut_beside_others(visitors, path):
    page = settled(visitors(path, viewport={"width": 1400, "height": 900}))
    for summary in page.locator(".stMain details:not([open]) > summary").all():
        if summary.is_visible():
            summary.click()
    tables = settled(page).locator(".dvn-scroller:visible")
    expect(tables.nth(7)).to_be_attached()
    cut = "els => els.filter((el) => el.scrollWidth > el.clientWidth + 1).length"
    assert tables.evaluate_all(cut) == 0


def test_a_part_of_the_map_is_touched_by_mouse_and_key_and_leads_to_its_lab(visitors):
    visitor = Person(settled(visitors("/"))).arrives("Start").goes("Labs", "5 sublayers, 5 norms")
    part = visitor.main.get_by_role("button", name="cross-attention")
    part.click()
    visitor.reads("Queries come from the decoder")
    expect(part).to_have_attribute("aria-pressed", "true")
    visitor.main.get_by_role("button", name="× N").first.press("Enter")
    visitor.tab.wait_for_url("**box=n")
    visitor.reads("The block is repeated")
    part.press(" ")
    visitor.reads("Queries come from the decoder").follows("Encoder and decoder", "Attention", "An encoder reads")
    visitor.goes_back("Labs", "Queries come from the decoder")


def test_three_nets_of_one_page_are_trained_to_the_end(visitors):
    page = drawn(visitors("/residual?part=trained-nets"), "Branch share by block")
    page.get_by_role("slider", name="Blocks").press("Home")
    page.wait_for_url("**depth=2**")
    before = [0, 0]
    until_line(page, "Branch share by block", before)
    press(settled(page), "Train all three")
    until(page, lambda: 0 < row(page) < 200 and line(page, "Branch share by block") != before, "shares that move")
    until_row(page, 200)
    page.get_by_text("At step 200 the branches add").wait_for()
    until_at_rest(page)
    press(page, "Reset")
    page.get_by_text("At step 0 the branches add 0 of the stream").wait_for()
    until_line(page, "Branch share by block", before)


def test_trained_nets_are_found_from_the_first_page_left_and_come_back_to_where_they_were(visitors):
    visitor = Person(settled(visitors("/"))).arrives("Start").goes("Attention")
    visitor.picks("Positions in trained nets")
    visitor.types("Training steps", "20")
    visitor.tab.wait_for_url("**steps=20**")
    press(settled(visitor.tab), "Train both")
    visitor.reads("Measured at step 20 (with residuals).")
    visitor.goes("Residual").goes_back("Labs").goes_back(
        "Attention", "At step 20 the loss is", "Measured at step 20 (with residuals)."
    )
    assert row(visitor.tab) == 20
    visitor.reloads("At step 0 the loss is")


def test_the_text_is_rewritten_while_the_net_learns_and_by_the_playhead(visitors):
    page = settled(visitors("/autoregression?depth-book=1&steps-book=100"))
    page.get_by_text("At step 0, untrained, the net writes:").wait_for()
    first = text(page)
    press(page, "Train the transformer")
    until_row(page, 100)
    page.get_by_text("At step 100 the net writes:").wait_for()
    last = text(page)
    assert len(last) == len("Call me Ish") + 48
    assert len(set(last) & set(first[11:])) < len(set(last))
    scrubber(page).press("Home")
    page.get_by_text("At step 0, untrained, the net writes:").wait_for()
    assert text(page).startswith(first)
    scrubber(page).press("End")
    page.get_by_text("At step 100 the net writes:").wait_for()
    assert text(page) == last
    assert page.get_by_role("list", name='Likeliest next after "Call me Ish"').get_by_role("listitem").count() == 5


def test_a_pressed_number_of_the_whole_block_shows_its_terms(visitors):
    page = drawn(visitors("/residual?part=a-whole-block"), "Token 1")
    page.get_by_text("norm 1, token 2, number 1, from sum 1:").wait_for()
    cell = page.get_by_text("0.75", exact=True).first  # the second entry of token 1's query
    terms = page.get_by_text("Q, token 1, number 2, from x and W_Q: 1·0 + 1·1 + 0.5·0 + 0.5·-0.5 = 0.75")

    def pressed() -> bool:
        """Presses the cell; a press while the chart is being drawn comes to nothing."""
        if not terms.is_visible():
            box = cell.bounding_box()
            page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            page.wait_for_timeout(2000)
        return terms.is_visible()

    until(page, pressed, "the terms of the number pressed")
    until(page, lambda: "operation=q" in address(page), "its operation in the address")
