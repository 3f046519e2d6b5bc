"""What the engine posts to the player is what a server would send: header, frames, state."""

import json

import numpy as np
import pytest

from components.player.engine import engine
from components.player.feed import frame_json, header_json, run_state
from models.runlog import RunLog
from models.spec import RunConfig
from models.training import Run
from models.training.log_writer import append_to_log, begin_log, log_head
from tests.engine import ask
from tests.golden.runs import SHORT

RUNS = {
    "digits": RunConfig(**SHORT),
    "merged": RunConfig(**SHORT | {"residual": False, "norm": "none", "depth": 24}),
    "batch norm on three classes": RunConfig(task="spiral", norm="batch norm", **SHORT),
    "two classes": RunConfig(task="xor", activation="tanh", **SHORT),
    "sequences": RunConfig(net="transformer", task="sort", **SHORT),
    "book": RunConfig(net="transformer", task="book", **SHORT),
    "diverged transformer": RunConfig(net="transformer", task="copy", norm="none", init_gain=10.0, **SHORT),
    "diverged": RunConfig(norm="none", lr=3.0, init_gain=2.0, **SHORT | {"depth": 32}),
}


def plain(value: object) -> object:
    """A value as the engine has it: arrays as lists, numbers that JSON lacks as text."""
    return json.loads(json.dumps(value, default=lambda array: np.asarray(array).tolist()), parse_constant=str)


@pytest.mark.parametrize("name", RUNS)
def test_a_frame_is_posted_as_a_server_sends_it(name: str) -> None:
    cfg = RUNS[name]
    run = Run(cfg)
    run.advance(cfg.steps)
    run.close()
    for frame in run.frames:
        expected = json.loads(json.dumps(frame_json(cfg, frame)))
        posted = ask("frame", frame=plain(vars(frame)), pictures=engine(cfg.task)["pictures"][cfg.task])
        if cfg.net == "transformer":  # a tie, as of 1 in 64 to four digits, rounds either way
            assert posted.pop("held_out_accuracy") == pytest.approx(expected.pop("held_out_accuracy"), rel=1e-3)
        for key in ("turn", "in_plane"):  # angles to two places, of which a tie rounds either way
            np.testing.assert_allclose(posted["journey"].pop(key), expected["journey"].pop(key), atol=0.0101)
        assert posted == expected


@pytest.mark.parametrize("name", ["digits", "diverged", "diverged transformer"])
def test_header_and_state_are_those_of_a_server(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    cfg = RUNS[name]
    run, log = Run(cfg), RunLog(tmp_path_factory.mktemp("run") / "log")
    begin_log(run, log)
    run.advance(cfg.steps)
    run.close()
    append_to_log(run, log)
    told = ask("ends", link=cfg.to_query())
    assert told["header"] == {"kind": "header", **json.loads(json.dumps(header_json(log_head(run))))}
    assert told["state"] == {"kind": "state", **json.loads(json.dumps(run_state(log)))}
