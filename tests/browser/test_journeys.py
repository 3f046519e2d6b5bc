"""Paths of real people through the app, from the first address to what they came for, by names and visible words only.

Each stands on `Person`, who complains of red boxes, of a programmer's words and of an address that is not the page's.
"""

import re
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import expect

from models.claims.claims import CLAIMS
from models.lessons.lessons import LESSONS as ALL_LESSONS
from tests.browser.page import PHONE, until
from tests.browser.person import PAGES, TRAIN, Person

STEPS = 40
SMALL = f"depth=4&width=16&batch=16&steps={STEPS}"
COMPARED = f"a={quote(SMALL)}&b={quote(SMALL + '&residual=false')}"
DRAWN = "Weights and samples"  # stands on the playground once there is something of the net to show
SLOW = "depth=24&width=64&batch=64&steps=1500"  # a run that is not over while somebody looks at it
OWN = {"viewport": {"width": 1280, "height": 800}}  # another browser than everybody else's


@pytest.fixture
def person(visitors):
    """Makes a person who comes to a page by an address; `fears` as in Person, the rest is the browser's."""

    def comes(name, query="", *, fears="", **how):
        return Person(visitors(f"{PAGES[name][0]}?{query}".rstrip("?"), **how), fears).arrives(name)

    return comes


LESSONS = {  # title, the guess that is right, and what passes the challenge
    "7. Why the final norm": ("more than three times as much", lambda student: student.types("Branch scale", "0.1")),
    "11. After the plain sum": (
        "in all but attention residuals",
        lambda student: student.types("Sinkhorn iterations", "20"),
    ),
}

GUESS = "This is my guess"  # stands on a lesson without one; the titles of all lessons stand on each


def does(student: Person, title: str) -> None:
    """A lesson from its guess to its challenge."""
    guess, solve = LESSONS[title]
    student.picks(guess)
    student.presses(GUESS)
    student.presses(re.compile("^Train (both|all)"), "Your guess was right", "Challenge")
    solve(student)
    student.presses("Train the attempt", "Passed.")
    student.unfolds("Your progress")
    student.reads(f"{title}. Guess: {guess} (right)")


def test_a_student_does_a_lesson_goes_on_and_comes_back(person):
    student = person("Lessons", "lesson=final", fears="loss")  # what a challenge still lacks is a warning
    first, newest = LESSONS
    does(student, first)
    student.presses(re.compile("^Next: "), GUESS)
    student.goes_back("Lessons", "Passed.")
    assert student.address == "/lessons?lesson=final"
    student.tab.reload()
    student.arrives("Lessons", f"1 of {len(ALL_LESSONS)} guessed, 1 solved", "Your guess", "This browser keeps it")
    student.tab.goto(student.tab.evaluate("location.origin") + "/residual")  # an address that was typed
    student.arrives("Residual")
    student.follows(
        "Lesson " + newest.replace(".", ":"), "Lessons", f"1 of {len(ALL_LESSONS)} guessed, 1 solved", GUESS
    )
    does(student, newest)
    person("Lessons").reads(f"2 of {len(ALL_LESSONS)} guessed, 2 solved")
    person("Lessons", **OWN).reads(f"0 of {len(ALL_LESSONS)} guessed, 0 solved")


# Marks every step of the tour as done.
DONE = """() => {
    const item = JSON.parse(localStorage.addnorm)
    for (const step of ["start", "story", "break", "lesson"]) item.entries[`tour.${step}`] = true
    localStorage.addnorm = JSON.stringify(item)
}"""


def test_who_comes_alone_is_shown_the_way_and_goes_on_where_they_left_off(person):
    visitor = person("Start")
    tour = visitor.tab.get_by_role("navigation", name="Five-minute tour")
    expect(tour).to_contain_text("1 of 4")
    tour.get_by_role("link", name="Next: the story, scene by scene").click()
    visitor.arrives("The story")
    assert visitor.address == "/story?scene=1"
    visitor.tab.get_by_role("navigation", name="Scenes").get_by_role("link", name="4").click()
    kept = "JSON.parse(localStorage.addnorm ?? '{}').entries?.['tour.story']"
    until(visitor.tab, lambda: visitor.tab.evaluate(kept) is True, "four scenes that were seen")
    visitor.goes("Glossary")
    expect(tour).to_be_hidden()
    visitor.goes("Start")
    visitor.tab.reload()
    visitor.arrives("Start")
    tour.get_by_role("link", name="Continue: break a net").click()
    expect(tour).to_contain_text("3 of 4: break a net")
    expect(visitor.main.get_by_role("heading", name="Break it yourself")).to_be_in_viewport()
    visitor.main.get_by_role("switch", name="norm", exact=True).click()
    until(visitor.tab, lambda: "norm=none" in visitor.address, "the net in the address")
    visitor.goes("Lessons")
    kept = kept.replace("story", "break")
    until(visitor.tab, lambda: visitor.tab.evaluate(kept) is True, "a net that was broken")
    tour.get_by_role("link", name="Next: guess, and train four nets").click()
    visitor.arrives("Start")
    expect(tour).to_contain_text("1 of 4")
    visitor.tab.evaluate(DONE)
    visitor.tab.reload()
    visitor.arrives("Start")
    expect(tour).to_contain_text("The tour is done.")
    tour.get_by_role("button", name="Leave the tour").click()
    expect(tour).to_be_hidden()
    visitor.tab.reload()
    visitor.arrives("Start")
    expect(tour).to_be_hidden()
    expect(person("Start", **OWN).tab.get_by_role("navigation", name="Five-minute tour")).to_be_visible()
    for apart in ("view=projector", "hide=verdict"):
        other = person("Start", apart, **OWN)
        expect(other.tab.get_by_role("navigation", name="Five-minute tour")).to_be_hidden()


@pytest.mark.first
def test_from_start_to_playground_anatomy_and_compare_and_back_with_nothing_touched(person):
    visitor = person("Start")
    for name in ("Playground", "Anatomy", "Compare"):
        visitor.goes(name)
    for name in ("Anatomy", "Playground", "Start"):
        visitor.goes_back(name)
    visitor.goes("Playground", "This network", "pre-norm")
    visitor.follows("Take the block apart", "Anatomy", "LayerNorm(")
    visitor.follows("Train it in the playground", "Playground", "pre-norm")
    visitor.goes("Anatomy", "LayerNorm(").goes("Playground", "pre-norm", DRAWN).reloads("pre-norm")


@pytest.mark.first
def test_a_net_is_broken_and_the_remedy_that_is_offered_mends_it(person):
    visitor = person("Playground", f"depth=16&width=16&batch=32&steps={STEPS}&init_gain=2").reads("This network")
    visitor.chooses("Norm", "none")
    visitor.reads("residual only")
    visitor.presses(TRAIN, "Diverged at step").rests()
    broken = visitor.address
    assert "norm=none" in broken
    remedy = visitor.main.get_by_role("button", name=re.compile("^Try "))
    expect(remedy).to_be_in_viewport(ratio=1)
    for button in (remedy, visitor.main.get_by_role("button", name=TRAIN, exact=True)):
        button.click()  # the second before the page has heard of the first
    until(visitor.tab, lambda: visitor.address != broken, "the address of the remedy")
    until(visitor.tab, lambda: visitor.step == STEPS, "the remedy's last step")
    visitor.rests().reads("done", f"Step {STEPS}: loss")
    assert "Diverged" not in visitor.says
    mended = visitor.address
    visitor.goes_back("Playground")
    until(visitor.tab, lambda: visitor.address == broken, "the broken net's address")
    compared = f"a={quote(urlsplit(broken).query)}&b={quote(urlsplit(mended).query)}"
    comparison = person("Compare", compared).reads("differs")
    comparison.presses("Train all", "Diverged at step").rests("Train all")
    comparison.reads("Diverged at step", f"step {STEPS}")


def test_a_link_with_a_digest_says_elsewhere_that_the_same_came_out(person):
    author = person("Playground", SMALL + "&seed=31").trains(last=STEPS)
    author.unfolds("Export and share")
    author.reads("with a digest of the numbers")
    link = urlsplit(author.tab.get_by_role("code").filter(has_text="digest=").inner_text().strip())
    reader = person("Playground", link.query, **OWN)
    reader.reads("Same result:")
    reader.reloads("Same result:")
    reader.goes("Glossary").goes_back("Playground", "Same result:")


def test_a_map_is_chosen_and_shared_and_one_of_its_cells_is_opened_in_the_playground(person):
    visitor = person("Maps").reads("Click a cell to select it")
    visitor.chooses("Map", "Six arrangements")
    visitor.reads("Sensitivity to the learning rate")
    named = visitor.combobox("Map").input_value()
    visitor.reloads("Sensitivity to the learning rate")
    second = person("Maps", urlsplit(visitor.address).query)
    expect(second.combobox("Map")).to_have_value(named)
    visitor.goes("Start").goes("Maps", "Sensitivity to the learning rate")
    expect(visitor.combobox("Map")).to_have_value(named)
    for select, option in (("Cell: arrangement", "post-norm"), ("Depth", "8")):
        before = visitor.address
        visitor.chooses(select, option)
        until(visitor.tab, lambda before=before: visitor.address != before, f"the address of {option}")
    visitor.reads().follows("Open this run in the playground", "Playground", "This network", "post-norm")
    expect(visitor.slider("Depth")).to_have_value("8")
    visitor.goes_back("Maps", "Sensitivity to the learning rate")
    expect(visitor.combobox("Cell: arrangement")).to_have_value("post-norm")


def test_every_control_of_the_sidebar_is_moved_once_and_back_undoes_each(person):
    visitor = person("Playground", SMALL).reads(DRAWN).folds("Network")
    visitor.combobox("Activation").wait_for()
    moves = (
        ("Residual", visitor.turns),
        ("Placement", lambda name: visitor.chooses(name, "post-norm")),
        ("Norm", lambda name: visitor.chooses(name, "rms norm")),
        ("Activation", lambda name: visitor.chooses(name, "tanh")),
        ("Initialisation", lambda name: visitor.chooses(name, "he")),
        ("Depth", lambda name: visitor.slider(name).press("ArrowRight")),
        ("Width", lambda name: visitor.slider(name).press("ArrowRight")),
        ("spiral", visitor.picks),
        ("Arrangement", lambda _: visitor.arranges("sandwich")),
        ("transformer", visitor.picks),
    )
    seen = []
    for name, move in moves:
        seen.append((visitor.address, visitor.choices))
        move(name)
        until(visitor.tab, lambda: visitor.address != seen[-1][0], f"an address after {name}")
        visitor.reads(DRAWN)
    for before, chosen in reversed(seen):
        visitor.goes_back("Playground")
        until(visitor.tab, lambda before=before: visitor.address == before, f"{before} after Back")
        visitor.has_chosen(chosen)
    visitor.folds("Network").reloads()


@pytest.mark.first
def test_on_a_phone_a_net_is_trained_scrubbed_and_looked_into(person):
    visitor = person("Playground", SMALL + "&seed=32", **PHONE).trains(last=STEPS).reads("done")
    assert visitor.scrubs("Home") == 0
    visitor.folds("Look deeper").picks("Stream and branches")
    visitor.reads("Measured at step 0.")
    expect(visitor.tab.get_by_role("heading", name="Stream and branches")).to_be_visible()
    assert visitor.tab.evaluate("document.documentElement.scrollWidth") <= PHONE["viewport"]["width"]
    visitor.presses("Step", "Measured at step 1.")


def test_the_navigation_stands_still_between_pages(person):
    visitor, seen = person("Start"), {}
    pages = list(PAGES)
    for name in ("Start", *pages[1:], *pages[-2::-1], "Labs", "Start"):
        visitor.goes(name)
        link = visitor.tab.get_by_role("navigation", name="App pages").get_by_role("link", name="Labs", exact=True)
        seen[name] = link.bounding_box()["x"]
        assert link.get_attribute("aria-describedby") is None  # a tip would hang over the title until the mouse moves
    assert len(set(seen.values())) == 1, seen


def test_a_comparison_is_come_back_to_changed_and_kept(person):
    visitor = person("Compare", COMPARED)
    visitor.goes("Glossary").goes("Compare", "Residual").goes("Maps").goes_back("Compare", "Residual")
    visitor.picks("B")
    visitor.chooses("Norm", "none")
    visitor.reads("none")
    visitor.picks("all")
    expect(visitor.tab.get_by_text("Norm: layer norm (A), none (B)", exact=True)).to_be_visible()
    visitor.slider("Seeds").press("ArrowRight")
    visitor.reads("2 seeds")
    visitor.reloads("2 seeds", "none")
    visitor.trains("Train all", last=STEPS)
    second = person("Compare", urlsplit(visitor.address).query)
    second.has_chosen(visitor.choices)


def test_columns_come_and_go_without_moving_others(person):
    visitor = person("Compare", COMPARED).trains("Train all", last=STEPS).reads(f"At step {STEPS}")
    visitor.presses("Add a column", f"At step {STEPS}", "; C ")
    assert visitor.step == STEPS
    visitor.reads(f"step {STEPS} of {STEPS}")
    visitor.goes_back("Compare", f"step {STEPS} of {STEPS}", f"At step {STEPS}")
    assert "; C " not in visitor.says
    visitor.reloads(f"step {STEPS} of {STEPS}", f"At step {STEPS}")


def test_a_residual_is_switched_while_the_net_trains_and_back_and_nothing_trained_is_lost(person):
    visitor = person("Playground", SLOW)
    visitor.presses(TRAIN)
    until(visitor.tab, lambda: visitor.step > 5, "a run that plays")
    visitor.turns("Residual")
    until(visitor.tab, lambda: visitor.step == 0, "the net without residuals")
    visitor.rests().turns("Residual")
    until(visitor.tab, lambda: visitor.step > 5, "the step at which it was left")
    left = visitor.rests().step
    visitor.turns("Residual")
    until(visitor.tab, lambda: visitor.step == 0, "the net without residuals")
    visitor.rests()  # until then the button steps the run that is left
    visitor.presses("Step", "step 1 of 1500")
    visitor.turns("Residual")
    visitor.reads(f"step {left} of 1500", f"Step {left}: loss").rests()


def test_a_finished_run_outlives_a_reload_in_its_own_tab_alone(person):
    visitor = person("Playground", SMALL + "&seed=38").trains(last=STEPS)
    visitor.reloads(f"step {STEPS} of {STEPS}", f"Step {STEPS}: loss")
    assert visitor.step == STEPS
    visitor.presses("Reset", "Now train it")
    visitor.reloads("Now train it")
    assert visitor.step == 0
    other = person("Playground", SMALL + "&seed=38", **OWN).reads(DRAWN)
    assert other.step == 0


def test_compare_and_anatomy_begin_with_the_net_of_the_playground_until_another_is_chosen_there(person):
    visitor = person("Playground", SMALL).reads(DRAWN)
    visitor.goes("Compare", "A is the network from the playground.", "Residual")
    assert "depth%3D4" in visitor.address
    visitor.goes("Playground", DRAWN).folds("Network")
    visitor.chooses("Activation", "tanh")
    until(visitor.tab, lambda: "activation=tanh" in visitor.address, "the address of the change")
    visitor.goes("Anatomy", "playground's net", "tanh").goes("Compare", "A is the network from the playground.")
    assert visitor.address.count("activation%3Dtanh") == 2
    visitor.picks("B")
    visitor.chooses("Norm", "none")
    until(visitor.tab, lambda: "norm%3Dnone" in visitor.address, "an address of the visitor's own")
    kept = visitor.address
    visitor.goes("Playground", DRAWN)
    visitor.chooses("Activation", "gelu")
    until(visitor.tab, lambda: "activation=gelu" in visitor.address, "the address of the change")
    visitor.goes("Compare", "differs")
    assert visitor.address == kept
    assert "from the playground" not in visitor.says
    other = person("Compare", COMPARED).reads("differs")
    assert "from the playground" not in other.says


def test_no_empty_sidebar_stays_where_a_list_of_it_was_opened_before(person):
    visitor = person("Compare", COMPARED).reads("differs")
    visitor.tab.get_by_role("combobox", name="Prepared comparison").click()
    visitor.tab.get_by_role("option").first.wait_for()
    visitor.tab.keyboard.press("Escape")
    visitor.goes("Common claims", f"{len(CLAIMS)} of {len(CLAIMS)} claims")
    expect(visitor.tab.get_by_test_id("stSidebar")).to_be_hidden()
    visitor.goes("Compare", "differs")
    expect(visitor.tab.get_by_test_id("stSidebar")).to_be_visible()


def test_a_common_error_is_chosen_run_and_judged(person):
    visitor = person("Common claims")
    visitor.picks("33. The mean over seeds shows a typical net.")
    visitor.reads("True or false?")
    assert "What is true" not in visitor.says
    visitor.picks("false")
    visitor.presses("Run", "You were right: the claim fails.", "What is true")
    visitor.tab.reload()
    visitor.arrives("Common claims", "The mean over seeds shows a typical net.")
    assert "claim=" in visitor.address


def test_a_paper_is_chosen_by_its_topic_run_and_judged(person):
    visitor = person("Papers")
    visitor.chooses("Topic", "attention")
    visitor.picks("Attention without skips makes all tokens alike, doubly exponentially with depth.")
    visitor.reads("The paper says.", "What the toy cannot show.")
    assert "Holds here" not in visitor.says
    visitor.presses("Run it here", "Holds in part.", "Distance of the tokens from their mean")
    visitor.tab.reload()
    visitor.arrives("Papers", "Attention without skips")
    assert "paper=rank-collapse" in visitor.address


def test_a_block_is_changed_trained_and_come_back_to(person):
    visitor = person("Anatomy", SMALL + "&seed=36")
    visitor.presses("Block 2: residual, norm")
    visitor.tab.get_by_role("button", name="Block 2: residual, norm", pressed=True).wait_for()
    visitor.turns("Residual in this block")
    changed = visitor.tab.get_by_role("button", name="Block 2: no residual, norm")
    changed.wait_for()
    visitor.follows("Train it in the playground", "Playground").trains(last=STEPS).reads("done")
    visitor.goes_back("Anatomy")
    changed.wait_for()
    visitor.reloads()
    visitor.presses("Restore all blocks")
    visitor.tab.get_by_role("button", name="Block 2: residual, norm").wait_for()


def test_two_tabs_of_one_browser_keep_their_own_nets(person):
    one, other = person("Playground", SMALL + "&seed=37"), person("Playground", SMALL + "&seed=37&residual=false")
    one.trains(last=STEPS)
    other.chooses("Norm", "none")
    one.folds("Network").chooses("Activation", "tanh")
    other.folds("Network")
    for tab, norm, activation in ((one, "layer norm", "tanh"), (other, "none", "relu")):
        tab.goes("Anatomy").goes("Playground")
        expect(tab.combobox("Norm")).to_have_value(norm)
        expect(tab.combobox("Activation")).to_have_value(activation)
        tab.reads(DRAWN).folds("Network").reloads()
