"""Instruments in a real browser: an answer that comes later is drawn when it is there, a long one can be cancelled."""

from playwright.sync_api import expect

from tests.browser.page import button, chart, choose, drawn, link, press


def pill(page, name):
    """One of the row of instruments."""
    return page.get_by_role("radio", name=name, exact=True)


def opened(page, name):
    page.get_by_text("Look deeper").click()
    pill(page, name).click()
    page.get_by_role("heading", name=name).wait_for()


def test_an_opened_instrument_draws_what_was_measured_and_a_closed_one_is_gone(visitors):
    page = drawn(visitors(link()))
    opened(page, "Stream and branches")
    drawn(page, "Stream and branch by depth", "Branch over stream by depth", "Cosine by depth")
    page.get_by_text("Measured at step 0.").wait_for()
    press(page, "Step")
    page.get_by_text("Measured at step 1.").wait_for()
    pill(page, "Stream and branches").click()
    chart(page, "Stream and branch by depth").wait_for(state="detached")


def test_a_histogram_names_its_bins_where_they_lie(visitors):
    page = drawn(visitors(link()))
    opened(page, "Distributions")
    ticks = chart(drawn(page, "Histogram by depth"), "Histogram by depth").locator(".ytick text")
    assert ticks.all_text_contents() == ["≤ -6", "-3", "0", "3", "≥ 6"]


def test_a_long_measurement_says_how_far_it_is_and_can_be_cancelled(visitors):
    page = drawn(visitors(link(depth=48, width=64, batch=128)))
    opened(page, "Landscape")
    press(page, "Walk around")
    page.get_by_text("Measuring step 0").wait_for()
    press(page, "Cancel")
    button(page, "Walk around").wait_for()
    page.get_by_text("Measuring step 0").wait_for(state="detached")


def test_mixed_streams_are_followed_while_they_learn(visitors):
    page = drawn(
        visitors(link(arrangement="dynamic hyper-connections", depth=6, streams=2, mixing_noise=0.3, steps=40))
    )
    opened(page, "Streams and depth attention")
    drawn(page, "Mixing of the streams by depth", "Gain of the product by depth", "Mixing", "Product from the input on")
    numbers = chart(page, "Product from the input on").locator(".heatmaplayer text")
    before = numbers.all_text_contents()
    assert len(before) == 4
    press(page, "Step")
    page.get_by_text("Measured at step 1.").wait_for()
    choose(page, "Matrices of", "block 1")
    expect(chart(page, "Product from the input on").locator(".heatmaplayer text")).not_to_have_text(before)
    mixing = chart(page, "Mixing").locator(".heatmaplayer text").all_text_contents()
    expect(chart(page, "Product from the input on").locator(".heatmaplayer text")).to_have_text(mixing)


def test_depth_attention_maps_readers_to_sources(visitors):
    page = drawn(visitors(link(arrangement="attention residuals", depth=6)))
    opened(page, "Streams and depth attention")
    drawn(page, "Attention over depth")
    page.get_by_text("equal shares of all earlier outputs").wait_for()
    ticks = chart(page, "Attention over depth").locator(".ytick text").all_text_contents()
    assert ticks[-1] == "the head"
