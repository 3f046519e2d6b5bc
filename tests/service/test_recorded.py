"""The recorded networks: equal to a fresh computation, shown and labelled only while the trainer is not up."""

import shutil
import sys
from dataclasses import fields

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from components.start.cells import CELLS
from models.insight.sentences import sentences_at
from models.runlog import HEAD_FILE
from models.service import client, recorded
from models.spec import RunConfig
from models.trace import Frame
from models.training import profile_at_init
from tests.app_page import APP, PATIENCE, line, playground, sound
from tests.inprocess import InProcessTrainer
from tests.player_page import drawn_first

NEVER_UP = (sys.executable, "-c", "import sys; sys.stdin.read()")


@pytest.mark.parametrize("cfg", recorded.RECORDED_CONFIGS, ids=str)
def test_the_recording_is_what_a_fresh_computation_gives(cfg):
    kept, fresh = recorded.recorded_log(cfg).trace(), profile_at_init(cfg)
    said = {kind: sentences[0][1] for kind, sentences in recorded.recorded_log(cfg).sentences().items()}
    assert said == sentences_at(cfg, kept, 0), "python -m models.service.record"
    assert kept.sites == fresh.sites
    for name in ("step", "loss", "lr", "act_rms", "grad_rms", "branch_rms", "weight_grad_rms", "grad_norm"):
        # Another processor adds in another order: float32 rounding over 32 blocks, no more.
        np.testing.assert_allclose(getattr(kept, name), getattr(fresh, name), rtol=1e-3, err_msg=name)
    assert len(kept.frames) == len(fresh.frames) == 1
    for part in fields(Frame):
        mine, other = (getattr(trace.frames[0], part.name) for trace in (kept, fresh))
        if isinstance(mine, np.ndarray | float):
            np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-3, err_msg=part.name)


def test_the_nets_of_start_are_recorded_and_no_others():
    assert set(recorded.RECORDED_CONFIGS) == {cell.cfg for cell in CELLS}
    assert recorded.recorded_log(RunConfig(seed=1)) is None
    assert recorded.recorded_log(RunConfig(depth=31)) is None


@pytest.mark.parametrize("text", [b"", b"{}", b"no message", b'{"query": {}, "seeds": 1}'])
def test_a_recording_that_cannot_be_read_is_none(monkeypatch, tmp_path, text):
    shutil.copytree(recorded.FOLDER, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    (recorded.log_folder(RunConfig()) / HEAD_FILE).write_bytes(text)
    recorded._read.cache_clear()
    try:
        assert recorded.recorded_log(RunConfig()) is None
    finally:
        recorded._read.cache_clear()


@pytest.fixture
def trainer_that_never_comes_up(monkeypatch):
    client.close_trainer()
    monkeypatch.setitem(client._slot, "trainer", client.Trainer(NEVER_UP))
    monkeypatch.setitem(client._slot, "load", client._load)
    yield
    client.close_trainer()


def test_the_default_network_is_drawn_and_called_recorded_until_the_trainer_is_up(
    trainer_that_never_comes_up, monkeypatch
):
    page = playground()
    assert first_row(page).state["recorded"]
    drawn = line(page, "Signal by depth")
    np.testing.assert_allclose(drawn, recorded.recorded_log(RunConfig()).trace().act_rms[0], rtol=1e-3)
    client.close_trainer()
    monkeypatch.setattr(client, "Trainer", InProcessTrainer)
    sound(page.run())
    assert not first_row(page).state["recorded"]
    np.testing.assert_allclose(line(page, "Signal by depth"), drawn, rtol=1e-3)


def test_all_four_nets_of_start_are_drawn_until_the_trainer_is_up(trainer_that_never_comes_up):
    page = sound(AppTest.from_file(APP, default_timeout=PATIENCE).run())
    states = [came.state for came in drawn_first(page, "four")]
    assert [(state["recorded"], state["device"]) for state in states] == [(True, "")] * 4, (
        "nothing is computed here yet"
    )


def first_row(page):
    """What the player is given to draw before its connection is there."""
    return drawn_first(page)[0]


def test_the_first_page_is_drawn_once_while_the_trainer_starts(trainer_that_never_comes_up, monkeypatch):
    again = []
    monkeypatch.setattr(st, "rerun", lambda: again.append("a look that nobody had to ask for"))
    assert first_row(playground()).state["recorded"]
    assert not again


def test_another_network_waits_for_its_own_numbers(trainer_that_never_comes_up):
    assert not first_row(playground(depth="8")).header
