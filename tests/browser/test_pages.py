"""The other pages in a real browser: the comparison trains on shared axes, a click on a block opens it."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.page import (
    PHONE,
    button,
    chart,
    drawn,
    laid_out,
    press,
    row,
    scrubber,
    settled,
    still,
    until,
    until_row,
)
from tests.browser.person import PAGES as NAMED

SMALL = "depth=3&width=16&batch=16&steps=40"


def test_columns_that_have_all_diverged_stop_at_the_last_end_and_say_where_each_ended(visitors):
    wild = "depth=20&width=16&batch=16&steps=40&norm=none&lr="
    page = drawn(visitors(f"/compare?a={quote(wild + '0.03')}&b={quote(wild + '1.0')}"))
    press(page, "Train all")
    status = page.locator(".player-status").filter(has_text="all have diverged: ")
    status.wait_for()
    steps = [int(step) for step in re.search(r"A at step (\d+), B at step (\d+)", status.inner_text()).groups()]
    assert steps[0] != steps[1]
    assert row(page) == max(steps)
    for label, step in zip("AB", steps, strict=True):
        page.locator(".player-headline").filter(has_text=f"{label} Diverged at step {step}").wait_for()
    crosses = "el => el.data.filter((trace) => trace.name === 'diverged').map((trace) => trace.x[0])"
    assert chart(page, "Loss").evaluate(crosses) == steps


def test_columns_share_a_scale_and_lead_back(visitors):
    page = drawn(visitors(f"/compare?a={quote(SMALL)}&b={quote(SMALL + '&init_gain=5&norm=none')}"))
    press(page, "Step")
    until_row(page, 1)
    until(page, lambda: page.locator(".player-stack canvas").evaluate_all(DIFFERENT) <= 4, "one scale")
    page.get_by_role("link", name="Open in the playground").last.click()
    page.wait_for_url("**/playground?**norm=none**")
    drawn(page)
    page.go_back()
    drawn(page)
    until_row(page, 1)


# How many points differ visibly between what stands beside the columns of two stacks, below the letter.
DIFFERENT = """(all) => {
    const [first, ...others] = all.map((one) => {
        const { width, height } = one, left = width - 68, top = 26
        return one.getContext("2d").getImageData(left, top, width - left, height - top).data
    })
    if (others.length === 0) return Number.POSITIVE_INFINITY
    return Math.max(...others.map((other) => other.filter((value, at) => Math.abs(value - first[at]) > 64).length))
}"""


def test_the_players_scripts_come_as_one(visitors):
    page = visitors.tab()
    addresses = []
    page.on("request", lambda request: addresses.append(request.url))
    page.goto(visitors.server.url)
    page.locator(".player-main:enabled").first.wait_for()
    ours = {address.rsplit("/", 1)[1] for address in addresses if "/player/" in address and "plotly" not in address}
    assert ours == {"player.js"}


def test_ten_digits_travel_on_the_start_page_and_answer_what_was_guessed(visitors):
    page = visitors("/")
    travel = page.get_by_role("figure", name="Ten unseen digits")
    outcomes = {
        "Neither": "they vanish",
        "Residual and norm": "they stay distinct",
        "Norm, no residual": "they merge",
        "Residual, no norm": "they fly out",
    }
    for net in ("Neither", "Residual and norm"):  # which play by themselves
        travel.get_by_role("img", name=re.compile(f"^{net}: .* after block 32 of 32; .*{outcomes[net]}")).wait_for()
    for net in ("Norm, no residual", "Residual, no norm"):
        travel.get_by_role("img", name=re.compile(f"^{net}: .* at the input")).wait_for()
        travel.get_by_role("listitem").filter(has_text=net).get_by_role("button", name="merge").click()
        travel.get_by_role("img", name=re.compile(f"^{net}: .* after block 32 of 32; .*{outcomes[net]}")).wait_for()
    travel.get_by_text("✓ After block 32 they merge (mean cosine 0.99), as you guessed.").wait_for()
    flown = "✗ After block 32 they fly out (similar, but still distinct; mean cosine 0.85); you guessed: merge."
    travel.get_by_text(flown).wait_for()
    travel.get_by_text("After block 32 they stay distinct (mean cosine 0.53).").wait_for()
    expect(travel.get_by_text("block 32 · ten digits: 470 times")).to_be_visible()
    page.reload()
    travel.get_by_text(flown).wait_for()
    block = travel.get_by_role("slider", name="Block shown")
    block.press("Home")
    block.press("ArrowRight")
    travel.get_by_role("img", name=re.compile("^Neither: .* after block 1 of 32")).wait_for()
    expect(travel.get_by_text(flown), "a sentence names its block, whichever is shown").to_be_visible()
    travel.get_by_role("button", name="Table of").click()
    assert travel.get_by_role("row").count() == 1 + 4 * 33
    travel.get_by_role("button", name="Play through the depth").click()
    travel.get_by_role("button", name="Pause").click()
    travel.get_by_role("button", name="Play through the depth").wait_for()


def test_the_start_page_trains_four_nets_after_one_button(visitors):
    page = visitors("/")
    until(page, lambda: at_step(page, "neither", 0), "the nets before training")
    press(page, "Train all four")
    until(page, lambda: "overflow at step" in curve(page, "residual, no norm").text_content(), "the net that diverges")
    button(page, "Pause").wait_for()
    assert page.get_by_role("heading", level=1).count() == 1
    until_row(page, 5)
    press(page, "Pause")
    button(page, "Train all four").wait_for()
    page.get_by_text("it blows up").wait_for()
    step = row(page)
    for name in ("residual and norm", "norm, no residual", "neither"):
        until(page, lambda name=name: at_step(page, name, step), f"the loss of {name}")
    scrubber(page).focus()
    page.keyboard.press("Home")
    until(page, lambda: at_step(page, "residual, no norm", 0), "the net before it diverged")
    press(page, "Train all four")
    for least in (100, 200, 300):  # four nets are trained at once: each hundred steps may take as long as any content
        until_row(page, least)
    page.get_by_text("Only the net with both learns").wait_for()
    page.get_by_text("it gets stuck").first.wait_for()
    expect(page.get_by_text("Guess, then train")).to_be_hidden()
    # The picture plays again, with the trained nets and what they answer.
    page.get_by_text(re.compile(r"block 32 · ten digits: .* 9 right")).wait_for()
    button(settled(page), "Reset").first.click()
    page.get_by_text("Guess, then train").wait_for()


SHIFTS = """() => {
    window.shifted = 0
    new PerformanceObserver((list) => {
        for (const { value } of list.getEntries()) window.shifted += value
    }).observe({ type: "layout-shift" })
}"""


@pytest.mark.parametrize(
    "how", [{}, PHONE, PHONE | {"viewport": {"width": 360, "height": 740}}], ids=["laptop", "phone", "narrow"]
)
def test_nothing_on_the_start_page_moves_while_the_four_train(visitors, how):
    page = visitors("/", **how)
    until(page, lambda: page.locator(".sample-paths .dot").count() == 40, "forty digits")
    settled(page).evaluate(SHIFTS)
    press(page, "Train all four")
    until(page, lambda: row(page) == 300, "the end")
    expect(page.get_by_text("Only the net with both learns")).to_be_visible()
    still(settled(page))
    assert page.evaluate("window.shifted") < 0.005


def test_who_comes_back_to_the_start_page_finds_it_where_it_was(visitors):
    page = visitors("/")
    step = button(page, "Step").first
    step.click()
    step.click()
    until(page, lambda: at_step(page, "neither", 2), "two steps")
    page.get_by_role("link", name="Open in the playground").click()
    drawn(page)
    page.go_back()
    until(page, lambda: at_step(page, "neither", 2), "the same two steps")
    assert row(page) == 2


def curve(page, cell: str):
    """The loss of one of the four."""
    return page.locator(f'.player-curve[aria-label^="Loss, {cell}"]')


def at_step(page, cell: str, step: int) -> bool:
    """Whether the loss of one of the four stands at a step."""
    return f" at step {step}," in (curve(page, cell).get_attribute("aria-label") or "")


@pytest.mark.parametrize("path", ["/", "/story", "/playground"])
@pytest.mark.parametrize("how", [{}, PHONE], ids=["wide", "phone"])
def test_next_to_nothing_moves_while_a_page_comes(visitors, path, how):
    page = visitors.tab(**how)
    page.add_init_script(f"({SHIFTS})()")
    page.goto(visitors.server.url + path)
    page.locator(".player[data-draws]").first.wait_for()
    settled(page)
    assert page.evaluate("window.shifted") < 0.1


def test_what_becomes_of_each_net_is_seen_below_its_digits_while_it_trains_without_scrolling(visitors):
    page = visitors("/")
    until(page, lambda: page.locator(".sample-paths .dot").count() == 40, "forty digits")
    press(settled(page), "Train all four")
    page.get_by_text("it blows up").wait_for()
    heads = (".sample-paths-net .player-heading", ".player-outcome .player-heading")
    names = [page.locator(one).all_inner_texts() for one in heads]
    assert names[0] == names[1], "one order"
    discs = [disc.bounding_box() for disc in page.locator(".sample-paths-net").all()]
    for kind in (".st-key-player_four .player-curve", ".player-outcome"):
        for disc, below in zip(discs, page.locator(kind).all(), strict=True):
            box = below.bounding_box()
            assert box["x"] <= disc["x"] + disc["width"] / 2 <= box["x"] + box["width"]
            assert disc["y"] + disc["height"] < box["y"] < box["y"] + box["height"] <= 720
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 0


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("/normalization?part=who-sees-whom", "Who sees whom"),
        ("/normalization?part=what-scale-costs#tanh-and-sigmoid", "tanh and sigmoid"),
        ("/normalization#formula-and-one-token-step-by-step", "Formula, and one token step by step"),
        (f"/playground?{SMALL}&instrument=health", "Health"),
    ],
)
def test_a_link_to_a_part_scrolls_to_it(visitors, path, part):
    page = visitors(path, viewport={"width": 1280, "height": 900})
    named = page.get_by_text(part, exact=True).last
    expect(named).to_be_in_viewport()
    expect(settled(page).locator("[data-testid=stMain]")).not_to_have_js_property("scrollTop", 0)
    expect(named).to_be_in_viewport()


def test_a_copied_link_leads_to_the_open_expander(visitors):
    page = settled(visitors("/normalization", viewport={"width": 1280, "height": 900}))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("summary").first.click()
    page.get_by_role("button", name="Copy link").click()
    page.get_by_role("button", name="Copied").wait_for()
    page.goto(page.evaluate("navigator.clipboard.readText()"))
    expect(page.locator("details[open] > summary").first).to_be_in_viewport()


def test_a_copied_link_of_a_run_names_no_heading(visitors):
    page = settled(visitors(f"/playground?{SMALL}"))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("link", name="Labs").click()
    page.wait_for_url("**/labs*")
    page.go_back()
    page.locator(".player[data-draws]").first.wait_for()
    settled(page).locator("[data-testid=stMain]").evaluate("pane => pane.scrollTo(0, 300)")
    page.get_by_role("button", name="Copy link").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.url


def test_the_columns_of_a_comparison_begin_a_row(visitors):
    nets = [quote(f"{SMALL}&seed={seed}") for seed in range(3)]
    page = settled(visitors(f"/compare?a={nets[0]}&b={nets[1]}&c={nets[2]}", viewport={"width": 1280, "height": 2400}))
    stacks = [page.get_by_role("group", name=f"Signal and gradient of {letter}") for letter in "ABC"]
    laid_out(still(page), *stacks)
    assert len({stack.bounding_box()["y"] for stack in stacks}) == 1


# By path: what is lit in the bar and, on a phone, in the drawer.
LIT = {path: (menu or name, "Labs" if menu == "Labs" else name) for name, (path, menu, _) in NAMED.items()}
LIT["/question"] = ("More", "Teacher")


def test_seven_entries_at_most_and_one_lit_on_every_page(visitors):
    page = visitors("/")
    for path, (entry, _) in LIT.items():
        page.goto(visitors.server.url + path)
        bar = settled(page).get_by_role("navigation", name="App pages")
        expect(bar.get_by_role("link").or_(bar.get_by_role("button"))).to_have_count(7)
        lit = page.get_by_role("banner").locator("[aria-current]")
        expect(lit, path).to_have_count(1)
        expect(lit, path).to_contain_text(entry)
        assert lit.evaluate("el => getComputedStyle(el).backgroundColor") == "rgba(187, 187, 165, 0.25)"


def test_the_drawer_of_a_phone_shows_all_pages_and_where_one_is(visitors):
    page = visitors("/", **PHONE)
    listed = {name for name, (_, menu, _) in NAMED.items() if menu != "Labs"}
    for path, (_, entry) in LIT.items():
        page.goto(visitors.server.url + path)
        settled(page).get_by_role("button", name="Expand sidebar").tap()
        bar = page.get_by_role("navigation", name="App pages")
        for name in listed:
            expect(bar.get_by_role("link", name=name, exact=True)).to_be_visible()
        assert min(one.bounding_box()["height"] for one in bar.get_by_role("link").all()) >= 44
        lit = bar.locator("[aria-current]")
        expect(lit, path).to_have_count(1)
        expect(lit, path).to_contain_text(entry)


def test_keys_open_a_menu_and_a_page_of_it(visitors):
    page = settled(visitors("/"))
    page.get_by_role("button", name="More", exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_role("menuitem", name="Anatomy").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="Maps").wait_for()
    expect(page.get_by_role("button", name="More", exact=True)).to_have_attribute("aria-current", "true")
