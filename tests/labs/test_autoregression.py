"""The autoregression lab: its examples on nets that are trained here, its sentences, its charts, and the page."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from components.charts.tokens import candidates_chart
from components.labs.autoregression.inside import attention_map, revision_chart, revision_sentence
from components.labs.autoregression.page import EXAMPLES, NETS, configuration
from components.labs.autoregression.text import join_text, stop_sentence
from components.player.feed import text_json
from models.answers import Change
from models.insight.baseline import loss_of_guessing
from models.instruments.generation import continuation
from models.service.recorded_text import first_config, recorded_text
from models.spec import ARRANGEMENTS, TASKS
from models.spec.budget import budget_refusal
from models.training import Run, result_of, snapshot_of
from tests.app_page import charts, press, sound, words
from tests.drawn import all_drawn
from tests.labs_page import lab, until
from tests.player_page import panels, rests
from tests.tables import table_of

SIXTEEN = "3 1 4 1 5 9 2 6 5 3 5 8 9 7 9 3"


# --- the nets of the page ---


@pytest.mark.parametrize("task", NETS)
def test_every_task_and_arrangement_makes_a_net_that_the_budget_allows(task):
    for arrangement in ARRANGEMENTS:
        assert budget_refusal(configuration(task, arrangement, 8, 3000)) is None
        assert configuration(task, arrangement, 3, 100).mask == "causal"


def test_the_prompts_of_all_examples_can_be_read():
    for example in EXAMPLES.values():
        run = Run(configuration(example.task, "pre-norm", 1, 50), probe=False, frames=False)
        end = "" if example.end == "none" else example.end
        settings = {"count": example.length, "temperature": example.temperature, "end": end}
        found = result_of(continuation(snapshot_of(run), text=example.prompt, **settings))
        assert found.written
        assert found.unknown == ()


@pytest.mark.full
def test_a_net_of_this_page_learns_to_say_a_sequence_again_token_by_token():
    run = Run(configuration("copy", "pre-norm", 1, 300), probe=False, frames=False)
    before = result_of(continuation(snapshot_of(run), text=SIXTEEN, count=20))
    run.advance(300)
    after = result_of(continuation(snapshot_of(run), text=SIXTEEN, count=20))
    assert sum(a == b for a, b in zip(before.written, SIXTEEN.split(), strict=True)) < 8
    assert sum(a == b for a, b in zip(after.written, SIXTEEN.split(), strict=True)) > 12
    assert after.stopped == "full"


# --- sentences ---


@pytest.mark.parametrize(
    ("stopped", "said", "expected"),
    [
        ("length", ["a", "b"], "Stopped at the length limit."),
        ("end", ["."], 'Stopped at the end symbol: token 1 is "."; 2 were'),
        ("end", ["a", "."], "Stopped at the length limit and the end symbol"),
        ("full", ["1"], "a sequence of this task has 32 tokens"),
        ("unasked", [], "Type the next token yourself"),
        ("not finite", [], "not finite"),
    ],
)
def test_the_sentence_says_which_of_them_stopped_it(stopped, said, expected):
    assert expected in stop_sentence(stopped, len(said), 2, ".", 32)


def changes(*difference, before=(1, 2, 3), after=(1, 2, 3)):
    return Change(np.array(difference), np.array(before), np.array(after))


def test_the_sentence_on_revision_follows_the_numbers():
    moved = changes(1.5, 0.2, 3.0, after=(1, 5, 6))
    kept = revision_sentence(changes(0, 1e-15, 0), moved, "\n")
    assert kept.startswith('Earlier tokens never change: "↵" is appended')
    assert "10⁻¹⁵, which is rounding" in kept
    assert "Without the mask, one moves by 3, and the prediction changes at 2 of 3" in kept
    assert "rounding" not in revision_sentence(changes(0, 0, 0), moved, "a")
    assert revision_sentence(changes(0, 0.5, 0), moved, "a").startswith("Earlier tokens change")
    assert "not finite" in revision_sentence(changes(0, np.nan, 0), moved, "a")


def test_a_text_is_characters_in_a_row_and_a_sequence_symbols_with_spaces_between():
    assert join_text(configuration("book", "pre-norm", 1, 50), "Call ", ["m", "e"]) == "Call me"
    assert join_text(configuration("copy", "pre-norm", 1, 50), " 3  1 ", ["4"]) == "3 1 4"


# --- charts ---


def test_the_candidates_are_the_likeliest_and_the_chosen_one_however_unlikely():
    p = np.arange(40.0) / 780
    bars = candidates_chart("Candidates", [str(at) for at in range(40)], p, p**2 / (p**2).sum(), 3)["data"]
    assert bars[0]["text"] == [*map(str, range(39, 27, -1)), "3"]
    assert bars[0]["y"][0] == pytest.approx(0.05)
    assert [bar["name"] for bar in bars] == ["net's probability", "at the temperature"]


def test_plotly_json_and_the_table_accept_every_chart():
    tokens = ["a", "\n", "."]
    spoiled = np.array([0.0, np.nan, np.inf])
    for figure in all_drawn(
        [
            *(
                candidates_chart("Candidates", list("abc"), np.array([0.2, 0.3, 0.5]), np.eye(3)[2], 2),
                candidates_chart("Candidates", list("abc"), spoiled, spoiled, 2),
                revision_chart(tokens, np.zeros(3), spoiled),
                revision_chart(["a"] * 31, np.full(31, 1e-15), np.ones(31)),
                attention_map(tokens, np.full((2, 3), 0.5), 1),
                attention_map(tokens, np.full((2, 3), np.nan), 2),
            )
        ]
    ):
        table_of(figure)


# --- the page ---


def small(page: AppTest, task: str) -> AppTest:
    page.selectbox(key="autoregression_task").select(task)
    sound(page.run())
    page.slider(key=f"autoregression_depth_{task}").set_value(1)
    page.number_input(key=f"autoregression_steps_{task}").set_value(50)
    return sound(page.run())


@pytest.fixture
def page(trainer_in_this_process) -> AppTest:
    return small(lab("autoregression"), "book")


def text(page: AppTest) -> str:
    """The prompt and all that was said after it."""
    return str(page.code[0].value)


def chosen(page: AppTest) -> list[str]:
    return charts(page)["Candidates"]["data"][0]["text"]


def test_the_page_shows_the_candidates_before_anything_is_said_or_trained(page):
    assert text(page) == "Call me Ish"
    assert "This is the prompt. Press Next token or Generate." in words(page)
    assert len(chosen(page)) == 12
    assert "Earlier tokens never change" in words(page)
    assert {"Change by token", "Lens by site and token", "Attention by block"} <= set(charts(page))
    assert panels(page, "chart")["Loss of the transformer"]["sentence"] == "loss"


def test_generate_says_as_many_as_asked_for_and_the_same_as_one_by_one(page):
    page.number_input(key="autoregression_temperature").set_value(1.0)
    page.number_input(key="autoregression_length").set_value(6)
    sound(page.run())
    press(page, "Generate")
    sound(page.run())
    many = text(page)
    assert len(many) == len("Call me Ish") + 6
    assert "At step 0 the net wrote 6 tokens after the prompt. Stopped at the length limit." in words(page)
    press(page, "Back to the prompt")
    for _ in range(6):
        press(page, "Next token")
    assert text(page) == many
    page.selectbox(key="autoregression_looked_at_7").select_index(0)
    sound(page.run())
    assert f'"{many[11].replace(" ", "␣")}" is chosen' in words(page).replace("\n", "↵")


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_puts_its_prompt_and_settings_into_the_controls(page, name):
    example = EXAMPLES[name]
    page.selectbox(key="autoregression_example").select(name)
    sound(page.run())
    page.selectbox(key="autoregression_example").select(next(one for one in EXAMPLES if one != name))
    sound(page.run())
    page.selectbox(key="autoregression_example").select(name)
    sound(page.run())
    assert text(page) == example.prompt
    assert page.number_input(key="autoregression_length").value == example.length
    assert page.selectbox(key=f"autoregression_end_{example.task}").value == example.end
    assert TASKS[example.task].vocabulary


def test_training_changes_what_the_net_says_and_every_position_and_head_can_be_looked_at(page):
    before = charts(page)["Candidates"]["data"][0]["y"]
    rests(page)
    assert "At step 50 the right token gets" in words(page)
    assert charts(page)["Candidates"]["data"][0]["y"] != before
    shown = charts(page)["Attention by block"]
    page.selectbox(key="autoregression_head").select("head 2")
    sound(page.run())
    assert charts(page)["Attention by block"] != shown
    page.selectbox(key="autoregression_position").select_index(2)
    sound(page.run())
    assert 'At token 3, "l"' in words(page)


def test_a_text_is_of_the_net_that_wrote_it_and_another_step_begins_at_the_prompt(page):
    press(page, "Next token")
    own, analysed = text(page), charts(page)["Attention by block"]
    rests(page)
    assert text(page) == "Call me Ish"
    assert "This is the prompt." in words(page)
    assert charts(page)["Attention by block"] != analysed
    press(page, "Next token")
    assert "At step 50 the net wrote 1 token after the prompt." in words(page)
    assert re.search(r"becomes [\d.]+%\. .*measured.* at step 50\.", words(page))
    rests(page, 0)
    assert text(page) == own
    assert charts(page)["Attention by block"] == analysed


def test_the_lab_opens_with_what_its_net_writes_once_trained_recorded_and_no_other_caption_over_it(
    trainer_in_this_process,
):
    found = recorded_text()
    page = lab("autoregression")
    assert found.cfg == first_config()
    shown = panels(page, "text")["What the net writes"]
    assert shown["recorded"] == {"step": 600, "picture": text_json(found.frame.picture)}
    assert text(page) == "Call me Ish"
    told = words(page)
    assert told.count("Measured at step 0.") == 4  # over two of Earlier tokens, Block by block and KV cache
    assert told.index("This is the prompt. Press Next token or Generate.") < told.index("Measured at step 0.")
    page.slider(key="autoregression_depth_book").set_value(3)
    sound(page.run())
    assert panels(page, "text")["What the net writes"]["recorded"] is None
    small(page, "copy")
    assert not panels(page, "text")


def test_the_recording_is_of_the_net_that_is_trained_here_and_writes_what_its_frames_write():
    found = recorded_text()
    run = Run(found.cfg, probe=False)
    run.advance(2)
    np.testing.assert_allclose(found.loss[:2], run.trace().loss[:2], rtol=1e-3)
    assert len(found.loss) == found.frame.step == found.cfg.steps
    assert found.loss[-20:].mean() < 0.7 * loss_of_guessing("book")
    before, after = run.frames[0].picture, found.frame.picture
    assert before.keys() == after.keys()
    assert len(after["sample"]) == len(before["sample"]) == len(after["p"])
    assert after["p"].mean() > 3 * before["p"].mean()
    assert " the " in after["sample"]


def test_a_replaced_token_moves_logits_from_its_place_on_and_the_slip_stays_when_the_net_goes_on(page):
    assert "With the causal mask, 0 of the 5 earlier positions change" in words(page)
    assert "without it 5 of the 5 earlier ones do too" in words(page)
    page.selectbox(key="autoregression_replaced_book").select_index(8)
    page.text_input(key="autoregression_replacement_book").set_value("u")
    page.toggle(key="autoregression_corrects").set_value(True)
    sound(page.run())
    until(page, lambda: "is still at position 9" in words(page))
    assert page.code[1].value.startswith("Call me ush; no, I mean ")
    assert len(page.code[1].value) == len("Call me ush; no, I mean ") + 20


@pytest.mark.parametrize(
    ("typed", "problem"), [("ab", "exactly one character"), ("", "exactly one"), ("é", "exactly one")]
)
def test_what_is_no_token_gets_a_sentence_and_stays_typed(page, typed, problem):
    page.text_input(key="autoregression_replacement_book").set_value(typed)
    sound(page.run())
    assert problem in words(page)
    assert page.text_input(key="autoregression_replacement_book").value == typed
    page.text_input(key="autoregression_replacement_book").set_value("m")
    assert "is already there" in words(sound(page.run()))


def test_keys_and_values_that_are_kept_cost_a_share_and_give_the_same_logits(page):
    cfg = configuration("book", "pre-norm", 1, 50)
    matrices = 12 * 64**2 + 64 * 75  # of one block of width 64 with four times as many hidden units, and the head
    assert cfg.expansion == 4
    assert f"takes {11 * matrices + 2 * 64 * 11**2:,} multiplications" in words(page)
    assert f"kept, {matrices + 2 * 64 * 11:,}:" in words(page)
    assert re.search(r"largest difference is (0|[\d.·]*10⁻¹[⁴⁵⁶])", words(page))
    page.text_input(key="autoregression_prompt_book").set_value("ab")
    assert "The text needs 3 tokens" in words(sound(page.run()))
