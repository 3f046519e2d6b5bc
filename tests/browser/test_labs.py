"""The labs in a real browser: each opens, draws, fits a phone, and is readable in the dark."""

import re

import pytest

from tests.browser.page import drawn, press, settled, until, until_at_rest

LABS = {
    "normalization": "Normalisation",
    "gradients": "Gradients",
    "residual": "Residual",
    "attention": "Attention",
    "autoregression": "Autoregression",
}


@pytest.mark.parametrize("path", LABS)
def test_a_lab_opens_and_fits_a_phone_in_the_dark(visitors, path):
    page = visitors(f"/{path}", viewport={"width": 390, "height": 844}, color_scheme="dark")
    page.get_by_role("heading", level=1, name=LABS[path]).wait_for()
    page.locator("[data-testid=stMainBlockContainer]").get_by_text(re.compile("formula|measured")).first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.get_by_role("alert").count() == 0


def test_three_nets_of_one_page_are_trained_to_the_end(visitors):
    page = drawn(visitors("/residual"), "Branch share by block")
    page.get_by_role("slider", name="Blocks").press("Home")
    press(settled(page), "Train all three")
    until(page, lambda: "At step 200 " in page.get_by_role("main").inner_text(), "the last step of all three")
    until_at_rest(page)


def test_both_trained_nets_are_measured_at_the_step_shown(visitors):
    page = settled(visitors("/attention"))
    page.get_by_text("Inside trained nets", exact=True).click()
    steps = page.get_by_label("Training steps")
    steps.fill("20")
    steps.press("Enter")
    press(settled(page), "Train both")
    until(page, lambda: page.get_by_text("Measured at step 20.").count() >= 3, "both places and the longer texts, measured")
