"""The page of lessons, and what holds for each; what the nets of each show is tested in its folder."""

import json
import math
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from components.lessons.runs import is_at_end, is_waiting_for_rows, lesson_chart, nets_by_label
from components.lessons.source import excerpt
from models.lessons.challenges import check
from models.lessons.lessons import LESSONS
from models.spec import RunConfig, knobs
from models.spec.budget import budget_refusal, step_seconds
from tests.app_page import by_link, charts, labels, press, sound, words
from tests.experiments import TRAINED, last_loss
from tests.player_page import logs, panels, rests, runs
from tests.traces import finished

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")


@pytest.mark.full
@pytest.mark.parametrize("key", LESSONS)
def test_the_losses_that_a_lesson_tells_are_those_of_the_stand_alone_script(key: str) -> None:
    lesson = LESSONS[key]
    told = lesson.finding({name: finished(cfg) for name, cfg in lesson.nets.items()}).sentence
    for name, cfg in lesson.nets.items():
        said = re.search(rf"(?:; |steps: ){re.escape(name)}: ([\d.]+\d)", told)
        if said is None:
            assert f"“{name}” diverged" in told
            assert not math.isfinite(last_loss(cfg))
        else:
            assert float(said[1]) == pytest.approx(last_loss(cfg), **TRAINED)


@pytest.mark.full
@pytest.mark.parametrize("key", LESSONS)
def test_a_challenge_is_not_passed_by_doing_nothing(key: str) -> None:
    challenge = LESSONS[key].challenge
    found = check(challenge, challenge.base, finished(challenge.base))
    assert not found.passed
    assert found.missing


@pytest.mark.parametrize("key", LESSONS)
def test_a_challenge_refuses_what_it_does_not_allow_before_it_looks_at_numbers(key: str) -> None:
    challenge = LESSONS[key].challenge
    found = check(challenge, replace(challenge.base, seed=7), None)
    assert not found.passed
    assert found.missing[0] == "Seed is 7; this challenge leaves it at 0."


def test_an_unfinished_run_is_not_judged() -> None:
    challenge = LESSONS["vanishing"].challenge
    assert check(challenge, challenge.base, None).missing == (f"The run has 0 of its {challenge.base.steps} steps.",)


@pytest.mark.full
def test_the_limit_of_a_challenge_can_be_chosen_without_typing_it() -> None:
    page = watched(guessed(lessons(lesson="skip"), 0), "lesson_skip")
    assert "0.9" in page.selectbox(key="attempt_skip_skip_scale").options


@pytest.mark.parametrize("key", LESSONS)
def test_a_lesson_is_short_legal_and_asks_something_with_several_answers(key: str) -> None:
    lesson = LESSONS[key]
    assert lesson.key == key
    assert 1 <= len(lesson.nets) <= 4
    assert len(set(lesson.options)) == len(lesson.options) >= 2
    assert sum(step_seconds(cfg) * cfg.steps for cfg in lesson.nets.values()) < 15
    for cfg in (*lesson.nets.values(), lesson.challenge.base):
        assert budget_refusal(cfg) is None
        assert RunConfig.from_query(cfg.to_query()) == (cfg, [])
    assert set(lesson.challenge.fields) <= set(knobs())
    assert all(address.startswith("https://") for address in lesson.papers.values())
    assert len(excerpt(lesson.code).splitlines()) < 40


def lessons(**query: str) -> AppTest:
    return by_link("lessons.py", **query)


def guessed(page: AppTest, at: int) -> AppTest:
    page.radio[0].set_value(page.radio[0].options[at])
    return press(sound(page.run()), "This is my guess")


def watched(page: AppTest, name: str) -> AppTest:
    """The page once the runs of a lesson or of its attempt have been watched to their end."""
    return sound(rests(page, name=name).run())


def test_nothing_of_the_run_is_shown_before_the_guess() -> None:
    page = lessons(lesson="vanishing")
    assert not charts(page)
    assert LESSONS["vanishing"].why not in words(page)
    assert page.button(key="lesson_vanishing_guess_settle").disabled


def test_a_title_of_before_the_guess_leads_to_no_other_lesson() -> None:
    """A browser may still send the list's title as it was, without the sign of the guess."""
    page = lessons(lesson="final")
    box = page.selectbox(key="lesson_box")
    before = box.options[list(LESSONS).index("final")]
    page = guessed(page, 2)
    box = page.selectbox(key="lesson_box")
    assert before not in box.options
    box.options[list(LESSONS).index("final")] = before
    box.set_value(before)
    assert sound(page.run()).selectbox(key="lesson_box").value == "final"


@pytest.mark.parametrize(("at", "said"), [(2, "Your guess was right"), (0, "Not quite. You said")])
def test_after_the_guess_the_nets_are_trained_and_the_numbers_decide(at: int, said: str) -> None:
    page = watched(guessed(lessons(lesson="vanishing"), at), "lesson_vanishing")
    assert said in words(page)
    assert "becomes 64,000 times smaller" in words(page)
    assert LESSONS["vanishing"].why in words(page)
    assert next(one for one in page.expander if one.label == "Why").proto.expanded
    assert {"Gradient by depth", "Signal by depth", "Loss"} <= set(charts(page))
    assert "def forward" in "".join(code.value for code in page.code)
    verdict = "right" if at == 2 else "not quite"
    assert f"({verdict})" in page.code[-1].value


@pytest.mark.parametrize("key", ["skip", "gates"])
def test_a_lessons_nets_are_in_one_order_in_diagrams_discs_charts_and_verdicts(key: str) -> None:
    page = lessons(lesson=key)
    names = list(nets_by_label(LESSONS[key]))
    assert [name[2:] for name in names] == list(LESSONS[key].nets)
    assert re.findall("<figcaption>(.*?)</figcaption>", _blocks(page)) == names
    page = guessed(page, 0)
    assert re.findall("<figcaption>(.*?)</figcaption>", _blocks(page)) == names, "the diagrams stay"
    (paths,) = panels(page, "paths").values()
    assert (paths["labels"], paths["runs"]) == (names, list(range(len(names))))
    assert [panel["label"] for panel in panels(page, "headline").values()] == names
    for kind in LESSONS[key].charts:
        drawn = [trace["name"] for trace in lesson_chart(LESSONS[key], kind)["data"]]
        assert list(dict.fromkeys(name for name in drawn if name in names)) == names


def _blocks(page: AppTest) -> str:
    """The drawing of the blocks on a lesson's page."""
    said = (json.loads(one.proto.json or "{}") for one in page.get("bidi_component"))
    return "".join(data.get("svg", "") for data in said)


def test_who_came_with_the_question_is_shown_the_answer() -> None:
    page = press(lessons(lesson="vanishing"), "Show the answer")
    assert LESSONS["vanishing"].why in words(page)
    page = watched(page, "lesson_vanishing")
    assert "The answer is" in words(page)
    assert "becomes 64,000 times smaller" in words(page)
    assert "Your guess was right" not in words(page)
    page = press(page, "Guess again")
    assert LESSONS["vanishing"].why not in words(page)


def test_a_link_that_hides_answers_offers_none() -> None:
    page = lessons(lesson="vanishing", hide="answers")
    assert "Show the answer" not in labels(page)


def test_a_lesson_says_what_it_is_for() -> None:
    for key, lesson in LESSONS.items():
        said, teaching = words(lessons(lesson=key)), lesson.teaching
        assert f"After it you can {teaching.objective}." in said
        assert f"takes {teaching.minutes} minutes" in said
        assert 5 <= teaching.minutes <= 45
        assert not any(str(value) in teaching.objective for value in teaching.key.values())


def test_an_attempt_is_edited_trained_and_passed_and_the_progress_says_so() -> None:
    page = watched(guessed(lessons(lesson="vanishing"), 2), "lesson_vanishing")
    page.number_input(key="attempt_vanishing_init_gain").set_value(1.19)
    assert not page.success
    page = watched(sound(page.run()), "attempt_vanishing")
    assert [one.value for one in page.success] == ["Passed."]
    assert "passed with" in page.code[-1].value
    assert "init_gain=1.19" in page.code[-1].value


def test_a_pasted_link_is_taken_and_what_it_may_not_touch_is_named() -> None:
    page = watched(guessed(lessons(lesson="vanishing"), 2), "lesson_vanishing")
    page.text_input(key="attempt_vanishing_text").set_value(
        "https://host/base/playground?depth=3&init=he&lesson=vanishing"
    )
    press(sound(page.run()), "Take it from the link")
    assert "Depth is 3; this challenge leaves it at" in words(page)
    assert "Loss of the attempt" not in charts(page)


def happened(page: AppTest) -> bool:
    """Whether the page says what the numbers say of the guess."""
    return "What happened" in [one.value for one in page.subheader]


@pytest.mark.full
def test_the_verdict_of_an_attempt_stays_while_it_is_scrubbed_and_goes_with_the_next_attempt() -> None:
    page = watched(guessed(lessons(lesson="final"), 2), "lesson_final")
    waits = "the challenge is judged when the run ends"
    assert waits in words(page)
    watched(page, "attempt_final")
    assert page.warning
    assert rests(page, 10, name="attempt_final").warning
    page.selectbox(key="attempt_final_branch_scale").set_value("0.5")
    assert waits in words(sound(page.run()))
    assert runs(page, "attempt_final")[0].branch_scale == 0.5


def test_whoever_rests_where_rows_are_still_to_come_waits_for_them() -> None:
    def log(length: int, **how: object) -> Any:
        return SimpleNamespace(**{"length": length, "last_step": length - 1, "done": False, "error": "", **how})

    ended, going = log(3, done=True), log(5)
    assert not is_at_end(9, [ended, going])
    assert is_at_end(4, [ended, log(5, done=True)])
    assert not is_at_end(3, [ended, log(5, done=True)])
    assert [is_waiting_for_rows(step, [ended, going]) for step in (0, 4, 5)] == [False, False, True]
    assert not is_waiting_for_rows(0, [log(0)])
    assert not is_waiting_for_rows(9, [log(5, error="lost")])


@pytest.mark.full
def test_a_diverged_lesson_keeps_its_untrained_net() -> None:
    page = watched(guessed(lessons(lesson="exploding"), 2), "lesson_exploding")
    (log, _) = logs(page, name="lesson_exploding")
    stays = [trace for trace in charts(page)["Signal by depth"]["data"] if trace["bind"].get("first")]
    assert [trace["bind"]["run"] for trace in stays] == [0, 1]
    assert not np.isfinite(log.trace().act_rms[-1]).all()
    assert np.isfinite(log.trace().act_rms[0]).all()
