"""The labs in a real browser: nets are trained to their end, left, and found again where they were."""

import re

from playwright.sync_api import expect

from tests.browser.page import (
    button,
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


def test_both_trained_nets_are_measured_at_the_step_shown(visitors):
    page = settled(visitors("/attention"))
    page.get_by_text("Inside trained nets", exact=True).click()
    steps = page.get_by_label("Training steps")
    steps.fill("20")
    steps.press("Enter")
    page.wait_for_url("**steps=20**")
    press(settled(page), "Train both")
    until(
        page,
        lambda: page.get_by_text("Measured at step 20 (with").count() >= 3,
        "both places and the longer texts, measured",
    )


def test_trained_nets_are_found_from_the_first_page_left_and_come_back_to_where_they_were(visitors):
    visitor = Person(settled(visitors("/"))).arrives("Start").goes("Attention")
    visitor.picks("Inside trained nets")
    visitor.types("Training steps", "20")
    visitor.tab.wait_for_url("**steps=20**")
    press(settled(visitor.tab), "Train both")
    visitor.reads("Measured at step 20 (with residuals).")
    visitor.goes("Residual").goes_back("Attention", "At step 20 the loss is", "Measured at step 20 (with residuals).")
    assert row(visitor.tab) == 20
    visitor.reloads("At step 0 the loss is")


def test_a_net_that_trains_is_not_asked_to_speak_and_begins_at_the_prompt_where_it_rests(visitors):
    page = settled(visitors("/autoregression?depth-book=1&steps-book=200"))
    press(page, "Next token")
    page.get_by_text("At step 0 the net wrote 1 token after the prompt.").wait_for()
    press(settled(page), "Train the transformer")
    page.get_by_text("Pause to let the net at this step continue the prompt.").wait_for()
    expect(button(page, "Next token")).to_be_disabled()
    until_row(page, 200)
    page.get_by_text("At step 200 the right token gets").wait_for()
    expect(button(page, "Next token")).to_be_enabled()
    press(settled(page), "Next token")
    page.get_by_text("At step 200 the net wrote 1 token after the prompt.").wait_for()


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


def test_the_lab_opens_with_a_recorded_text_that_says_so_and_a_step_shows_the_nets_own(visitors):
    page = settled(visitors("/autoregression"))
    recorded = page.get_by_text("After 600 steps of training this net writes (recorded")
    recorded.wait_for()
    tab = page.get_by_role("tabpanel", name="Continue a prompt")
    expect(tab.get_by_text("This is the prompt. Press Next token or Generate.")).to_be_visible()
    expect(tab.get_by_text(re.compile("^Measured at step"))).to_have_count(0)
    before = text(page)
    press(page, "Step")
    page.get_by_text("At step 1 the net writes:").wait_for()
    expect(recorded).to_have_count(0)
    assert text(page) != before


def test_hovering_over_a_badge_says_by_what_its_number_was_made(visitors):
    page = settled(visitors("/gradients"))
    badge = page.get_by_role("link", name="formula").first
    expect(badge).to_have_attribute("title", "Computed from a formula, without a net.")
    assert badge.get_attribute("href").endswith("glossary?word=formula")
