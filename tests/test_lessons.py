"""The lessons: each net shows what its text says, each challenge has a solution that passes and a near miss that fails."""

from functools import cache
from urllib.parse import parse_qsl, urlencode

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from components.lessons.attempt import from_text
from components.lessons.source import excerpt
from models.lessons.challenges import check, out_of_bounds
from models.lessons.lesson import Code
from models.lessons.lessons import LESSONS
from models.spec import RunConfig, knobs
from models.spec.budget import over_budget, step_seconds
from models.trace import Trace
from models.training import Run
from tests.app_page import APP, PATIENCE, charts, labels, press, sound, words

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

# What every lesson's nets show, by key: the option, and words of the sentence.
SHOWN = {
    "vanishing": ("more than 1,000 times smaller", "becomes 64,000 times smaller"),
    "exploding": ("more than 100 times as large", "becomes 490 times larger"),
    "skip": ("only the net with the skip learns", "held-out accuracy 9"),
    "batch": ("only layer norm", "Guessing costs 2.30"),
    "placement": ("pre-norm and sandwich learn, post-norm does not", "held-out accuracy 9"),
    "warmup": ("all but post-norm without a warm-up", "post-norm, warm-up 60: loss"),
    "final": ("more than three times as much", "the first loss is 5."),
    "init": ("only the net with skip and norm", "with a skip: diverged at step"),
    "gates": ("ReZero and DeepNorm", "residual only: diverged at step"),
    "collapse": ("above 0.9: nearly the same direction", "is 0.99"),
}
# A solution and a near miss of every challenge: the fields that they set.
SOLVED: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "vanishing": ({"init_gain": 1.19}, {"init_gain": 1.05}),
    "exploding": ({"init_gain": 0.4}, {"init_gain": 0.7}),
    "skip": ({"skip_scale": 0.9}, {"skip_scale": 0.7}),
    "batch": ({"batch": 16}, {"batch": 4}),
    "placement": ({"skip_scale": 4.0}, {"skip_scale": 1.5}),
    "warmup": ({"warmup": 60, "schedule": "cosine"}, {"warmup": 60}),
    "final": ({"branch_scale": 0.1}, {"branch_scale": 0.5}),
    "init": ({"init": "zero last"}, {"init": "orthogonal"}),
    "gates": ({"branch_scale": 0.2}, {"branch_scale": 0.5}),
    "collapse": ({"activation": "tanh", "init": "orthogonal"}, {"activation": "tanh"}),
}


@cache
def run(query: str) -> Trace:
    """The finished trace of a configuration, by its link."""
    one = Run(from_text(query)[0])
    one.advance(5000)
    return one.trace()


def finished(cfg: RunConfig) -> Trace:
    return run("?" + urlencode(cfg.to_query()) if cfg.to_query() else "")


@pytest.mark.parametrize("key", LESSONS)
def test_a_lessons_nets_bear_out_what_its_text_says(key: str) -> None:
    lesson = LESSONS[key]
    finding = lesson.found([finished(cfg) for cfg in lesson.nets.values()])
    option, said = SHOWN[key]
    assert finding.answer == option
    assert finding.answer in lesson.options
    assert said in finding.sentence


@pytest.mark.parametrize("key", LESSONS)
def test_a_challenge_is_passed_by_its_solution_and_not_by_its_near_miss_nor_by_doing_nothing(key: str) -> None:
    challenge = LESSONS[key].challenge
    solution, miss = (RunConfig(**{**fields_of(challenge.base), **change}) for change in SOLVED[key])
    assert out_of_bounds(challenge, miss) == (), "a near miss keeps to the rules and fails by its numbers"
    passed = check(challenge, solution, finished(solution))
    assert passed.passed, passed.missing
    for attempt in (miss, challenge.base):
        failed = check(challenge, attempt, finished(attempt))
        assert not failed.passed
        assert failed.missing


def fields_of(cfg: RunConfig) -> dict:
    return {name: getattr(cfg, name) for name in knobs()}


@pytest.mark.parametrize("key", LESSONS)
def test_a_challenge_refuses_what_it_does_not_allow_before_it_looks_at_numbers(key: str) -> None:
    challenge = LESSONS[key].challenge
    solution = RunConfig(**{**fields_of(challenge.base), **SOLVED[key][0]})
    other = RunConfig(**{**fields_of(solution), "seed": 7})
    found = check(challenge, other, None)
    assert not found.passed
    assert found.missing == ("Seed is 7; this challenge leaves it at 0.",)


def test_an_unfinished_run_is_not_judged() -> None:
    challenge = LESSONS["vanishing"].challenge
    assert check(challenge, challenge.base, None).missing == (f"The run has 0 of its {challenge.base.steps} steps.",)


def test_a_skip_beyond_the_limit_is_refused() -> None:
    challenge = LESSONS["skip"].challenge
    said = out_of_bounds(challenge, RunConfig(skip_scale=1.0, steps=challenge.base.steps))
    assert said == ("Skip weight is 1; this challenge allows 0 to 0.9.",)


@pytest.mark.parametrize("key", LESSONS)
def test_a_lesson_is_short_legal_and_asks_something_with_several_answers(key: str) -> None:
    lesson = LESSONS[key]
    assert lesson.key == key
    assert 1 <= len(lesson.nets) <= 4
    assert len(set(lesson.options)) == len(lesson.options) >= 2
    assert sum(step_seconds(cfg) * cfg.steps for cfg in lesson.nets.values()) < 15
    for cfg in (*lesson.nets.values(), lesson.challenge.base):
        assert over_budget(cfg) is None
        assert RunConfig.from_query(cfg.to_query()) == (cfg, [])
    assert set(lesson.challenge.fields) <= set(knobs())
    assert all(address.startswith("https://") for address in lesson.sources.values())
    assert len(excerpt(lesson.code).splitlines()) < 40


def test_the_code_is_read_from_its_file() -> None:
    assert excerpt(Code("models/nets/sublayer.py", "Sublayer.forward")).startswith("def forward(self, x: Tensor) -> Tensor:")
    with pytest.raises(ValueError, match="has no Nothing"):
        excerpt(Code("models/nets/sublayer.py", "Nothing"))


def lessons(**query: str) -> AppTest:
    page = AppTest.from_file(APP, default_timeout=PATIENCE).run()
    page.switch_page("pages/learn/lessons.py")
    for key, value in query.items():
        page.query_params[key] = value
    return sound(page.run())


def guessed(page: AppTest, at: int) -> AppTest:
    page.radio[0].set_value(page.radio[0].options[at])
    return press(sound(page.run()), "This is my guess")


def watched(page: AppTest, label: str) -> AppTest:
    """The page after that Train button was pressed and its run has come to its end."""
    press(page, label)
    for _ in range(PATIENCE):
        if "Pause" not in labels(page):
            return page
        sound(page.run())
    raise AssertionError(words(page))


def test_nothing_of_the_run_is_shown_before_the_guess() -> None:
    page = lessons(lesson="vanishing")
    assert not [label for label in labels(page) if label.startswith("Train")]
    assert not charts(page)
    assert LESSONS["vanishing"].why not in words(page)
    assert page.button(key="lesson_vanishing_guess_settle").disabled


@pytest.mark.parametrize(("at", "said"), [(2, "Your guess was right"), (0, "Your guess was not so")])
def test_after_the_guess_the_nets_are_trained_and_the_numbers_decide(at: int, said: str) -> None:
    page = watched(guessed(lessons(lesson="vanishing"), at), "Train both")
    assert said in words(page)
    assert "becomes 64,000 times smaller" in words(page)
    assert LESSONS["vanishing"].why in words(page)
    assert {"Gradient by depth", "Activation by depth", "Loss"} <= set(charts(page))
    assert "def forward" in "".join(code.value for code in page.code)
    verdict = "right" if at == 2 else "not so"
    assert f"({verdict})" in page.code[-1].value


def test_an_attempt_is_edited_trained_and_passed_and_the_progress_says_so() -> None:
    page = watched(guessed(lessons(lesson="vanishing"), 2), "Train both")
    page.number_input(key="attempt_vanishing_init_gain").set_value(SOLVED["vanishing"][0]["init_gain"])
    page = watched(sound(page.run()), "Train the attempt")
    assert [one.value for one in page.success] == ["Passed."]
    assert "passed with" in page.code[-1].value
    assert "init_gain=1.19" in page.code[-1].value


def test_an_attempt_is_opened_in_the_playground_as_it_was_set() -> None:
    page = watched(guessed(lessons(lesson="vanishing"), 2), "Train both")
    page.number_input(key="attempt_vanishing_init_gain").set_value(1.19)
    sound(page.run())
    (way,) = [one.proto for one in page.get("page_link") if one.proto.label == "Open in the playground"]
    assert dict(parse_qsl(way.query_string))["init_gain"] == "1.19"


def test_a_pasted_link_is_taken_and_what_it_may_not_touch_is_named() -> None:
    page = watched(guessed(lessons(lesson="vanishing"), 2), "Train both")
    page.text_input(key="attempt_vanishing_text").set_value("https://host/base/playground?depth=3&init=he&lesson=vanishing")
    press(sound(page.run()), "Take the link's")
    assert "Depth is 3; this challenge leaves it at" in words(page)
    assert "Train the attempt" not in labels(page)


def test_a_lesson_of_an_unknown_name_gets_a_sentence() -> None:
    assert "There is no lesson of that name" in words(lessons(lesson="<b>nonsense</b>"))


def test_guessing_again_hides_the_run() -> None:
    page = press(watched(guessed(lessons(lesson="final"), 0), "Train both"), "Guess again")
    assert not charts(page)
    assert np.all([not label.startswith("Train") for label in labels(page)])
