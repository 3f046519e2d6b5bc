"""The lab's nets: their examples, their budget, and the recording that is shown first."""

import numpy as np
import pytest

from components.player.feed import text_json
from exhibits.labs.autoregression.net.page import EXAMPLES, NETS, affordable, configuration
from models.insight.baseline import loss_of_guessing
from models.instruments.generation import continuation
from models.service.recorded_text import first_config, recorded_text
from models.spec import ARRANGEMENTS
from models.spec.budget import budget_refusal
from models.training import Run, result_of, snapshot_of
from tests.app_page import sound, words
from tests.labs.small import small, text
from tests.labs_page import lab
from tests.player_page import panels

SIXTEEN = "3 1 4 1 5 9 2 6 5 3 5 8 9 7 9 3"


@pytest.mark.parametrize("task", NETS)
def test_every_task_and_arrangement_makes_a_net_that_the_budget_allows(task):
    assert set(ARRANGEMENTS) - set(affordable(task)) <= {"mHC"}
    for arrangement in affordable(task):
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


def test_the_lab_opens_with_its_trained_nets_text(
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
