"""What a page declares: bindings, figures and panels, the sentences along a log, and the player's scripts."""

import asyncio
import base64
import gzip
import json
import re
from dataclasses import fields
from hashlib import sha256
from itertools import pairwise
from types import SimpleNamespace

import pytest
from plotly.offline import get_plotlyjs_version
from starlette.requests import Request
from starlette.responses import Response
from streamlit.testing.v1 import AppTest

from addnorm.player import FOLDER, PLOTLY
from addnorm.player.declare import (
    SENTENCES,
    AtFrame,
    Chart,
    Frames,
    Headline,
    Map,
    Panel,
    Past,
    Row,
    with_binding,
)
from addnorm.words import number
from components.charts import figures
from components.player import feed, file
from components.player import page as player
from components.player.browser_messages import ShownRun
from components.player.feed import RunFeed
from components.player.panels import blocks_with_diagrams, stack_blocks
from components.server.tickets import TICKETS
from components.shell import player_files
from models.insight import sentences
from models.insight.verdict import activation_sentence, gradient_sentence, loss_sentence, verdicts
from models.service.client import Requester, key_of
from models.spec import RunConfig, plan
from models.trace import SCALARS, Columns, Frame
from tests.inprocess import InProcessTrainer
from tests.player_page import drawn_first

SMALL = RunConfig(depth=3, width=16, batch=16, steps=25, seed=2, device="cpu")
SITES = plan(SMALL).sites


# --- bindings ---


@pytest.mark.parametrize(
    ("kind", "track"),
    [
        (Row, "loss"),
        (Row, "nothing"),
        (Past, "act_rms"),
        (Frames, "sample_cosine"),
        (AtFrame, "held_out_loss"),
        (Map, "lr"),
    ],
)
def test_a_binding_takes_tracks_of_its_kind_and_names_them(kind, track):
    with pytest.raises(ValueError, match=f"track '{track}': {kind.__name__} takes"):
        kind(track)


def test_every_number_of_a_row_can_be_bound():
    assert {*Row.tracks, *Past.tracks} == {*SCALARS, *Columns(("x0",), (), 1).slices}
    assert {*AtFrame.tracks, *Frames.tracks} < {part.name for part in fields(Frame)}


def test_a_chart_can_say_every_kind_of_sentence():
    assert SENTENCES == sentences.KINDS


# --- panels ---


@pytest.mark.parametrize(
    "panel",
    [
        Headline(run=1),
        Chart("Loss", figure=figures.loss(SMALL, run=1)),
        Chart("Activation", figure=figures.profiles("Activation", "act_rms", SITES, ["A", "B"])),
        Chart("Loss", figure=figures.loss(SMALL), sentence="everything"),
        Chart("Loss", figure=figures.loss(SMALL), span=13),
        Chart("Loss", figure={"data": [with_binding({"name": "a"}, Past("loss", seed=1))], "layout": {}}),
    ],
)
def test_a_panel_of_what_is_not_on_the_page_is_refused(panel):
    with pytest.raises(ValueError, match=r"run 1|sentence 'everything'|spans 13|seed 1"):
        panel.to_json(1, 1)


def test_all_figures_travel_as_json():
    beside = [("a rather long name for the previous net", "previous")]
    made = [
        figures.profile("Activation", "act_rms", SITES, beside=beside),
        figures.cosine(SITES, beside=beside),
        figures.loss(SMALL, beside=beside),
        figures.step_map("Map", "grad_rms", SITES, SMALL.steps),
        figures.profiles("Activation", "act_rms", SITES, ["A", "B"], seeds=3, against=True),
        figures.ratios("Share", "branch_rms", "act_rms", SITES[1:], [("A", "now"), ("B", "other")], unit="share"),
        figures.losses(["A", "B"], steps=9, task="digits", seeds=3),
        figures.cosines(SITES, ["A", "B"]),
    ]
    for figure in made:
        json.dumps(Chart("x", figure=figure).to_json(2, 3), allow_nan=False)
    assert [trace["name"] for trace in made[0]["data"]][1:] == [figures.STEP]


def test_a_stack_has_a_column_per_block_with_its_skip_and_its_norms():
    cfg = RunConfig.arranged("post-norm", depth=3, overrides=((2, "residual", False), (3, "norm", "none")))
    blocks = stack_blocks(cfg)
    assert [block["site"] for block in blocks] == [1, 2, 3]
    assert [block["skip"] > 0 for block in blocks] == [True, False, True]
    assert [block["norms"] for block in blocks] == [["add"], ["add"], []]


def test_a_block_of_a_transformer_is_one_column_over_both_of_its_sublayers():
    blocks = stack_blocks(RunConfig.arranged("pre-norm", net="transformer", task="book", depth=2, batch=8, width=16))
    assert [(block["block"], block["site"]) for block in blocks] == [(1, 2), (2, 4)]


def test_equal_blocks_are_opened_to_one_diagram_and_another_to_its_own():
    found = blocks_with_diagrams(RunConfig(depth=4, overrides=((3, "residual", False),)))
    assert [block["diagram"] for block in found["blocks"]] == [0, 0, 1, 0]
    assert ["no residual" in svg for svg in found["diagrams"]] == [False, True]


# --- sentences ---


@pytest.fixture(scope="module")
def log():
    trainer = InProcessTrainer(steps_per_request=SMALL.steps + 1)
    yield trainer.request_rows(SMALL, SMALL.steps + 1)
    trainer.close()


def said(log, kind: str, row: int) -> str:
    text = [sentence for at, sentence in log.sentences()[kind] if at <= row][-1]
    return text.replace("{step}", str(row)).replace("{loss}", number(float(log.trace().loss[row])))


def test_the_sentences_of_every_row_are_those_of_the_insights_and_equal_neighbours_are_kept_once(log):
    trace = log.trace()
    for row in range(len(trace)):
        assert said(log, "activation", row) == activation_sentence(SITES, trace.act_rms[row])
        assert said(log, "gradient", row) == gradient_sentence(SITES, trace.grad_rms[row])
        assert said(log, "loss", row) == loss_sentence(trace, row, "digits")
        judged = verdicts(SMALL, trace, row)
        assert said(log, "brief", row) == judged[0].brief
        assert said(log, "verdict", row).startswith(f"Step {row} · {' '.join(one.sentence for one in judged)}")
    for changes in log.sentences().values():
        assert all(one[1] != other[1] for one, other in pairwise(changes))
    assert len(log.sentences()["loss"]) < len(trace)


# --- a run on its way ---


def test_a_run_is_over_only_once_its_rows_have_been_sent():
    trainer = InProcessTrainer(steps_per_request=SMALL.steps + 1)
    line = RunFeed(
        0,
        ShownRun(SMALL, seeds=1, sent_rows=0, target_row=SMALL.steps + 1),
        Requester("a", "here", "part", frozenset({key_of(SMALL)})),
    )
    messages = line.messages(trainer, rate=False)
    assert json.loads(next(messages))["kind"] == "header"
    assert trainer.request_rows(SMALL, SMALL.steps).done  # while the browser takes what was sent
    *_, state = messages
    assert not json.loads(state)["done"]
    assert line.sent == 1
    *_, state = line.messages(trainer, rate=False)
    assert json.loads(state)["done"]
    assert line.sent == SMALL.steps + 1
    trainer.close()


def test_a_class_has_each_frame_packed_once(monkeypatch):
    packed = list[int]()
    monkeypatch.setattr(feed, "frame_json", lambda cfg, frame: packed.append(frame.step) or {"step": frame.step})
    trainer = InProcessTrainer(steps_per_request=SMALL.steps + 1)
    log = trainer.request_rows(SMALL, SMALL.steps)
    steps = [frame.step for frame in log.frames()]
    for viewer in range(3):
        sent = [json.loads(message) for message in feed.messages(log, viewer) if isinstance(message, str)]
        (frames,) = [message for message in sent if message["kind"] == "frames"]
        assert (frames["run"], frames["seed"], [frame["step"] for frame in frames["frames"]]) == (viewer, 0, steps)
    assert packed == steps
    trainer.close()


# --- the player on a page ---

PAGE = """
from components.charts import figures
from addnorm.player.declare import Heading, Link, Text, Chart
from components.player.page import player
from models.spec import RunConfig, plan
cfg = RunConfig(depth=3, width=16, batch=16, steps=25, seed=2, device="cpu")
at = player("one", [cfg], [Chart("Loss", figure=figures.loss(cfg), sentence="loss")])
import streamlit as st
st.write(f"at {at.step}")
"""


@pytest.mark.usefixtures("trainer_in_this_process")
def test_a_page_hands_over_a_ticket_for_its_runs_and_row_0_of_each():
    at = AppTest.from_string(PAGE, default_timeout=60).run()
    assert not at.exception
    sent = json.loads(at.get("bidi_component")[0].proto.json)
    assert [run["link"] for run in sent["runs"]] == [key_of(SMALL)]
    assert TICKETS.owner(sent["ticket"]).runs == {key_of(SMALL)}
    (came,) = drawn_first(at)
    assert came.matrix().shape == (1, came.header["width"])
    assert came.frames[0]["step"] == 0
    assert came.said["loss"][0][0] == 0
    assert not came.over
    assert sent["at"] == [0, False]
    again = json.loads(at.run().get("bidi_component")[0].proto.json)
    assert again == sent  # so that the browser does not begin anew


@pytest.mark.parametrize(
    ("said_of_it", "step"),
    [
        (None, 0),
        ("x", 0),
        ({"step": 7, "playing": True, "runs": [key_of(SMALL)]}, 7),
        ({"step": 7, "playing": True, "runs": ["another"]}, 0),
        ({"step": 10**9, "runs": [key_of(SMALL)]}, None),
        ({"step": -3, "runs": [key_of(SMALL)]}, 0),
        ({"step": [], "runs": [key_of(SMALL)]}, 0),
        ({"step": True, "runs": [key_of(SMALL)]}, 0),
    ],
)
def test_what_a_browser_says_of_the_playhead_is_read_as_a_step_of_these_runs(monkeypatch, said_of_it, step):
    monkeypatch.setattr(player.st, "session_state", {"player_one": SimpleNamespace(at=said_of_it)})
    assert player.playhead("one", [SMALL]).step == (SMALL.steps if step is None else step)


# --- scripts ---


def asked(name: str, version: str = player_files.VERSION) -> Response:
    scope = {"type": "http", "method": "GET", "headers": [], "path_params": {"name": name, "version": version}}
    return asyncio.run(player_files.serve_script(Request(scope)))


def test_every_script_is_served_and_kept_by_its_version():
    for address, body in player_files.SCRIPTS.items():
        _, version, name = address.split("/")
        answer = asked(name, version)
        assert (answer.status_code, answer.body) == (200, body)
        assert answer.headers["content-type"].startswith("text/javascript")
        assert "immutable" in answer.headers["cache-control"]
    assert asked("player.js", "old").headers["cache-control"] == "no-cache"


def test_plotly_is_the_release_whose_checksums_and_licence_stand_beside_it_and_whose_schema_python_checks():
    folder = PLOTLY.parent
    sums = dict(reversed(line.split()) for line in (folder / "SHA256SUMS").read_text("utf-8").splitlines())
    assert sums == {name: sha256((folder / name).read_bytes()).hexdigest() for name in (PLOTLY.name, "LICENSE")}
    assert f"plotly.js (cartesian - minified) v{get_plotlyjs_version()}\n" in PLOTLY.read_text("utf-8")[:200]
    assert "MIT" in (folder / "LICENSE").read_text("utf-8")
    answer = asked(PLOTLY.name, player_files.PLOTLY_VERSION)
    assert answer.body == PLOTLY.read_bytes()
    assert "immutable" in answer.headers["cache-control"]


@pytest.mark.parametrize("name", ["route.py", "../route.py", "player.css", "stack.js", "plotly/LICENSE", ""])
def test_nothing_else_is_served(name):
    assert asked(name).status_code == 404


def test_there_is_a_panel_in_the_browser_for_every_kind_there_is():
    source = (FOLDER / "player.js").read_text("utf-8")
    for kind in Panel.__subclasses__():
        assert f"{kind.kind}: {kind.__name__}" in source


def test_of_a_large_recording_a_file_takes_the_beginning_and_says_so(monkeypatch, tmp_path):
    row = json.dumps({"step": 0, "loss": 1.0}) + "\n"
    (tmp_path / "large.jsonl").write_text(row * 30_000)
    monkeypatch.setenv("PLAYGROUND_RECORDINGS", str(tmp_path))
    runs, shown = [player.RecordingRef("large.jsonl")], [Headline()]
    whole = file.player_file("large", runs, shown)
    assert "MB of the recording" not in whole
    assert in_file(whole) > len(row) * 30_000
    monkeypatch.setattr(file, "MAX_BYTES", 300_000)
    part = file.player_file("large", runs, shown)
    assert "the first 0.3 MB of the recording" in part
    assert 250_000 < in_file(part) < 350_000


def in_file(page):
    """Bytes of recordings and rows in a file that plays."""
    packed = re.search(r'<script type="application/gzip">(.*?)</script>', page)[1]
    messages = json.loads(gzip.decompress(base64.b64decode(packed)))
    return sum(len(base64.b64decode(one)) for one in messages if isinstance(one, str))


def test_a_run_of_too_many_rows_is_not_offered_as_a_file(monkeypatch):
    trainer = InProcessTrainer()
    trainer.request_rows(SMALL, SMALL.steps + 1, 60.0)
    while not trainer.log(SMALL).done:
        trainer.request_rows(SMALL, SMALL.steps + 1, 60.0)
    monkeypatch.setattr(file, "trainer", lambda: trainer)
    assert file.fits_in_file([SMALL])
    monkeypatch.setattr(file, "MAX_BYTES", 1000)
    assert not file.fits_in_file([SMALL])
