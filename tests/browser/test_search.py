"""The search in a real browser: by key and by thumb, opened, left, found again, and out of everybody's way."""

import pytest
from playwright.sync_api import expect

from tests.browser.page import PAGES, PHONE, address, laid_out, settled, until
from tests.browser.test_access import in_both_themes

QUESTION = "why layer norm not batch norm"


def box(page):
    return page.get_by_role("dialog", name="Search")


def field(page):
    return box(page).get_by_role("searchbox", name="Search")


def opener(page):
    return page.get_by_role("button", name="Search", exact=True)


def heading(page, name: str):
    return page.get_by_role("heading", name=name, exact=True)


@pytest.mark.first
def test_an_answer_is_typed_for_opened_and_found_again(visitors):
    page = visitors("/")
    settled(page).keyboard.press("/")
    field(page).press_sequentially(QUESTION)
    result = box(page).get_by_role("link").first
    expect(result).to_contain_text("Layer norm vs. batch norm")
    expect(result).to_contain_text("lesson")
    until(page, lambda: address(page) == "/?q=why+layer+norm+not+batch+norm", "the question in the address")
    page.keyboard.press("Enter")
    page.get_by_text("4. Layer norm vs. batch norm.").wait_for()
    expect(box(page)).to_be_hidden()
    assert address(page) == "/lessons?lesson=batch"
    settled(page).go_back()
    expect(field(page)).to_have_value(QUESTION)
    expect(result).to_contain_text("Layer norm vs. batch norm")
    assert address(page).startswith("/?q=why")
    page.reload()
    expect(field(page)).to_have_value(QUESTION)
    other = visitors(address(page))
    expect(box(other).get_by_role("link").first).to_contain_text("Layer norm vs. batch norm")
    settled(other).keyboard.press("Escape")
    expect(box(other)).to_be_hidden()
    until(other, lambda: address(other) == "/", "an address without the question")


def test_an_older_link_to_a_search_opens_this_one(visitors):
    page = visitors("/claims?search=warm-up&topic=norms")
    expect(field(page)).to_have_value("warm-up")
    until(page, lambda: address(page) == "/claims?topic=norms&q=warm-up", "the search in the address")


def test_on_a_phone_a_button_opens_it(visitors):
    page = settled(visitors("/playground", **PHONE))
    size = opener(page).bounding_box()
    assert min(size["width"], size["height"]) >= 44
    opener(page).tap()
    field(page).fill("kv cache")
    box(page).get_by_role("link").first.tap()
    expect(heading(page, "Autoregression")).to_be_visible()
    expect(page.get_by_role("tab", name="KV cache")).to_have_attribute("aria-selected", "true")


@pytest.mark.parametrize("how", [{}, PHONE], ids=["wide", "phone"])
def test_a_setting_is_shown_where_it_stands(visitors, how):
    page = settled(visitors("/", **how))
    opener(page).click()
    field(page).fill("qk-norm on queries and keys")
    box(page).get_by_role("link").filter(has_text="setting").first.click()
    expect(page.get_by_test_id("stSidebar").locator(".st-key-qk_norm")).to_be_in_viewport(ratio=0.9)


def test_an_instrument_opens_on_the_net_that_is_shown(visitors):
    page = settled(visitors("/playground?depth=3&width=16"))
    opener(page).click()
    field(page).fill("which block can be taken out")
    box(page).get_by_role("link").filter(has_text="instrument").first.click()
    expect(page.get_by_role("main").get_by_text("Which block can be taken out without harm?").last).to_be_visible()
    assert {"depth=3", "instrument=surgery"} <= set(address(page).partition("?")[2].split("&"))


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ('"NEAR(*:^', "8 results."),
        ("the of", "These words stand nearly everywhere"),
        ("残" * 10_000, "Only the first 200 characters were searched."),
        ("<img src=x onerror=alert(1)>", "8 results."),
    ],
)
def test_hostile_words_are_answered_by_a_sentence(visitors, typed, sentence):
    page = settled(visitors("/glossary"))
    opener(page).click()
    field(page).fill(typed)
    expect(box(page).get_by_role("status")).to_contain_text(sentence)
    expect(box(page).locator("img")).to_have_count(0)
    page.reload()
    expect(box(page).get_by_role("status")).to_contain_text(sentence)


def test_axe_finds_nothing_serious_in_the_open_search(visitors):
    page = visitors("/glossary?q=loss+is+nan")
    box(page).get_by_role("link").first.wait_for()
    assert in_both_themes(page) == []


def test_typed_letters_open_no_search_and_leave_the_page(visitors):
    page = settled(visitors("/glossary"))
    page.get_by_role("combobox", name="Term").press("/")
    expect(box(page)).to_be_hidden()


@pytest.mark.parametrize("path", ["/playground?hide=eps", "/lessons?hide=answers", "/story?view=projector"])
def test_what_a_teacher_hides_is_not_searched(visitors, path):
    page = settled(visitors(path))
    expect(opener(page)).to_have_count(0)
    page.keyboard.press("/")
    expect(box(page)).to_have_count(0)


@pytest.mark.parametrize("how", [{}, PHONE], ids=["wide", "phone"])
def test_the_button_lies_over_nothing(visitors, how):
    for path in PAGES:
        page = settled(visitors(path, **how))
        copy = page.get_by_role("button", name="Copy link")
        bar = page.get_by_test_id("stExpandSidebarButton" if how else "stTopNavLink")
        laid_out(page, opener(page), copy, *(part for part in bar.all() if part.is_visible()))
        page.close()
