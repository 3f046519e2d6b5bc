"""The lessons: each net shows what its text says, each challenge has a solution that passes and a near miss that fails."""

import json
import math
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from components.lessons.runs import is_at_end, is_waiting_for_rows, lesson_chart, nets_by_label
from components.lessons.source import excerpt
from models.lessons.challenges import check, rule_violations
from models.lessons.lessons import LESSONS
from models.spec import RunConfig, knobs
from models.spec.budget import budget_refusal, step_seconds
from models.trace import Trace
from models.training import Run
from tests.app_page import by_link, charts, press, sound, words
from tests.experiments import TRAINED, last_loss
from tests.player_page import logs, panels, rests, runs
from tests.traces import finished

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

# What every lesson's nets show, by key: the option, and words of the sentence.
SHOWN = {
    "vanishing": (
        "more than 1,000 times smaller",
        "Before training the gradient of 32 blocks becomes 64,000 times smaller",
    ),
    "exploding": ("more than 100 times as large", "Before training the signal without a norm becomes 490 times larger"),
    "skip": ("only the net with residuals learns", "held-out accuracy 9"),
    "batch": ("only layer norm", "Chance is 2.30"),
    "placement": ("pre-norm and sandwich learn, post-norm does not", "held-out accuracy 9"),
    "warmup": ("all but post-norm without a warm-up", "Chance is 2.30"),
    "final": ("more than three times as much", "the first loss is 5."),
    "init": ("only the net with residual and norm", "“with a residual” diverged at step"),
    "gates": ("ReZero and DeepNorm", "“residual only” diverged at step"),
    "collapse": ("above 0.95: nearly the same direction", "is 0.99"),
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


# Whose nets train in a few seconds; those of the others belong to the full suite.
SHORT = ("vanishing",)
BY_LESSON = [pytest.param(key, marks=() if key in SHORT else pytest.mark.full) for key in LESSONS]


@pytest.mark.parametrize("key", BY_LESSON)
def test_a_lessons_nets_bear_out_what_its_text_says(key: str) -> None:
    lesson = LESSONS[key]
    nets = {name: finished(cfg) for name, cfg in lesson.nets.items()}
    finding = lesson.finding(nets)
    option, said = SHOWN[key]
    assert finding.answer == option
    assert finding.answer in lesson.options
    assert said in finding.sentence
    for name, trace in nets.items():
        end = f"{name}: {np.mean(trace.loss[-20:]):.3g}"
        assert (f"“{name}” diverged at step {trace.divergence.step}." if trace.divergence else end) in finding.sentence


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
def test_the_lesson_that_asks_for_the_lowest_mean_of_ten_says_it() -> None:
    lesson = LESSONS["warmup"]
    traces = {name: finished(cfg) for name, cfg in lesson.nets.items()}
    lowest = [min(sum(trace.loss[at : at + 10].tolist()) / 10 for at in range(141)) for trace in traces.values()]
    said = [float(one) for one in re.findall(r"\(lowest mean of 10: ([\d.]+)\)", lesson.finding(traces).sentence)]
    assert said == pytest.approx(lowest, rel=5e-3)
    assert [one < 1 for one in said] == [False, True, True]


@pytest.mark.parametrize("key", BY_LESSON)
def test_a_challenge_is_passed_by_its_solution_and_not_by_its_near_miss(key: str) -> None:
    challenge = LESSONS[key].challenge
    solution, miss = (RunConfig(**{**fields_of(challenge.base), **change}) for change in SOLVED[key])
    assert rule_violations(challenge, miss) == (), "a near miss keeps to the rules and fails by its numbers"
    passed = check(challenge, solution, finished(solution))
    assert passed.passed, passed.missing
    failed = check(challenge, miss, finished(miss))
    assert not failed.passed
    assert failed.missing


@pytest.mark.full
@pytest.mark.parametrize("key", LESSONS)
def test_a_challenge_is_not_passed_by_doing_nothing(key: str) -> None:
    challenge = LESSONS[key].challenge
    found = check(challenge, challenge.base, finished(challenge.base))
    assert not found.passed
    assert found.missing


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
    said = rule_violations(challenge, RunConfig(skip_scale=1.0, steps=challenge.base.steps))
    assert said == ("Skip weight is 1; this challenge allows 0 to 0.9.",)


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


def before_training(*, init: str = "fan-in", **fields: Any) -> Trace:
    one = Run(RunConfig(steps=1, init=init, **fields))
    one.advance(1)
    return one.trace()


def test_layer_and_rms_norm_let_samples_become_alike_and_batch_norm_holds_them_apart_as_the_lesson_says() -> None:
    ends = {}
    for norm in ("layer norm", "rms norm", "batch norm"):
        cosines = [before_training(residual=False, norm=norm, seed=seed).frames[0].sample_cosine for seed in range(3)]
        assert max(one[0] for one in cosines) < 0.1
        ends[norm] = float(np.mean([one[-1] for one in cosines]))
    assert min(ends["layer norm"], ends["rms norm"]) > 0.95
    assert ends["batch norm"] == pytest.approx(0.37, abs=0.05)


def test_in_a_plain_net_the_updates_of_all_blocks_are_equally_tiny() -> None:
    """Beside the law: a weight's gradient goes as what is read times what is told, v^(l/2) v^((L-l)/2) for every l."""
    deep, shallow = (before_training(residual=False, norm="none", depth=depth).weight_grad_rms[0] for depth in (32, 4))
    assert np.ptp(np.log10(deep)) < 1.2
    assert np.median(deep) < 1e-3 * np.median(shallow)


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


def test_an_attempt_is_edited_trained_and_passed_and_the_progress_says_so() -> None:
    page = watched(guessed(lessons(lesson="vanishing"), 2), "lesson_vanishing")
    page.number_input(key="attempt_vanishing_init_gain").set_value(SOLVED["vanishing"][0]["init_gain"])
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


def test_a_gain_of_the_fourth_root_of_two_levels_the_net_of_lesson_1_and_the_root_of_two_blows_it_up() -> None:
    lesson = LESSONS["vanishing"]
    level, wild = (RunConfig(**{**fields_of(lesson.challenge.base), "init_gain": gain}) for gain in (1.19, 2**0.5))
    assert 1 / 1.5 < np.divide(*finished(level).act_rms[0, [-1, 0]]) < 1.5
    assert check(lesson.challenge, level, finished(level)).passed
    found = check(lesson.challenge, wild, finished(wild))
    assert not found.passed
    assert found.missing[0].startswith("Diverged at step 11")
    assert (
        2**4 / 2 < np.divide(*finished(wild).act_rms[0, [-1, 0]]) < 2**4 * 2
    )  # the mean square doubles in each of 8 blocks
    assert found.hint.startswith("What happened: before training the signal becomes 15 times larger over depth, ")


@pytest.mark.full
def test_a_lesson_keeps_the_net_before_training_on_its_charts_when_the_run_has_no_numbers_left() -> None:
    page = watched(guessed(lessons(lesson="exploding"), 2), "lesson_exploding")
    (log, _) = logs(page, name="lesson_exploding")
    stays = [trace for trace in charts(page)["Signal by depth"]["data"] if trace["bind"].get("first")]
    assert [trace["bind"]["run"] for trace in stays] == [0, 1]
    assert not np.isfinite(log.trace().act_rms[-1]).all()
    assert np.isfinite(log.trace().act_rms[0]).all()
