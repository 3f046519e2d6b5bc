"""What a visitor tried on the playground: a strip of nets, each laid over the present run at the step of the playhead."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.page import (
    NAMES,
    PHONE,
    PROFILES,
    arrange,
    chart,
    drawn,
    line,
    link,
    press,
    row,
    scrubber,
    settled,
    train,
    until,
)


def strip(page):
    return page.get_by_role("group", name="What I tried")


def over(page, name):
    """The button that lays a net over the present run."""
    return strip(page).get_by_role("button", name=re.compile(rf"^{name}, step"))


def residual(page):
    settled(page).get_by_text("Residual", exact=True).click()


@pytest.fixture
def compared(visitors):
    """A page with a trained net that was left, and another one."""
    page = train(drawn(visitors(link(seed=71))))
    trained = {name: line(page, name) for name in (*PROFILES, "Loss")}
    residual(page)
    expect(over(page, "pre-norm")).to_have_attribute("aria-pressed", "true")
    return page, trained


def test_the_previous_run_lies_over_at_every_step(compared):
    page, trained = compared
    until(page, lambda: line(page, "Signal by depth", "dot") not in ([], trained["Signal by depth"]), "its step 0")
    expect(over(page, "pre-norm")).to_have_accessible_name("pre-norm, step 60")
    train(page)
    until(page, lambda: line(page, "Signal by depth", "dot") == trained["Signal by depth"], "its step 60")
    assert line(page, "Gradient by depth", "dot") == trained["Gradient by depth"]
    assert line(page, "Loss", "dot") == pytest.approx(trained["Loss"])
    assert "previous: pre-norm, step 60" in chart(page, "Signal by depth").evaluate(NAMES)
    over(page, "pre-norm").click()
    until(page, lambda: not line(page, "Signal by depth", "dot"), "no other curve")
    until(page, lambda: not line(page, "Loss", "dot"), "no other loss")
    expect(over(page, "pre-norm")).to_have_attribute("aria-pressed", "false")
    assert row(page) == 60
    over(page, "pre-norm").click()
    until(page, lambda: line(page, "Signal by depth", "dash") == trained["Signal by depth"], "the pressed net")
    assert row(page) == 60
    scrubber(page).press("Home")
    until(
        page, lambda: line(page, "Signal by depth", "dash") != trained["Signal by depth"], "the pressed net at step 0"
    )


def test_a_run_that_ended_before_says_so(visitors):
    page = train(drawn(visitors(link(seed=72, steps=20))), 20)
    residual(page)
    train(page, 20)
    over(page, "pre-norm").click()
    settled(page).get_by_text("Training", exact=True).click()
    steps = page.get_by_role("spinbutton", name="Steps")
    steps.fill("50")
    steps.press("Enter")
    page.wait_for_url("**steps=50**")
    expect(over(page, "steps 20")).to_have_attribute("aria-pressed", "true")
    train(page, 50)
    until(
        page,
        lambda: "previous: steps 20: ended at step 20" in chart(page, "Signal by depth").evaluate(NAMES),
        "why it has no curve",
    )
    expect(strip(page).get_by_role("status")).to_contain_text("came to step 20 and has no curve at step 50")
    assert len(line(page, "Loss", "dot")) == 21


def test_tried_nets_outlast_other_pages_and_back(compared):
    page, _ = compared
    page.get_by_role("link", name="Compare", exact=True).click()
    page.get_by_role("heading", level=1, name="Compare").wait_for()
    page.get_by_role("link", name="Playground", exact=True).first.click()
    expect(over(drawn(page), "pre-norm")).to_have_attribute("aria-pressed", "true")
    page.go_back()
    page.get_by_role("heading", level=1, name="Compare").wait_for()
    page.go_back()
    expect(over(drawn(page), "pre-norm")).to_be_visible()


def test_a_tried_net_is_loaded_by_key(compared):
    page, trained = compared
    load = strip(page).get_by_role("button", name="Load pre-norm")
    over(page, "pre-norm").focus()
    page.keyboard.press("Tab")
    expect(load).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "residual" not in url)
    expect(page.get_by_role("switch", name="Residual", exact=True)).to_be_checked()
    expect(over(page, "residual off")).to_have_attribute("aria-pressed", "true")
    train(page)
    until(page, lambda: line(page, "Signal by depth") == trained["Signal by depth"], "the same run")


def test_a_net_of_another_task_says_why_not(visitors):
    page = drawn(visitors(link(seed=73)))
    page.get_by_role("radio", name="spiral", exact=True).click()
    page.wait_for_url("**task=spiral**")
    one = over(page, "task digits")
    expect(one).to_have_attribute("aria-disabled", "true")
    expect(one).to_have_attribute("title", re.compile("It learns digits, this net spiral"))
    one.click(force=True)
    assert line(settled(page), "Signal by depth", "dash") == []


@pytest.mark.parametrize("how", [{"color_scheme": "dark"}, PHONE])
def test_the_strip_fits_its_page(visitors, how):
    page = drawn(visitors(link(seed=74), **how))
    if how is PHONE:
        press(page, "Settings")
    for name in ("DeepNorm", "sandwich", "ReZero", "plain"):
        arrange(page, name)
        expect(page.get_by_role("button", name=f"Arrangement: {name}")).to_be_visible()
        settled(page)
    expect(strip(page).get_by_role("listitem")).to_have_count(4)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    if how is PHONE:
        for one in strip(page).get_by_role("button").all():
            assert one.bounding_box()["height"] >= 44
