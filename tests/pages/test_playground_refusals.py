"""Bad input and failure, without a browser: the page says it
in a sentence, offers a change that works, keeps its picture.
"""

import re
from dataclasses import asdict

import pytest
from streamlit.testing.v1 import AppTest

from components.player.view import failure_sentence
from models.insight.sentences import sentences_at
from models.service.client import trainer
from models.spec import RunConfig, knobs
from models.spec.budget import budget_refusal
from models.spec.overrides import display_value
from models.trace import site_in_words
from tests.app_page import (
    SMALL,
    address,
    configuration,
    labels,
    line,
    now,
    playground,
    press,
    sound,
    trained,
    tried,
    unfolded,
)
from tests.player_page import advance, declared, drawn_first, following, logs, panels, rests

# What a link may get wrong in other ways stands in `tests/spec/test_query.py`.
EVIL = {
    "markdown": {
        "task": "![x](http://evil)",
        "norm": "[a](javascript:alert(1))",
        "![x](http://evil/p)": "1",
        "init": "www.evil.com",
        "http://evil.com": "2",
        "placement": "**bold** `code` $x^2$ :red[x] # head",
    },
    "overrides": {"overrides": "9.<b>.x,1-9999.norm.none,![x](y).norm.none", "depth": "4"},
    "clashes": {
        "net": "transformer",
        "width": "24",
        "heads": "16",
        "position": "rotary",
        "depth": "128",
        "norm": "batch norm",
    },
}


pytestmark = pytest.mark.usefixtures("trainer_in_this_process")


def changed(page: AppTest, before: RunConfig) -> dict[str, object]:
    """The fields in which the page's configuration differs from an earlier one."""
    after, old = asdict(configuration(page)), asdict(before)
    return {name: after[name] for name in after if after[name] != old[name]}


@pytest.mark.parametrize("query", EVIL.values(), ids=EVIL)
def test_a_bad_link_gives_a_legal_page_that_says_what_it_changed(query):
    page = playground(**query)
    cfg, notes = RunConfig.from_query(query)
    assert configuration(page) == cfg
    assert address(page) == cfg.to_query()
    assert notes
    assert [info.value for info in page.info] == ["From the link: " + "; ".join(notes) + "."]
    assert not re.search(
        r"[<>\[!`*$#{}|~@\\]|[a-z]:[a-z/]|]\(|www\.", page.info[0].value
    )  # nothing that markdown acts on
    assert all(y is not None for profile in now(page) for y in profile)
    press(page, "Understood")
    assert not page.info


@pytest.mark.parametrize(
    "query",
    [
        {"net": "transformer", "task": "sort", "heads": "8", "position": "rotary", "optimizer": "adamw", "depth": "2"},
        {"overrides": "1.identity.true,2-3.norm.none", "depth": "4"},
    ],
)
def test_a_good_link_is_the_configuration_and_stays_as_it_was(query):
    page = playground(**query)
    assert not page.info
    assert not page.error
    assert address(page) == query == configuration(page).to_query()


def test_keys_of_other_rooms_stay_in_the_link():
    page = playground(**SMALL, lesson="3", hide="norm")
    assert not page.info
    page.toggle(key="residual").set_value(False)
    sound(page.run())
    assert address(page) == SMALL | {"residual": "false", "lesson": "3", "hide": "norm"}


CLASHES = {
    "odd heads": (
        {"net": "transformer", "width": "24", "heads": "8", "depth": "2"},
        "position",
        "rotary",
        "a head of 3 has no pairs",
        {"position": "sinusoidal"},
    ),
    "depth": (
        {"net": "transformer", "width": "16", "depth": "2"},
        "depth",
        90,
        "Depth 90 is out of range for a transformer (1 to 48)",
        {"depth": 48},
    ),
    "skips": (
        {"arrangement": "ResiDual", "width": "16", "depth": "2"},
        "residual",
        False,
        "made of residuals",
        {"residual": True},
    ),
}


@pytest.mark.parametrize(("query", "field", "value", "sentence", "repair"), CLASHES.values(), ids=CLASHES)
def test_an_impossible_combination_is_refused_and_its_button_repairs_it(query, field, value, sentence, repair):
    page = unfolded(playground(**query))
    good, picture, link = configuration(page), now(page), address(page)
    next(
        w
        for w in (*page.slider, *page.select_slider, *page.selectbox, *page.number_input, *page.toggle)
        if w.key == field
    ).set_value(value)
    sound(page.run())
    assert len(page.error) == 1
    assert sentence in page.error[0].value
    with pytest.raises(ValueError, match=r"; |out of range"):
        configuration(page)
    assert now(page) == picture
    assert address(page) == link
    press(page, "Set " + ", ".join(f"{name} {repaired}" for name, repaired in repair.items()))
    assert not page.error
    assert changed(page, good).items() <= ({field: value} | repair).items()
    assert address(page) == configuration(page).to_query()


OVER = {
    "a step": {"depth": "128", "width": "512", "batch": "512"},
    "a transformer": {"net": "transformer", "task": "book", "depth": "48", "width": "384", "heads": "8"},
}


@pytest.mark.parametrize("query", OVER.values(), ids=OVER)
def test_over_budget_is_refused_with_numbers_and_its_button_makes_it_fit(query):
    page = playground(**query)
    wanted = configuration(page)
    assert budget_refusal(wanted)
    assert len(page.error) == 1
    assert page.error[0].value.startswith(budget_refusal(wanted))
    assert "limit" in page.error[0].value
    assert sum(character.isdigit() for character in page.error[0].value) > 3
    picture = now(page)
    assert all(y is not None for profile in picture for y in profile)
    press(page, next(label for label in labels(page) if label.startswith("Set ")))
    assert not page.error
    assert budget_refusal(configuration(page)) is None
    ((field, value),) = changed(page, wanted).items()
    assert f"{knobs()[field][1].label} {value}" in budget_refusal(wanted)
    assert address(page) == configuration(page).to_query()


def test_a_control_moved_over_budget_keeps_the_picture_and_the_address_says_what_is_set():
    page = unfolded(playground(**SMALL))
    picture = now(page)
    page.slider(key="depth").set_value(128)
    sound(page.run())
    page.select_slider(key="width").set_value(512)
    sound(page.run())
    page.number_input(key="batch").set_value(512)
    sound(page.run())
    assert "over budget" in page.error[0].value
    assert address(page) == SMALL | {"depth": "128", "width": "512", "batch": "512"}
    assert now(page) != picture


DIVERGING = {
    "no norm": {"norm": "none", "depth": "32", "width": "32", "steps": "40"},
    "too large a step": {"lr": "10.0", "residual": "false", "norm": "none", "depth": "4", "width": "32", "steps": "60"},
}


@pytest.mark.parametrize("query", DIVERGING.values(), ids=DIVERGING)
def test_a_divergence_is_named_its_picture_kept_and_its_button_changes_what_it_says(query):
    page = trained(playground(**query))
    cfg = configuration(page)
    log = trainer().log(cfg)
    (found,), trace = log.divergences, log.trace()
    said = sentences_at(cfg, trace, found.step)
    assert said["kind"] == "diverged"
    assert f"Diverged at step {found.step}" in said["verdict"]
    assert f"{found.quantity} of {site_in_words(found.site)}." in said["verdict"]
    assert found.block == int(found.site[1:3])
    assert len(trace) == found.step + 1
    if found.step:
        rests(page, found.step - 1)
        assert all(y is not None for y in line(page, "Signal by depth", step=found.step - 1))
        assert "diverged" not in sentences_at(cfg, trace, found.step - 1)["kind"]
        assert following(page) == ("Go on training" if found.step > 1 else "Now train it")
        rests(page, found.step)  # where a run that diverged rests, it is over
    said = panels(tried(page), "headline")["Verdict"]["note"]
    offer = re.search(r"What would help\? With (.+),? the loss \w+ from \S+ to \S+ in \d+ steps", said)[1].lower()
    assert following(page).lower() in (f"try {offer}", f"try {offer.count(', ') + 1} changes")
    advance(page)
    difference = changed(page, cfg)
    assert difference
    for name, value in difference.items():  # which change helps may hang on how a processor rounds
        named = f"{knobs()[name][1].label.lower()} {display_value(value, 3)}"
        named = {"norm": value, "placement": value, "residual": "a residual"}.get(name, named)
        assert named in offer, (offer, difference)
    assert address(page) == configuration(page).to_query()
    assert following(page) == "Now train it"


@pytest.mark.full
def test_a_run_that_ends_without_learning_gets_an_offer_too_and_what_is_offered_learns():
    page = tried(trained(playground(residual="false", norm="none", depth="32", width="32", steps="60")))
    assert following(page).startswith("Try ")
    advance(page)
    trace = logs(page)[0].trace()
    assert "learns" in sentences_at(configuration(page), trace, len(trace) - 1)["loss"]
    rests(page)
    assert not following(page).startswith("Try ")


def test_a_device_that_is_not_there_is_refused_in_a_sentence():
    page = unfolded(playground(**SMALL))
    absent = next(device for device in ("mps", "cuda") if device not in trainer().status().devices)
    page.selectbox(key="device").select(absent)
    sound(page.run())
    assert declared(page)["messages"] == []  # the browser keeps the picture and says why
    assert (
        failure_sentence(configuration(page))
        == f"Device is {absent}, and this machine has none; legal here is auto, cpu."
    )
    page.selectbox(key="device").select("cpu")
    sound(page.run())
    assert len(drawn_first(page)[0].rows) == 1
