"""The labs in a real browser: each opens, draws, fits a phone, and is readable in the dark."""

import re

import pytest

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
