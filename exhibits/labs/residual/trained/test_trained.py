"""Trained nets: the shares of branches against the instrument's, what is said of them, and the page."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from components.labs import several
from components.player.view import View
from components.server.tickets import Playhead
from exhibits.labs.residual.trained.page import (
    MLP,
    NETS,
    SUBLAYER_TITLES,
    TASKS,
    TRANSFORMER_TASKS,
    branch_shares,
    configuration,
    share_chart,
    share_sentence,
    sublayer_chart,
    sublayer_sentence,
)
from models.service.client import trainer
from models.spec import TASKS as ALL_TASKS
from models.spec import RunConfig
from models.training import Run
from tests.app_page import sound, words
from tests.drawn import run as in_the_browser
from tests.labs_page import lab
from tests.player_page import declared, rests, runs


def view(task: str, *, row: int, net: str = next(iter(NETS)), **fields) -> View:
    cfg = configuration(net, task, 3)
    cfg = RunConfig(**{**{name: getattr(cfg, name) for name in cfg.__dataclass_fields__}, **fields})
    run = Run(cfg, frames=False)
    run.advance(row + 1)
    return View(cfg, run.trace(), row)


def test_all_nets_and_tasks_are_legal_and_differ_in_their_task_alone():
    for net in NETS:
        cfgs = [configuration(net, task, 24) for task in TASKS]
        assert {cfg.task for cfg in cfgs} == set(TASKS) <= set(ALL_TASKS)
        assert len({(c.depth, c.width, c.placement, c.init, c.lr, c.optimizer, c.steps) for c in cfgs}) == 1
        assert len({cfg.batch * cfg.tokens for cfg in cfgs if cfg.task != "copy"}) == 1


def test_a_branch_share_is_what_the_instrument_measures():
    from exhibits.instruments.stream.measure import stream
    from models.training import snapshot_of

    seen = view("spiral", row=5)
    run = Run(seen.cfg, frames=False)
    run.advance(5)
    np.testing.assert_allclose(branch_shares(seen), stream(snapshot_of(run)).share, rtol=1e-4)


def test_the_chart_divides_what_a_share_is_made_of_block_by_block():
    seen = view("spiral", row=5)
    figure = share_chart(seen.cfg)
    assert figure["layout"]["bind"]["places"]["names"] == ["block 1", "block 2", "block 3"]
    for run, (trace, name) in enumerate(zip(figure["data"], TASKS.values(), strict=True)):
        bind = trace["bind"]
        assert (trace["name"], bind["run"]) == (name, run)
        found = getattr(seen.trace, bind["track"])[5] / getattr(seen.trace, bind["over"])[5, :3]
        np.testing.assert_array_equal(found, branch_shares(seen))


DIVIDED = """
const one = new runlog.RunLog({ link: "", seeds: 1, last: 1 })
const { branch_rms, act_rms } = vectors
const tracks = [["loss", 0, 1], ["branch_rms", 1, branch_rms.length], ["act_rms", 1 + branch_rms.length, act_rms.length]]
const width = 1 + branch_rms.length + act_rms.length
one.setHeader({ last: 1, seeds: 1, width, tracks: tracks.map(([name, start, width]) => ({ name, start, width })) })
one.setRows(0, Float32Array.from([1, ...branch_rms, ...act_rms]))
const now = { ...STILL, logs: [one], shown: 0, position: 0, furthest: 0 }
return bind.fillFigure(figure, now, {}).data[0].y
"""


def test_shares_of_attention_and_feed_forward_are_drawn_apart_as_the_browser_divides_them():
    cfg = configuration(next(iter(NETS)), "copy", 2, "transformer")
    run = Run(cfg, frames=False)
    run.advance(6)
    shown = View(cfg, run.trace(), 5)
    for at, kind in enumerate(SUBLAYER_TITLES):
        figure = sublayer_chart(cfg, kind)
        assert figure["layout"]["bind"]["places"]["labels"] == ["1", "2"]
        vectors = {name: getattr(shown.trace, name)[5].tolist() for name in ("branch_rms", "act_rms")}
        line = in_the_browser(DIVIDED, figure={**figure, "data": figure["data"][:1]}, vectors=vectors)
        np.testing.assert_allclose(line, branch_shares(shown)[at::2], rtol=1e-3)


@pytest.mark.full
def test_attention_that_no_token_needs_adds_less_than_where_one_does_and_not_nothing():
    found = {}
    for task in TRANSFORMER_TASKS:
        run = Run(configuration(next(iter(NETS)), task, 4, "transformer"), frames=False)
        run.advance(300)
        trace = run.trace()
        found[task] = branch_shares(View(run.cfg, trace, 299))
        assert task == "book" or trace.loss[-1] < 0.1
    assert 0.05 < np.linalg.norm(found["successor"][::2]) / np.linalg.norm(found["copy"][::2]) < 0.6
    assert "attention that no token needs adds" in sublayer_sentence(found, 300, True)


@pytest.mark.parametrize(
    ("attention", "residual", "expected"),
    [
        ((0.1, 1.0), True, "adds little, 10% of its share"),
        ((0.6, 1.0), True, "adds less, 60%"),
        ((0.9, 1.0), True, "adds as much"),
        ((0.0, 0.0), True, "every block is the identity"),
        ((0.1, 1.0), False, "no layer can step aside"),
        ((np.nan, 1.0), True, "not all of them are finite"),
    ],
)
def test_the_sentence_on_attention_says_what_the_shares_are(attention, residual, expected):
    pairs = {"successor": attention[0], "copy": attention[1], "book": 0.5}
    found = {task: np.tile([size, 0.3], 3) for task, size in pairs.items()}
    assert expected in sublayer_sentence(found, 10, residual)


def test_branches_that_start_off_share_nothing_before_training_and_something_after():
    assert not branch_shares(view("linear", row=0)).any()
    assert (branch_shares(view("linear", row=30)) > 0).all()


LONG = 150


@pytest.fixture(scope="module")
def trained_shares():
    return {
        net: {task: branch_shares(view(task, row=LONG - 1, net=net, depth=8, steps=LONG)) for task in TASKS}
        for net in list(NETS)[:2]
    }


@pytest.mark.full
def test_branches_say_less_where_a_line_suffices(trained_shares):
    first = trained_shares["pre-norm, branches off at first"]
    size = {task: np.sqrt(np.mean(values**2)) for task, values in first.items()}
    assert max(size["linear"], size["copy"]) < 0.9 * size["spiral"]
    assert "do less" in share_sentence(first, LONG, True) or "clearly less" in share_sentence(first, LONG, True)


@pytest.mark.full
def test_layers_that_start_at_random_stay_as_loud_because_nothing_asks_them_to_be_quiet(trained_shares):
    random = trained_shares["pre-norm, random branches at first"]
    before = branch_shares(view("linear", row=0, net="pre-norm, random branches at first", depth=8))
    assert np.abs(np.sqrt(np.mean(random["linear"] ** 2)) / np.sqrt(np.mean(before**2)) - 1) < 0.25
    assert "do about as much" in share_sentence(random, LONG, True)


@pytest.mark.parametrize(
    ("sizes", "residual", "expected"),
    [
        ((0.1, 0.1, 1.0), True, "the layers do almost nothing"),
        ((0.7, 0.5, 1.0), True, "at most 70% of the spiral's share"),
        ((0.9, 0.5, 1.0), True, "random sequences only"),
        ((1.1, 1.0, 1.0), True, "do about as much"),
        ((0.1, 0.1, 1.0), False, "no layer can step aside"),
        ((0.0, 0.0, 0.0), True, "every block is the identity"),
        ((np.inf, 0.1, 0.1), True, "not all of them are finite"),
    ],
)
def test_the_sentence_says_what_the_shares_are(sizes, residual, expected):
    found = {task: np.full(4, size) for task, size in zip(("linear", "copy", "spiral"), sizes, strict=True)}
    assert expected in share_sentence(found, 10, residual)


@pytest.fixture
def page(trainer_in_this_process) -> AppTest:
    return lab("residual")


@pytest.mark.full
def test_three_nets_are_trained_by_one_button_and_what_was_measured_is_said(page):
    page.slider(key="residual_trained_depth").set_value(2)
    sound(page.run())
    assert "every block is the identity" in words(page)
    assert [(cfg.task, cfg.depth) for cfg in runs(page)] == [(task, 2) for task in TASKS]
    assert declared(page)["scope"] == " all three"
    rests(page)
    assert f"At step {MLP['steps']} the branches add" in words(page)
    said, *_ = [table.value for table in page.dataframe if list(table.value)[:3] == ["task", "step", "loss"]]
    assert list(said["step"]) == [MLP["steps"]] * 3
    rests(page, 20)
    assert "At step 20 the branches add" in words(page)
    rests(page, 0)
    assert "At step 0 the branches add 0 of the stream" in words(page)


@pytest.mark.full
def test_nets_show_the_slowest_step_or_their_end(page):
    short, *others = cfgs = [configuration(next(iter(NETS)), task, 4) for task in TASKS]
    while not trainer().request_rows(short, short.steps).done:
        pass
    for cfg, rows in zip(others, (31, 51), strict=True):
        while trainer().log(cfg).length < rows:
            trainer().request_rows(cfg, rows)
    found, waiting = several.views_at_step(cfgs, Playhead(200))
    assert waiting
    assert len({view.row for view in found}) == 1
    assert 30 <= found[0].row < 200
    found, waiting = several.views_at_step(cfgs, Playhead(25))
    assert not waiting
    assert [view.row for view in found] == [25] * 3
